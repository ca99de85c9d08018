"""The pictures of an evaluation, kept beside its results so that they can be seen without the dataset."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from srs_core.data import Dataset
from srs_core.evaluate.plan import fingerprint
from srs_core.files import write_whole

__all__ = ["find_pictures", "keep_pictures"]

ENDING = "-pictures.npz"


def keep_pictures(dataset: Dataset, out: Path) -> Path:
    """Write the pictures beside the result file `out`, with their indices and the fingerprint that results name."""
    path = out.with_name(f"{out.stem}{ENDING}")
    path.parent.mkdir(parents=True, exist_ok=True)
    values, indices, data_hash = dataset.images.stacked().numpy(), np.array(dataset.indices), fingerprint(dataset)
    write_whole(
        path,
        lambda stream: np.savez_compressed(stream, pictures=values, idx=indices, data_hash=np.array(data_hash)),
    )
    return path


def find_pictures(data_hash: str, folders: Iterable[Path]) -> dict[int, Tensor]:
    """The pictures of the results with this fingerprint, by index, from whichever folder has them; else none."""
    for path in (path for folder in folders for path in sorted(folder.glob(f"*{ENDING}"))):
        try:
            with np.load(path, allow_pickle=False) as archive:
                if str(archive["data_hash"]) == data_hash:
                    values = torch.from_numpy(archive["pictures"]).float() / 255
                    return dict(zip(archive["idx"].tolist(), values, strict=True))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            continue
    return {}

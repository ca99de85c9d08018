"""One picture of an evaluation: certified under every setting that still misses it, on the same noise."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from srs_core.data import Sample
from srs_core.evaluate.plan import Part, base_of
from srs_core.evaluate.rows import Row, row_of
from srs_core.model import Model
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.compare import measure
from srs_core.smoothing.noise import Purpose, derive_seed
from srs_core.smoothing.stream import certify_stream

__all__ = ["Step", "Task", "certify_picture"]


@dataclass(frozen=True)
class Task:
    """A picture and the parts to certify it with, plain ones before the serialized ones measured against them."""

    sample: Sample
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Step:
    """How far a picture is: the share of its votes that are counted; the last step carries the rows."""

    index: int
    fraction: float
    rows: tuple[Row, ...] = ()


def certify_picture(model: Model, task: Task) -> Iterator[Step]:
    """Certify one picture under each part in turn.

    The noise derives from each setting's seed and the picture's index alone, so that a row does not depend on where,
    when or beside what it is computed.
    """
    index, image, label = task.sample
    finished: dict[str, tuple[Certificate, np.ndarray[tuple[int], np.dtype[np.int16]]]] = {}
    rows = []
    for number, part in enumerate(task.parts):
        settings = part.settings.with_(seed=derive_seed(part.settings.seed, Purpose.IMAGE, index))
        labels: list[int] = []
        certificate = None
        for snapshot in certify_stream(model, image, settings):
            labels.extend(snapshot.batch_labels)
            certificate = snapshot.certificate
            if certificate is None:
                yield Step(index, (number + snapshot.done / snapshot.total) / len(task.parts))
        assert certificate is not None
        finished[part.name] = certificate, np.array(labels, dtype=np.int16)
        base = base_of(part, task.parts)
        measured = None
        if base is not None:
            plain, standard = finished[base.name]
            measured = measure(plain, certificate, standard, finished[part.name][1])
        rows.append(row_of(index, label, part.name, certificate, measured))
    yield Step(index, 1.0, tuple(rows))

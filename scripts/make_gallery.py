"""Make the sample gallery in srs_core/gallery from CIFAR-10's test set, by a rule and not by hand.

The rule: every 333rd picture of the test set, from 0 to its end. That is 31 pictures, and all ten classes are
among them; the script stops if they are not. Run it from the repository's root:

    python -m scripts.make_gallery cifar10.npz
"""

import argparse
import json
from pathlib import Path

from srs_core.data import CIFAR10_CLASSES, load_dataset
from srs_core.images import to_png

STEP = 333
TARGET = Path(__file__).parents[1] / "srs_core" / "gallery"


def make_gallery(archive: Path, target: Path) -> int:
    """Write the pictures as PNG files, and gallery.json with their indices and labels; return how many."""
    chosen = load_dataset(archive, "test", classes=CIFAR10_CLASSES).every(STEP)
    missing = set(range(len(CIFAR10_CLASSES))) - set(chosen.labels)
    if missing:
        names = ", ".join(CIFAR10_CLASSES[label] for label in sorted(missing))
        raise SystemExit(f"No picture of {names} is among the chosen ones: change STEP.")
    target.mkdir(parents=True, exist_ok=True)
    pictures = []
    for sample in chosen:
        file = f"{sample.index:04}-{CIFAR10_CLASSES[sample.label]}.png"
        (target / file).write_bytes(to_png(sample.image))
        pictures.append({"file": file, "index": sample.index, "label": sample.label})
    document = {
        "source": "CIFAR-10 test set (A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009)",
        "rule": f"every {STEP}rd picture, from index 0",
        "pictures": pictures,
    }
    (target / "gallery.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return len(pictures)


def main() -> None:
    """Read the archive's path from the command line and say what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="an .npz file with x_test and y_test")
    parser.add_argument("--out", type=Path, default=TARGET, help="the folder to write to")
    options = parser.parse_args()
    print(f"{options.out}: {make_gallery(options.archive, options.out)} pictures")


if __name__ == "__main__":
    main()

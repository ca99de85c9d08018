"""CIFAR-10, ImageNet, an image folder or an .npz archive: one `Dataset` shape for all."""

from srs_core.data.archives import CIFAR10_CLASSES
from srs_core.data.dataset import Arrays, DataError, Dataset, Sample
from srs_core.data.load import Split, gallery, load_dataset

__all__ = [
    "CIFAR10_CLASSES",
    "Arrays",
    "DataError",
    "Dataset",
    "Sample",
    "Split",
    "gallery",
    "load_dataset",
]

"""The three published sizes of MDEQ, as plain values."""

from dataclasses import dataclass

__all__ = ["VARIANTS", "Variant", "find_variant"]

CIFAR_MEAN, CIFAR_STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Variant:
    """Everything that fixes the shape of an MDEQ: resolutions, channels, head and input."""

    name: str
    reference_name: str
    image_size: int
    channels: tuple[int, ...]
    head_channels: tuple[int, ...]
    final_channels: int
    stem_strides: tuple[int, int]
    num_classes: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    @property
    def branches(self) -> int:
        """The number of resolutions, the finest first."""
        return len(self.channels)

    def branch_sizes(self, height: int, width: int) -> list[tuple[int, int]]:
        """The height and width of every branch's state for an input of this size."""
        for stride in self.stem_strides:
            height, width = -(-height // stride), -(-width // stride)
        sizes = [(height, width)]
        for _ in self.channels[1:]:
            height, width = -(-height // 2), -(-width // 2)
            sizes.append((height, width))
        return sizes


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            name="small",
            reference_name="SMALL",
            image_size=32,
            channels=(8, 16, 32),
            head_channels=(7, 14, 28),
            final_channels=200,
            stem_strides=(1, 1),
            num_classes=10,
            mean=CIFAR_MEAN,
            std=CIFAR_STD,
        ),
        Variant(
            name="large",
            reference_name="LARGE",
            image_size=32,
            channels=(32, 64, 128, 256),
            head_channels=(14, 28, 56, 112),
            final_channels=1680,
            stem_strides=(1, 1),
            num_classes=10,
            mean=CIFAR_MEAN,
            std=CIFAR_STD,
        ),
        Variant(
            name="imagenet",
            reference_name="SMALL_imagenet",
            image_size=224,
            channels=(32, 64, 128, 256),
            head_channels=(28, 56, 112, 224),
            final_channels=2048,
            stem_strides=(2, 2),
            num_classes=1000,
            mean=IMAGENET_MEAN,
            std=IMAGENET_STD,
        ),
    )
}


def find_variant(name: str) -> Variant:
    """The variant of that name, or a `ValueError` that lists the names there are."""
    if name not in VARIANTS:
        raise ValueError(f"There is no variant {name!r}; choose one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]

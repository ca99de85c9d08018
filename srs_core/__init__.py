"""Certified robustness of deep equilibrium models by randomized smoothing, plain and serialized.

    >>> import srs_core
    >>> model = srs_core.load_model("cifar10-small-0.25")
    >>> certificate = srs_core.certify(model, image, srs_core.Settings(sigma=0.25, steps=3, n=2_000, audit=400))

Names are loaded when they are first used, so that `import srs_core` itself is quick.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Read when torch is imported. Its threads otherwise wait for each other by spinning for a millisecond, which takes the
# cores from the compiled network's own threads and, on a busy machine, made a certification six times as slow. With
# GNU's OpenMP some microseconds of spinning are better than none: waking a thread for each of a solver's many small
# steps made a certification on a quiet machine half as slow again.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "4000")

if TYPE_CHECKING:
    from srs_core.images import ImageError as ImageError
    from srs_core.images import load_image as load_image
    from srs_core.mdeq.cards import Card as Card
    from srs_core.mdeq.cards import CheckpointError as CheckpointError
    from srs_core.mdeq.checkpoints import available_models as available_models
    from srs_core.mdeq.checkpoints import load_model as load_model
    from srs_core.mdeq.reference import import_reference as import_reference
    from srs_core.model import Model as Model
    from srs_core.smoothing.certificate import Certificate as Certificate
    from srs_core.smoothing.compare import Comparison as Comparison
    from srs_core.smoothing.compare import compare as compare
    from srs_core.smoothing.compare import compare_stream as compare_stream
    from srs_core.smoothing.planner import plan as plan
    from srs_core.smoothing.predict import predict as predict
    from srs_core.smoothing.settings import Settings as Settings
    from srs_core.smoothing.snapshot import Snapshot as Snapshot
    from srs_core.smoothing.stream import certify as certify
    from srs_core.smoothing.stream import certify_stream as certify_stream
    from srs_core.smoothing.verify import verify as verify
    from srs_core.solvers import Solution as Solution
    from srs_core.solvers import Status as Status
    from srs_core.solvers import solve as solve

__version__ = "0.1.0"

_HOMES = {
    "images": ("ImageError", "load_image"),
    "mdeq.cards": ("Card", "CheckpointError"),
    "mdeq.checkpoints": ("available_models", "load_model"),
    "mdeq.reference": ("import_reference",),
    "model": ("Model",),
    "smoothing.certificate": ("Certificate",),
    "smoothing.compare": ("Comparison", "compare", "compare_stream"),
    "smoothing.verify": ("verify",),
    "smoothing.planner": ("plan",),
    "smoothing.predict": ("predict",),
    "smoothing.settings": ("Settings",),
    "smoothing.snapshot": ("Snapshot",),
    "smoothing.stream": ("certify", "certify_stream"),
    "solvers": ("Solution", "Status", "solve"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'srs_core' has no attribute {name!r}")
    value = getattr(import_module(f"srs_core.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""Certification as a stream: progress, cancelling and early stopping are all the same thing."""

from collections.abc import Iterator

from torch import Tensor

from srs_core.model import Model
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.estimate import check_feasible
from srs_core.smoothing.run import Run
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.snapshot import Snapshot

__all__ = ["certify", "certify_stream"]


def certify_stream(model: Model, image: Tensor, settings: Settings) -> Iterator[Snapshot]:
    """Certify a picture batch by batch; the last snapshot carries the certificate.

    To cancel, stop asking. What the certificate says holds with probability at least 1 - alpha for this picture,
    over the noise and the audit, for the smoothed standard model (see `Settings`).
    """
    if settings.method == "auto":
        from srs_core.smoothing.planner import plan

        settings = plan(model, image, settings).best.settings
    check_feasible(settings)
    check_image(image)
    run = Run(model, image, settings)
    with run.timed():
        run.select()
    yield run.snapshot("selection")
    while run.done < settings.n and run.robust is None:
        with run.timed():
            run.vote_batch()
        yield run.snapshot("voting")
    with run.timed():
        run.finish_audit()
    yield run.snapshot("done")


def certify(model: Model, image: Tensor, settings: Settings) -> Certificate:
    """Certify a picture: `certify_stream` run to its end."""
    for snapshot in certify_stream(model, image, settings):
        if snapshot.certificate is not None:
            return snapshot.certificate
    raise AssertionError("a stream ends with a certificate")


def check_image(image: Tensor) -> None:
    """Refuse what is not a picture: one tensor without batch, of finite numbers in [0, 1]."""
    if not image.is_floating_point() or image.numel() == 0:
        raise ValueError(f"The picture is a tensor of {image.dtype} and shape {tuple(image.shape)}; floats are needed.")
    if not bool(image.isfinite().all()):
        raise ValueError("The picture holds values that are not finite numbers.")

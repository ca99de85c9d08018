"""Certification as a stream: progress, cancelling and early stopping are all the same thing."""

from collections.abc import Iterator

from torch import Tensor

from srs_core.model import Model
from srs_core.smoothing.certificate import Certificate
from srs_core.smoothing.estimate import check_feasible
from srs_core.smoothing.planner import plan
from srs_core.smoothing.run import Run
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.snapshot import Snapshot

__all__ = ["certify", "certify_stream"]


def certify_stream(model: Model, image: Tensor, settings: Settings) -> Iterator[Snapshot]:
    """Certify a picture batch by batch; the last snapshot carries the certificate.

    To cancel, stop asking. What the certificate says holds with probability at least 1 - alpha for this picture,
    over the noise and the audit, for the smoothed standard model (see `Settings`).
    """
    check_image(image)
    pilot = plan(model, image, settings) if settings.method == "auto" else None
    if pilot is not None:
        settings = pilot.best.settings
    check_feasible(settings)
    run = Run(model, image, settings)
    if pilot is not None:
        run.evaluations["pilot"] = pilot.pilot_evaluations
        run.seconds += pilot.pilot_seconds
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
    """Refuse what cannot be a picture: it must be one tensor, without batch, of finite numbers."""
    if not image.is_floating_point() or image.numel() == 0:
        raise ValueError(f"The picture is a tensor of {image.dtype} and shape {tuple(image.shape)}; floats are needed.")
    if not bool(image.isfinite().all()):
        raise ValueError("The picture holds values that are not finite numbers.")

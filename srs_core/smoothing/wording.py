"""Certificates in plain words."""

import math

from srs_core.smoothing.bounds import format_radius
from srs_core.smoothing.certificate import Certificate

__all__ = ["confidence", "in_words"]


def confidence(alpha: float) -> str:
    """1 - alpha as a percentage, with no digit more than it has: 0.001 is "99.9 %"."""
    digits = max(0, math.ceil(-math.log10(alpha)) - 2)
    return f"{100 * (1 - alpha):.{digits}f} %"


def in_words(certificate: Certificate, values: int) -> str:
    """What the certificate says, in one sentence; `values` is how many numbers the picture has.

    A change of every one of them by the same amount has that amount times the root of their number as its L2 norm.
    """
    if certificate.abstained:
        return (
            "No radius can be certified: under this much noise no answer is clearly more frequent than all "
            "others together, or too few votes or audits were taken to show that it is."
        )
    everywhere = certificate.radius / math.sqrt(values) * 255
    return (
        f"Any change of this picture smaller than {format_radius(certificate.radius)} in L2 norm (for instance every "
        f"colour value of every pixel by up to {format_radius(everywhere, 2)} of its 255 levels) cannot change the "
        f"smoothed model's answer, {certificate.class_name}, with {confidence(certificate.alpha)} confidence."
    )

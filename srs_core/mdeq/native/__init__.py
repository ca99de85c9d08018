"""Parts of MDEQ compiled for this machine's processor, where a C++ compiler is at hand."""

from srs_core.mdeq.native.compilable import Compilable, Compile
from srs_core.mdeq.native.packing import PRECISIONS, Precision, pack_conv, pack_norm, padded

__all__ = ["PRECISIONS", "Compilable", "Compile", "Precision", "pack_conv", "pack_norm", "padded"]

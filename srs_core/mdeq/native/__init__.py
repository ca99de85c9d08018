"""The layer f compiled for this machine's processor, where a C++ compiler is at hand."""

from srs_core.mdeq.native.kernel import Kernel, find_kernel, pack

__all__ = ["Kernel", "find_kernel", "pack"]

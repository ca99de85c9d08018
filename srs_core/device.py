"""Where to compute: one word from the user, one torch device for the engine."""

import torch

__all__ = ["pick_device"]


def pick_device(device: str | torch.device = "auto") -> torch.device:
    """The device of this name; `auto` is CUDA when there is one, else Apple's MPS, else the CPU."""
    if device == "auto":
        for name, present in (("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available())):
            if present:
                return torch.device(name)
        return torch.device("cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        chosen = None
    if chosen is None or chosen.type not in ("cuda", "mps", "cpu", "meta"):
        raise ValueError(f"device is {str(device)!r}; choose auto, cpu, cuda (or cuda:0, cuda:1, ...) or mps.")
    if chosen.type == "cuda" and not (chosen.index or 0) < torch.cuda.device_count():
        raise ValueError(
            f"device is {str(chosen)!r}, but this machine shows {torch.cuda.device_count()} CUDA devices to "
            "torch; choose auto or cpu."
        )
    if chosen.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError("device is 'mps', but torch finds no Apple GPU here; choose auto or cpu.")
    return chosen

"""Files that are replaced in one piece."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

__all__ = ["write_text", "write_whole"]


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace a file's content at once: whoever looks, whenever the machine stops, finds the old or the new one."""
    unfinished = path.with_name(f"{path.name}.part")
    with unfinished.open("wb") as stream:
        write(stream)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(path)


def write_text(path: Path, text: str) -> None:
    """Replace a text file's content at once, in UTF-8 and with the line ends as they are."""
    write_whole(path, lambda stream: stream.write(text.encode()))

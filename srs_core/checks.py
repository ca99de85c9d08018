"""Checks that settings of all kinds share; each names the option, its value and what is allowed."""

from collections.abc import Iterable
from dataclasses import fields
from numbers import Real
from typing import Any

__all__ = ["check_choice", "check_names", "check_number", "check_whole"]


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Refuse a word that is none of the allowed ones."""
    if value not in tuple(allowed):
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(allowed)}.")


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number of at least `least`, and at most `most`; True and False are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    if most is not None and value > most:
        raise ValueError(f"{name} is {value:,}; it must be at most {most:,}.")


def check_number(name: str, value: Any) -> None:
    """Refuse what is no number, such as a text that looks like one; True and False are none either."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} is {value!r}; it must be a number.")


def check_names(names: Iterable[str], settings: Any, what: str) -> None:
    """Refuse names that the settings, a dataclass, do not have; a misspelt option must not pass in silence."""
    known = {field.name for field in fields(settings)}
    unknown = sorted(set(names) - known)
    if unknown:
        raise ValueError(f"Unknown {what} {', '.join(unknown)}; known are {', '.join(sorted(known))}.")

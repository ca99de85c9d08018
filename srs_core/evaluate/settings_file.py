"""Settings files: an evaluation written down as JSON, for `evaluate --config`."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from srs_core.evaluate.plan import Part, Selection, name_parts
from srs_core.smoothing.settings import Settings

__all__ = ["SettingsFile", "check_not_set", "parts_of", "read_settings_file"]

KINDS: dict[str, tuple[type, ...]] = {
    "title": (str,),
    "about": (str,),
    "models": (list,),
    "data": (str,),
    "every": (int,),
    "first": (int,),
    "stop": (int, type(None)),
    "common": (dict,),
    "settings": (list,),
}


@dataclass(frozen=True)
class SettingsFile:
    """What a settings file asks for.

    `models` are evaluated one after the other; `common` holds what all settings share and each entry of `settings`
    what is its own, both by the names of `Settings`, an entry also its `name`. A noise level left out is each
    model's own.
    """

    title: str = ""
    about: str = ""
    models: tuple[str, ...] = ()
    data: str | None = None
    every: int = 1
    first: int = 0
    stop: int | None = None
    common: dict[str, Any] = field(default_factory=dict)
    settings: tuple[dict[str, Any], ...] = ()

    @property
    def selection(self) -> Selection:
        """Which pictures of the dataset."""
        return Selection(self.every, self.first, self.stop)


def read_settings_file(path: Path) -> SettingsFile:
    """Read a settings file; what is unknown or of the wrong kind is named."""
    try:
        return _read(path)
    except RecursionError:  # from reading the values, or from telling one of them
        raise ValueError(f"{path} is not a settings file: its values are nested too deeply.") from None


def parts_of(common: dict[str, Any], settings: tuple[dict[str, Any], ...], sigma: float) -> tuple[Part, ...]:
    """The parts of an evaluation from plain values; `sigma` is for settings that name none."""
    whole = [{"sigma": sigma, **common, **each} for each in settings]
    unnamed = [{key: value for key, value in each.items() if key != "name"} for each in whole]
    automatic = name_parts([Settings.from_dict(each) for each in unnamed])
    return tuple(Part(each.get("name", part.name), part.settings) for each, part in zip(whole, automatic, strict=True))


def check_not_set(given: Mapping[str, Any], settings: Collection[Mapping[str, Any]]) -> None:
    """Refuse an option that an entry of `settings` sets too: the entry would win, and in silence.

    `given` are the options by the names of `Settings`; those that are None were not given.
    """
    for name, value in given.items():
        if value is not None and any(name in each for each in settings):
            raise ValueError(
                f"{name} is set by the entries of the settings file; leave --{name.replace('_', '-')} out."
            )


def _read(path: Path) -> SettingsFile:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a settings file: it is not JSON ({error}).") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path} is not a settings file: it must be a JSON object with {', '.join(KINDS)}.")
    for name, value in values.items():
        if name not in KINDS:
            raise ValueError(f"{path} has an unknown entry {name!r}; known are {', '.join(KINDS)}.")
        if not isinstance(value, KINDS[name]) or isinstance(value, bool):
            raise ValueError(f"{path}: {name} is {value!r}; it must be of the kind {KINDS[name][0].__name__}.")
    if not all(isinstance(each, dict) for each in values.get("settings", [])):
        raise ValueError(f"{path}: settings must be a list of JSON objects.")
    if not all(isinstance(each, str) and each for each in values.get("models", [])):
        raise ValueError(f"{path}: models must be a list of names or paths, each a text that is not empty.")
    for name in ("models", "settings"):
        values[name] = tuple(values.get(name, ()))
    found = SettingsFile(**values)
    parts_of(found.common, found.settings, sigma=1.0)
    return found

"""From result files to a model's card: what the model was certified with, what came out, and by which command."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from srs_core.evaluate.results import Results
from srs_core.evaluate.table import ResultError
from srs_core.mdeq.cards import Card
from srs_core.mdeq.checkpoints import card_path, load_training_form
from srs_core.metrics import summary

__all__ = ["CARD_RADII", "add_to_card", "certified_record"]

CARD_RADII = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The radii at which a card tells certified accuracy."""

SETTINGS = ("method", "solver", "steps", "sigma", "n", "n0", "audit", "alpha", "data", "every", "first", "stop")
"""What sets one measurement of a card apart from another."""


def add_to_card(name: str, results: Sequence[Results]) -> Card:
    """Write the figures of result files into the card of the model that they were made with.

    They stand under `measured`, `certified`; one made with the same settings on the same pictures is replaced. A file
    that another model made is refused, and then nothing is written.
    """
    network, card = load_training_form(name)
    records = []
    for each in results:
        made_with = each.settings.get("model_hash")
        if made_with != network.hash:
            told = f"weights {made_with}, not {network.hash}" if made_with else "weights that it does not name"
            raise ResultError(
                f"{each.path or each.name} was not made with the model {card.name}: it was made with {told}. A card "
                "tells its own model's results only."
            )
        records.append(certified_record(each))
    new = [_what(record) for record in records]
    kept = [record for record in card.measured.get("certified", []) if _what(record) not in new]
    card = replace(card, measured={**card.measured, "certified": [*kept, *records]})
    card.write(card_path(name))
    return card


def certified_record(results: Results) -> dict[str, Any]:
    """One result file in a few plain values: the settings, the figures, and the command that made it."""
    if not results.command:
        raise ResultError(
            f"{results.path or results.name} does not say which command made it. Give that `evaluate` command once "
            "more: it finds its rows done and notes itself beside them."
        )
    s = summary(results.frame, CARD_RADII)
    return {
        "setting": results.name,
        **{key: results.settings.get(key) for key in SETTINGS},
        "pictures": s.pictures,
        "certified_accuracy": {f"{r:g}": round(share, 4) for r, share in zip(CARD_RADII, s.certified, strict=True)},
        "acr": round(s.acr, 4),
        "abstained": round(s.abstained, 4),
        "command": results.command,
    }


def _what(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record.get(key) for key in ("setting", *SETTINGS))

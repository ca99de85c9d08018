"""Fixtures that tests of several modules share."""

from collections.abc import Callable
from typing import Any

import pytest

from srs_core.smoothing.certificate import AuditCounts, Certificate

CERTIFICATE: dict[str, Any] = {
    "method": "srs",
    "model": "cifar10-small-0.25",
    "model_hash": "a" * 64,
    "picture_hash": "b" * 64,
    "class_index": 3,
    "class_name": "cat",
    "abstained": False,
    "radius": 0.3112,
    "p_a_lower": 0.8934,
    "votes": (1, 2, 3, 940, 10, 20, 4, 10, 5, 5),
    "selection_votes": (0, 0, 0, 95, 1, 2, 1, 1, 0, 0),
    "counts": AuditCounts(votes=940, audited=94, mismatched=1, audited_others=6, recovered=1),
    "mismatch_bound": 0.0521,
    "looks": (),
    "robust_at": None,
    "robust": None,
    "sigma": 0.25,
    "alpha": 0.001,
    "n": 1000,
    "planned_n": 1000,
    "n0": 100,
    "audit": 100,
    "estimator": "joint",
    "solver": "anderson",
    "steps": 3,
    "start": "previous",
    "warm_up_solver": "anderson",
    "warm_up_steps": 30,
    "restart_every": None,
    "reference_solver": "anderson",
    "reference_steps": 30,
    "tol": 0.001,
    "batch_size": 50,
    "seed": 0,
    "evaluations": 9000,
    "evaluations_by_phase": {"selection": 3000, "voting": 3000, "audit": 3000},
    "seconds": 4.2,
    "device": "cpu",
    "versions": {"torch": "2"},
    "created": "2026-01-01T00:00:00+00:00",
}
PLAIN: dict[str, Any] = {
    "counts": None,
    "mismatch_bound": None,
    "audit": 0,
    "start": None,
    "warm_up_solver": None,
    "warm_up_steps": None,
    "steps": 30,
    "evaluations": 30_000,
    "seconds": 21.0,
    "radius": 0.3405,
}


@pytest.fixture(scope="session")
def make_certificate() -> Callable[..., Certificate]:
    """A plausible certificate with some values changed, for whatever shows or keeps certificates."""

    def make(**changes: Any) -> Certificate:
        plain = PLAIN if changes.get("method") == "rs" else {}
        return Certificate(**{**CERTIFICATE, **plain, **changes})

    return make

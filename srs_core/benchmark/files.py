"""Benchmarks kept as data: one JSON file for a machine and a date, with all that is needed to repeat it."""

import json
import os
import platform
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from srs_core.benchmark.evaluation import Benchmark, Evaluation
from srs_core.benchmark.runs import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BenchmarkError", "Stored", "benchmark_document", "benchmark_folder", "read_benchmark"]

FORMAT = 1


class BenchmarkError(ValueError):
    """A benchmark file cannot be used; the text says why."""


@dataclass(frozen=True)
class Stored:
    """A benchmark as a file keeps it: where and when it was made, with what, and what came out."""

    name: str
    created: str
    machine: str
    settings: dict[str, Any]
    versions: dict[str, str]
    benchmark: Benchmark
    runs: tuple[Record, ...]

    def group(self, name: str) -> list[Record]:
        """The runs of one group (see `plan.GROUPS`)."""
        return [record for record in self.runs if record.group == name]


def benchmark_document(benchmark: Benchmark, records: "Sequence[Record]", settings: dict[str, Any]) -> dict[str, Any]:
    """A finished benchmark as one JSON document."""
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "settings": settings,
        "versions": {"python": platform.python_version(), "torch": benchmark.torch},
        **benchmark.to_dict(),
        "runs": [record.to_dict() for record in records],
    }


def benchmark_folder() -> Path:
    """Where benchmarks are kept to be shown: the folder that SRS_BENCHMARKS names, else `benchmarks/` here."""
    named = os.environ.get("SRS_BENCHMARKS")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "benchmarks"


def read_benchmark(path: Path) -> Stored:
    """The benchmark of one file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        measured = {each.name: document[each.name] for each in fields(Benchmark)}
        measured["evaluation"] = Evaluation(**document["evaluation"])
        return Stored(
            name=path.stem,
            created=str(document["created"]),
            machine=str(document["machine"]),
            settings=dict(document["settings"]),
            versions=dict(document["versions"]),
            benchmark=Benchmark(**measured),
            runs=tuple(Record.from_dict(each) for each in document["runs"]),
        )
    except KeyError as error:
        raise BenchmarkError(f"{path.name} is not a benchmark: {error} is missing.") from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BenchmarkError(f"{path.name} cannot be read as a benchmark: {error}") from error


def _processor() -> str:
    """The processor's name, as Linux tells it, else what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()

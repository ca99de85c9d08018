"""Timed certifications: the same certificates as without a clock, numbers that fit together, files that come back."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from srs_core.benchmark.files import BenchmarkError, read_benchmark
from srs_core.benchmark.plan import BATCHES, GROUPS, Group, benchmark_groups
from srs_core.benchmark.runs import Record, runs_stream
from srs_core.benchmark.timed import TimedModel
from srs_core.cli import app
from srs_core.smoothing.compare import compare
from srs_core.smoothing.settings import Settings

SMALL = Settings(sigma=0.5, n=300, n0=20, audit=60, batch_size=50, steps=1, solver="naive")


class Halving:
    """f(z, x) = (z + x) / 2, read out as two classes."""

    name = "halving"

    def inject(self, x: Tensor) -> Tensor:
        return x.flatten(1)[:, :2]

    def initial(self, x: Tensor) -> Tensor:
        return x.new_zeros(len(x), 2)

    def step(self, z: Tensor, injection: Tensor) -> Tensor:
        return (z + injection) / 2

    def classify(self, z: Tensor) -> Tensor:
        return z


PICTURE = torch.tensor([0.9, 0.2, 0.0]).reshape(3, 1, 1)


def timed(*groups: Group) -> tuple[Record, ...]:
    *_, last = runs_stream(Halving(), PICTURE, groups)
    return last.records


def test_a_race_certifies_what_the_comparison_does_and_judges_it_alike() -> None:
    srs = (SMALL, SMALL.with_(steps=3, solver="anderson"))
    plain, *serialized = timed(Group("methods", (SMALL.plain(), *srs), race=True))
    expected = compare(Halving(), PICTURE, srs)
    assert (plain.radius, plain.evaluations) == (expected.rs.radius, expected.rs.evaluations)
    assert plain.equal_cost is plain.speed_up_seconds is plain.relative_radius_difference is None
    for record, certificate, measured in zip(serialized, expected.srs, expected.measured, strict=True):
        assert (record.radius, record.evaluations) == (certificate.radius, certificate.evaluations)
        assert record.equal_cost == measured.equal_cost
        assert record.relative_radius_difference == measured.relative_radius_difference
        assert record.true_mismatch == measured.true_mismatch
        assert record.speed_up_seconds == pytest.approx(plain.seconds / record.seconds)


def test_the_time_is_divided_without_a_rest() -> None:
    for record in timed(Group("votes", (SMALL, SMALL.plain()), race=False)):
        inside = record.step_seconds + record.ends_seconds
        assert 0 < inside < record.seconds
        assert record.outside_share == pytest.approx(1 - inside / record.seconds)
        assert record.peak_megabytes is None or record.peak_megabytes > 1
        assert record.speed_up_seconds is None


def test_progress_goes_up_and_ends_with_all_records() -> None:
    groups = [Group("votes", (SMALL,), race=False), Group("batches", (SMALL.with_(batch_size=100),), race=False)]
    told = list(runs_stream(Halving(), PICTURE, groups))
    assert [state.evaluations for state in told] == sorted(state.evaluations for state in told)
    assert [record.group for record in told[-1].records] == ["votes", "batches"]
    assert told[-1].evaluations == sum(record.evaluations for record in told[-1].records)


def test_the_clock_follows_into_another_precision() -> None:
    class Two(Halving):
        def in_precision(self, precision: str) -> Halving:
            assert precision == "bfloat16"
            return Halving()

    model = TimedModel(Two(), torch.device("cpu"))
    assert model.name == "halving"
    model.in_precision("bfloat16").step(torch.zeros(1, 2), torch.ones(1, 2))
    assert model.clock.step > 0
    assert model.clock.inject == model.clock.classify == 0


def test_the_plan_has_the_headline_every_solver_and_growing_sizes() -> None:
    groups = {group.name: group.settings for group in benchmark_groups(0.25, cheaper="bfloat16")}
    assert list(groups) == list(GROUPS)
    plain, one, cheaper = groups["headline"]
    assert (plain.method, plain.steps, plain.solver, plain.n) == ("rs", 30, "anderson", 10_000)
    assert (one.method, one.steps, one.solver, one.n, one.audit) == ("srs", 1, "naive", 10_000, 400)
    assert cheaper == one.with_(proxy_precision="bfloat16")
    methods = {(each.method, each.steps, each.solver) for each in groups["methods"]}
    assert methods == {
        ("rs", 30, "anderson"),
        *(("srs", s, solver) for s in (1, 3) for solver in ("naive", "anderson", "broyden")),
    }
    assert len({each.n for each in groups["methods"]}) == 1
    for method in ("rs", "srs"):
        sizes = [each.n for each in groups["votes"] if each.method == method]
        assert [size / sizes[0] for size in sizes] == [1, 2, 4]
    assert tuple(each.batch_size for each in groups["batches"]) == BATCHES


@pytest.mark.parametrize(("n", "audit", "sentence"), [(499, 100, "n is 499"), (500, 501, "audit is 501")])
def test_a_benchmark_too_small_is_refused(n: int, audit: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        benchmark_groups(0.25, n, audit)


def test_the_command_writes_a_file_that_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "srs_core.benchmark.plan.benchmark_groups",
        lambda sigma, *_: [Group("headline", (SMALL.with_(sigma=sigma).plain(), SMALL.with_(sigma=sigma)), race=True)],
    )
    monkeypatch.setattr("srs_core.cli.options.pick_model", lambda *_: _named())
    monkeypatch.setattr("srs_core.cli.options.open_picture", lambda *_: PICTURE)
    out = tmp_path / "here.json"
    sizes = ["--batch-size", "4", "--plain-batch-size", "4", "--repeats", "1", "--device", "cpu"]
    run = CliRunner().invoke(app, ["bench", *sizes, "--out", str(out)])
    assert run.exit_code == 0, run.output
    assert "SRS 1 naive" in run.stdout
    stored = read_benchmark(out)
    assert stored.name == "here"
    assert [record.label for record in stored.group("headline")] == ["RS 30 anderson", "SRS 1 naive"]
    assert stored.runs == tuple(Record.from_dict(record.to_dict()) for record in stored.runs)
    assert stored.settings["picture"] == "gallery:333"

    document = json.loads(out.read_text())
    assert {"device", "matmul_gflops", "evaluation", "runs", "versions", "settings"} <= set(document)
    for broken in ("", "[]", "{}", json.dumps({**document, "runs": [{}]}), json.dumps({**document, "evaluation": 3})):
        out.write_text(broken)
        with pytest.raises(BenchmarkError, match=r"here\.json"):
            read_benchmark(out)


def _named() -> Halving:
    from srs_core.mdeq.variants import find_variant

    model = Halving()
    model.variant, model.sigma = find_variant("small"), 0.25  # type: ignore[attr-defined]
    return model

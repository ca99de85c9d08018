"""`report` on files from elsewhere: known numbers, a baseline for each model, and refusals in one sentence."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
HEADER = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"


def write(path: Path, radii: Sequence[float], first: int = 0, name: str | None = None, **settings: Any) -> str:
    """A result file of pictures that are right with these radii, each in 1.5 seconds; its path."""
    path.parent.mkdir(exist_ok=True)
    rows = (f"{i}\t3\t3\t{radius}\t1\t1.5\t{name or path.stem}\n" for i, radius in enumerate(radii, start=first))
    path.write_text(HEADER.replace("\n", "\tsetting\n") + "".join(rows), encoding="utf-8")
    if settings:
        path.with_name(f"{path.name}.json").write_text(json.dumps({"settings": settings}), encoding="utf-8")
    return str(path)


@pytest.fixture
def two_models(tmp_path: Path) -> list[str]:
    """A plain and a serialized file of each of two models; their names are the same."""
    files = []
    for model, radius in (("small", 0.5), ("large", 0.8)):
        said = {"model": model, "sigma": 0.5}
        files.append(write(tmp_path / model / "plain.tsv", [radius], **said, method="rs", steps=30))
        files.append(write(tmp_path / model / "short.tsv", [radius / 2], **said, method="rs", steps=3))
        files.append(write(tmp_path / model / "srs.tsv", [0.2], **said, method="srs", steps=3))
    return files


def test_each_models_files_are_compared_with_the_baseline_of_that_model(
    run: Run, two_models: list[str], tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    code, out, said = run("report", *two_models, "--baseline", "short", "--html", str(page), "--json")
    assert code == 0, said
    lost = [record["mean_rrd"] for record in json.loads(out)]
    assert lost == [-1.0, None, pytest.approx(0.2), -1.0, None, pytest.approx(0.5)]
    headings = re.findall(r"<h2>(Radii.*?)</h2>", page.read_text(encoding="utf-8"))
    assert headings == ["Radii against short · small", "Radii against short · large"]


def test_a_baseline_that_a_model_does_not_have_compares_nothing_there(run: Run, tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.tsv", [0.5], model="small", sigma=0.5, method="rs", steps=30)
    other = write(tmp_path / "srs.tsv", [0.2], model="large", sigma=0.5)
    code, out, said = run("report", plain, other, "--baseline", "plain", "--json")
    assert code == 0, said
    assert [record["mean_rrd"] for record in json.loads(out)] == [None, None]
    code, _, said = run("report", plain, other, "--baseline", "nobody")
    assert (code, "no result named 'nobody'" in said) == (2, True)


def test_plots_are_made_of_files_that_share_no_certified_picture(run: Run, tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.tsv", [0.5], model="m", sigma=0.5, method="rs", steps=30)
    apart = write(tmp_path / "apart.tsv", [0.5], first=7, model="m", sigma=0.5)
    page = tmp_path / "report.html"
    code, _, said = run("report", plain, apart, "--html", str(page))
    assert code == 0, said
    assert re.findall("<h2>(.*?)</h2>", page.read_text(encoding="utf-8")) == ["Certified accuracy"]


def test_plain_numbers_of_time_are_seconds_and_no_picture_is_lost(run: Run, tmp_path: Path) -> None:
    path = Path(write(tmp_path / "theirs.tsv", [0.5, 0.1]))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    code, out, said = run("report", str(path), "--json")
    assert code == 0, said
    (record,) = json.loads(out)
    assert (record["pictures"], record["mean_seconds"], record["certified_at_0.25"]) == (2, 1.5, 0.5)


@pytest.mark.parametrize("radius", ["nan", "inf", "-1"])
def test_a_radius_that_is_none_is_refused(run: Run, tmp_path: Path, radius: str) -> None:
    code, out, said = run("report", write(tmp_path / "theirs.tsv", [0.5]), "--radius", radius)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"Error: radius is (nan|inf|-1\.0); give finite numbers of at least 0\.\n", said)


def test_radii_that_differ_have_columns_of_their_own(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "theirs.tsv", [0.25000005])
    radii = [word for radius in ("0.2500001", "0.25", "0.25") for word in ("--radius", radius)]
    code, out, said = run("report", path, *radii, "--format", "csv")
    assert code == 0, said
    header, line = (row.split(",") for row in out.splitlines())
    assert [(n, v) for n, v in zip(header, line, strict=True) if n.startswith("certified")] == [
        ("certified_at_0.2500001", "0.0"),
        ("certified_at_0.25", "1.0"),
    ]
    assert "r=0.2500001 %  r=0.25 %" in run("report", path, *radii)[1]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("20\t3\t3\tinf\t1\t0:00:01", "radius must hold a number"),
        ("20\t3\t3\t1e30\t1\t0:00:01", "radius must hold a number"),
        ("20\t3\t3\t0.1\t7\t0:00:01", "correct must be 0 or 1"),
        ("20\t3\t3\t0.1\t1\tsoon", "time must be h:mm:ss or seconds"),
        ("20\t3\t3\t0.1\t1\t", "time must be h:mm:ss or seconds"),
    ],
)
@pytest.mark.parametrize("form", ["text", "csv"])
def test_a_damaged_file_is_refused_in_a_sentence(run: Run, tmp_path: Path, cells: str, words: str, form: str) -> None:
    path = tmp_path / "theirs.tsv"
    path.write_text(f"{HEADER}{cells}\n", encoding="utf-8")
    code, out, said = run("report", str(path), "--format", form)
    assert (code, out) == (2, "")
    assert f"{path} is damaged: {words}" in said
    assert "Traceback" not in said

"""Attack certified test pictures inside and outside of their certificates, and keep the numbers.

    python -m scripts.attack_study results/every-100-cifar10-small-0.25-MDEQ-30A.tsv --data cifar10 --out docs/attacks

The certificates are those of a result file that `python -m srs_core evaluate` wrote with plain smoothing. The first
pictures in it whose label is certified are attacked at multiples of their own certified radius: inside no attack may
win, outside more should win the further they may go. Written are MODEL.tsv (one row for each attack; start again to
continue) and MODEL.json (the counts). The Attack page draws every study in docs/attacks.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from srs_core.attacks import AttackSettings, load_target
from srs_core.attacks.study import Point, study_stream
from srs_core.attacks.tables import by_reach, contradictions
from srs_core.data import Dataset, load_dataset
from srs_core.evaluate.results import Results, read_results
from srs_core.smoothing.settings import Settings

MULTIPLES = (0.99, 1.5, 2.5, 4.0)


def certified_points(results: Results, dataset: Dataset, pictures: int) -> Iterator[Point]:
    """The first so many pictures whose label is certified."""
    rows = results.frame[(results.frame["correct"] == 1) & (results.frame["radius"] > 0)]
    for index, label, radius in rows[["idx", "label", "radius"]].head(pictures).itertuples(index=False):
        yield Point(int(index), dataset[int(index)].image, int(label), int(label), float(radius))


def study(options: argparse.Namespace) -> int:
    """Run the study, write its files, and return how many attacks contradicted a certificate."""
    results = read_results(options.results)
    target = load_target(results.model, options.device)
    if results.plain_steps == 0 or results.settings["model_hash"] != getattr(target.answer, "hash", None):
        raise SystemExit(f"{options.results} does not hold plain smoothing's results of {results.model} as it is now.")
    names = set(Settings.__dataclass_fields__)
    certifying = Settings.from_dict({name: value for name, value in results.settings.items() if name in names})
    attacking = [
        AttackSettings.against(certifying, samples=m, n=options.votes, restarts=options.restarts)
        for m in options.samples
    ]
    dataset = load_dataset(options.data)
    file = options.out / f"{results.model}.tsv"
    points = certified_points(results, dataset, options.pictures)
    rows = []
    for row in study_stream(
        target, points, lambda point: [m * point.radius for m in MULTIPLES], attacking, file, {"data": dataset.name}
    ):
        rows.append(row)
        print(f"  {row.attack} at {row.radius:.3f}: {row.outcome} ({row.seconds:.0f} s)", flush=True)
    summaries = by_reach(rows)
    document = {
        "model": results.model,
        "data": f"{dataset.name}, the first {options.pictures} certified pictures of {options.results.name}",
        "certificate": certifying.to_dict(),
        "contradictions": len(contradictions(rows)),
        "by_multiple_of_the_certified_radius": [summary.record() for summary in summaries],
    }
    file.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for s in summaries:
        reach = f"{s.attack} at {s.radius:g} x the certified radius"
        print(f"{reach}: won {s.successes} of {s.pictures}, undecided {s.undecided}")
    return len(contradictions(rows))


def main() -> None:
    """Read the options and run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="a result file of plain smoothing, with the .json beside it")
    parser.add_argument("--data", default="cifar10", help="cifar10, gallery, an .npz file or a folder")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--pictures", type=int, default=30, help="certified pictures to attack")
    parser.add_argument("--samples", type=int, nargs="+", default=[16], help="noise draws of the attacks; 0 is PGD")
    parser.add_argument("--restarts", type=int, default=0, help="further searches from random points")
    parser.add_argument("--votes", type=int, default=1_000, help="votes on each attacked picture")
    parser.add_argument("--device", default="auto")
    broken = study(parser.parse_args())
    if broken:
        raise SystemExit(f"{broken} attacks won inside of certificates.")


if __name__ == "__main__":
    main()

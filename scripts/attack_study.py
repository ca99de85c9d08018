"""Attack certified test pictures inside and outside of their certificates, and keep the numbers and a figure.

    python -m scripts.attack_study --model cifar10-small-0.25 --data cifar10 --out docs/attacks

The first pictures, in the order of the test set's every 20th, whose label is certified are attacked at multiples of
their own certified radius: inside no attack may win, outside more should win the further they may go. Written are
NAME.tsv (one row for each attack; start again to continue), NAME.json (the counts) and NAME.html (the figure).
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from srs_core.attacks import AttackSettings, Target, load_target
from srs_core.attacks.study import Point, study_stream
from srs_core.attacks.tables import by_reach, contradictions
from srs_core.data import Dataset, load_dataset
from srs_core.figures.attack import success_figure
from srs_core.smoothing.noise import Purpose, derive_seed
from srs_core.smoothing.settings import Settings
from srs_core.smoothing.stream import certify

EVERY = 20
MULTIPLES = (0.5, 0.99, 1.5, 2.0, 3.0, 4.0)


def certified_points(target: Target, dataset: Dataset, settings: Settings, pictures: int) -> Iterator[Point]:
    """The first so many pictures whose label is certified."""
    found = 0
    for sample in dataset.every(EVERY):
        if found == pictures:
            return
        seeded = settings.with_(seed=derive_seed(settings.seed, Purpose.IMAGE, sample.index))
        certificate = certify(target.answer, sample.image, seeded)
        right = not certificate.abstained and certificate.class_index == sample.label
        print(f"picture {sample.index}: {'certified' if right else 'passed over'}, radius {certificate.radius:.3f}")
        if right:
            found += 1
            yield Point(sample.index, sample.image, sample.label, certificate.class_index, certificate.radius)


def study(options: argparse.Namespace) -> int:
    """Run the study, write its files, and return how many attacks contradicted a certificate."""
    target = load_target(options.model, options.device)
    sigma = getattr(target.answer, "sigma", None) or options.sigma
    certifying = Settings(method="rs", sigma=sigma, n=options.n, seed=options.seed)
    attacking = [
        AttackSettings.against(certifying, samples=m, n=options.votes, restarts=options.restarts)
        for m in options.samples
    ]
    dataset = load_dataset(options.data)
    file = options.out / f"{options.model}.tsv"
    points = certified_points(target, dataset, certifying, options.pictures)
    rows = []
    for row in study_stream(
        target, points, lambda point: [m * point.radius for m in MULTIPLES], attacking, file, dataset.name
    ):
        rows.append(row)
        print(f"  {row.attack} at {row.radius:.3f}: {row.outcome} ({row.seconds:.0f} s)", flush=True)
    summaries = by_reach(rows)
    document = {
        "model": options.model,
        "data": f"{dataset.name}, every {EVERY}th picture, the first {options.pictures} certified ones",
        "certificate": certifying.to_dict(),
        "contradictions": len(contradictions(rows)),
        "by_multiple_of_the_certified_radius": [summary.record() for summary in summaries],
    }
    file.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    success_figure(summaries).write_html(file.with_suffix(".html"), include_plotlyjs=True)
    for s in summaries:
        won = s.certified_successes + s.uncertified_successes
        print(f"{s.attack} at {s.radius:g} x the certified radius: won {won} of {s.pictures}, undecided {s.undecided}")
    return len(contradictions(rows))


def main() -> None:
    """Read the options and run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a name from `python -m srs_core models`")
    parser.add_argument("--data", default="cifar10", help="cifar10, gallery, an .npz file or a folder")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--pictures", type=int, default=30, help="certified pictures to attack")
    parser.add_argument("--samples", type=int, nargs="+", default=[16], help="noise draws of the attacks; 0 is PGD")
    parser.add_argument("--restarts", type=int, default=0, help="further searches from random points")
    parser.add_argument("--n", type=int, default=1_000, help="votes of each certificate")
    parser.add_argument("--votes", type=int, default=1_000, help="votes on each attacked picture")
    parser.add_argument("--sigma", type=float, default=0.25, help="noise level, if the model states none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    broken = study(parser.parse_args())
    if broken:
        raise SystemExit(f"{broken} attacks won inside of certificates.")


if __name__ == "__main__":
    main()

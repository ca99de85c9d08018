"""Measure how evaluation scales out: the throughput of two one-thread Ray workers against that of one.

    python -m scripts.bench_ray --model cifar10-small-0.25 --pictures 8

Workers are started, and have their model, before the clock runs. The claim is a factor of at least 1.7 on two idle
cores; on a busy machine the factor says more about its other work than about this program.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from srs_core import load_model
from srs_core.data import gallery
from srs_core.evaluate.on_ray import Cluster, import_ray
from srs_core.evaluate.plan import Evaluation, Selection, name_parts
from srs_core.evaluate.run import evaluate
from srs_core.smoothing.settings import Settings


def seconds(evaluation: Evaluation, workers: int, folder: Path) -> float:
    """The time that so many workers take for the evaluation."""
    cluster = Cluster("local", workers=workers)
    begin = time.perf_counter()
    evaluate(evaluation, {part.name: folder / f"{workers}-{begin}.tsv" for part in evaluation.parts}, cluster)
    return time.perf_counter() - begin


def main() -> None:
    """Run the same pictures with one worker and with two, and print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="cifar10-small-0.25")
    parser.add_argument("--pictures", type=int, default=8)
    parser.add_argument("--n", type=int, default=200)
    options = parser.parse_args()
    ray = import_ray()
    Cluster("local", workers=2).connect(ray)
    parts = name_parts([Settings(sigma=0.25, steps=3, n=options.n, n0=20, audit=options.n // 3)])
    selection = Selection(stop=options.pictures)
    evaluation = Evaluation(load_model(options.model, "cpu"), selection.of(gallery()), selection, parts)
    short = Selection(stop=2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds(Evaluation(evaluation.model, short.of(gallery()), short, parts), 2, folder)
        before = os.getloadavg()[0]
        one, two = seconds(evaluation, 1, folder), seconds(evaluation, 2, folder)
    ray.shutdown()
    found = {"pictures": options.pictures, "n": options.n, "load_before": before}
    print(json.dumps({**found, "one_worker": one, "two_workers": two, "ratio": one / two}, indent=2))


if __name__ == "__main__":
    main()

"""Speed: what a certificate costs on a machine that was measured, and what the cheaper ways give away."""

from typing import TYPE_CHECKING

import streamlit as st

from pages.widgets import metrics, require_frame
from srs_core.words import Fact

if TYPE_CHECKING:
    from srs_core.benchmark.files import Stored
    from srs_core.benchmark.runs import Record

BARE = {"displayModeBar": False}
BUSY = 1.0
"""Programs that wanted to run before the measurement began; with one or more, something else was being computed."""


def kept_benchmarks() -> "dict[str, Stored]":
    """All benchmarks that can be read, the newest first; a sentence on the page for each that cannot."""
    from srs_core.benchmark.files import BenchmarkError, benchmark_folder, read_benchmark

    found = []
    for path in sorted(benchmark_folder().glob("*.json")):
        try:
            found.append(read_benchmark(path))
        except BenchmarkError as error:
            st.warning(str(error))
    found.sort(key=lambda stored: stored.created, reverse=True)
    return {stored.name: stored for stored in found}


def show_summary(stored: "Stored") -> None:
    """The numbers that matter most."""
    evaluation = stored.benchmark.evaluation
    facts = [
        Fact(
            "One evaluation",
            f"{evaluation.ms_per_sample:.2f} ms",
            "How long one evaluation of the network's layer f takes for one picture.",
        ),
        Fact(
            "Gain over training",
            f"{evaluation.ratio:.1f} times",
            "The same evaluation by the plain form of the network, as training uses it, in batches of "
            f"{stored.benchmark.plain_batch_size}, takes so many times as long.",
        ),
        Fact(
            "Share of the peak",
            f"{100 * evaluation.peak_share:.0f} %",
            "Arithmetic per second, compared with large matrix products in float32, the fastest that a machine does.",
        ),
    ]
    for record in stored.group("headline")[1:2]:
        facts += [
            Fact(
                "Serialized is faster",
                f"{record.speed_up_seconds or 0:.1f} times",
                f"{record.n:,} votes by one naive step each (SRS), {record.audit:,} of them audited, against as many "
                "votes by up to 30 Anderson steps (RS), in one process that gave both the same time by turns.",
            ),
            Fact(
                "Radius given away",
                "none to lose"
                if record.relative_radius_difference is None
                else f"{100 * record.relative_radius_difference:.0f} %",
                "By how much the fast run's certified radius is smaller than the slow one's, on this picture.",
            ),
        ]
    metrics(facts)
    st.caption(
        f"Measured {stored.created[:10]} on {stored.machine}, {stored.benchmark.threads} threads, with "
        + ", ".join(f"{name} {value}" for name, value in (stored.settings | stored.versions).items())
        + "."
    )
    if stored.settings.get("load_before", 0) >= BUSY:
        st.warning(
            "The machine was busy with other work when this measurement began. If that went on, times and the share of "
            "the peak are not its own; ratios between methods still compare, because those runs took turns."
        )


def show_evaluation(stored: "Stored") -> None:
    """One evaluation of f."""
    from srs_core.figures.speed import evaluation_figure

    st.subheader("One evaluation of the network")
    st.markdown(
        "Nearly all of a certificate's time goes into one function, the network's layer *f*, evaluated hundreds of "
        "thousands of times. *At the peak* is how long it would take if every multiplication ran as fast as in a large "
        "matrix product."
    )
    st.plotly_chart(
        evaluation_figure(stored.benchmark), config=BARE, alt="Milliseconds per evaluation of f, in every form."
    )


def show_methods(stored: "Stored") -> None:
    """All methods beside each other, with what they certify."""
    from srs_core.figures.speed import radius_and_time_figure

    rows = stored.group("methods")
    if not rows:
        return
    st.subheader("Fast is not free")
    st.markdown(
        f"Every method certified the same picture with {rows[0].n:,} votes on the same noise. Up and left is better. A "
        "hollow circle is what plain smoothing certifies if it stops after as many evaluations as the serialized run "
        "below or above it took: **where the hollow circle is higher, the fast method was not worth it** for this "
        "picture. With one step all solvers take the same step."
    )
    st.plotly_chart(radius_and_time_figure(rows), config=BARE, alt="Certified radius against seconds for every method.")
    st.dataframe(methods_table([*stored.group("headline"), *rows]), hide_index=True)


def methods_table(rows: "list[Record]") -> dict[str, list[str]]:
    """The same numbers as a table."""
    from srs_core.smoothing.bounds import format_radius

    return {
        "Run": [row.label for row in rows],
        "Votes": [f"{row.n:,}" for row in rows],
        "Evaluations": [f"{row.evaluations:,}" for row in rows],
        "Seconds": [f"{row.seconds:.1f}" for row in rows],
        "Times faster": ["" if row.speed_up_seconds is None else f"{row.speed_up_seconds:.1f}" for row in rows],
        "Times fewer evaluations": [
            "" if row.speed_up_evaluations is None else f"{row.speed_up_evaluations:.1f}" for row in rows
        ],
        "Radius": [format_radius(row.radius) for row in rows],
        "Radius lost": [
            "" if row.relative_radius_difference is None else f"{100 * row.relative_radius_difference:.0f} %"
            for row in rows
        ],
        "Radius of plain, equal cost": [
            "" if row.equal_cost is None else format_radius(row.equal_cost.radius) for row in rows
        ],
    }


def show_time(stored: "Stored") -> None:
    """Where the time went."""
    from srs_core.figures.speed import time_figure

    rows = stored.group("methods") or stored.group("headline")
    if not rows:
        return
    st.subheader("Where the time goes")
    st.markdown(
        "What is not spent in the network (its layer *f*, its stem before and its head after) is overhead: making "
        "noise, the solver's own arithmetic, counting votes."
    )
    st.plotly_chart(time_figure(rows), config=BARE, alt="Share of each run's time inside and outside the network.")


def show_growth(stored: "Stored") -> None:
    """How time and memory grow."""
    from srs_core.figures.speed import batch_figure, growth_figure

    votes, batches = stored.group("votes"), stored.group("batches")
    if votes:
        st.subheader("More votes")
        st.markdown(
            "More votes certify larger radii. Time grows in a straight line with them; a serialized run's line does "
            "not begin at zero, because its audit costs the same whatever the number of votes."
        )
        st.plotly_chart(growth_figure(votes), config=BARE, alt="Seconds by number of votes.")
        peaks = {record.n: record.peak_megabytes for record in votes if record.method == "srs"}
        told = [f"{peak:,.0f} MB with {n:,} votes" for n, peak in sorted(peaks.items()) if peak is not None]
        if told:
            st.caption(f"The most memory that the process held: {', '.join(told)}.")
    if batches:
        st.subheader("More copies at a time")
        st.markdown("Noisy copies are solved in batches. Too small a batch wastes time between evaluations.")
        st.plotly_chart(batch_figure(batches), config=BARE, alt="Milliseconds per evaluation by batch size.")


def main() -> None:
    """Draw the page from top to bottom."""
    require_frame()
    st.title("Speed")
    st.markdown(
        "What a certificate costs, measured by `python -m srs_core bench`: the time of one evaluation, of whole "
        "certificates by every method, and what the faster ones give away."
    )
    benchmarks = kept_benchmarks()
    if not benchmarks:
        st.info(
            "There is no benchmark to show yet. Make one, in a few minutes, with "
            "`python -m srs_core bench --out benchmarks/this-machine.json`."
        )
        return
    name = next(iter(benchmarks))
    if len(benchmarks) > 1:
        name = st.selectbox(
            "Benchmark", list(benchmarks), key="benchmark", bind="query-params", persist_state="session"
        )
    stored = benchmarks[name]
    show_summary(stored)
    show_evaluation(stored)
    show_methods(stored)
    show_time(stored)
    show_growth(stored)


main()

"""`report`: result files as one table, and as a page of plots that needs no network."""

from pathlib import Path
from typing import Annotated

import typer

from srs_core.cli import options
from srs_core.cli.app import app, errors, print_json


@app.command()
def report(
    files: Annotated[list[Path], typer.Argument(help="Result files (.tsv) of `evaluate`, or of the usual format.")],
    form: Annotated[str, typer.Option("--format", help="text, markdown, latex or csv.")] = "text",
    radius: Annotated[list[float] | None, typer.Option(help="Radii of the table. Repeat for several.")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The setting to compare with: of several files so named, the one of the same model, sigma and "
            "pictures. Default: the plain run that the setting was measured beside, else the one with the most steps."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Also write plots to this file, complete in itself.", callback=options.writable)
    ] = None,
    card: Annotated[
        str | None, typer.Option(help="Also write the figures into this model's card; the files must be its own.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print certified accuracy, radii, mismatches and speed-ups of result files.

    Percentages are of all pictures: an abstention counts as not certified. *r=0.25 %* is the certified accuracy at
    radius 0.25. ACR, the average certified radius, rewards a few easy pictures more than many hard ones: read
    the columns before it first. *plain wins* is how often plain smoothing certifies as much or
    more for the same evaluations; where both abstain nobody wins.
    """
    from srs_core.evaluate.results import read_results
    from srs_core.evaluate.summary_table import FORMATS, summarise
    from srs_core.metrics import RADII

    if form not in FORMATS:
        raise ValueError(f"format is {form!r}; choose one of {', '.join(FORMATS)}.")
    results = [read_results(path) for path in files]
    table = summarise(results, radius or RADII, baseline)
    if html is not None:
        from srs_core.evaluate.html_report import html_report

        html.write_text(html_report(table), encoding="utf-8")
        errors.print(f"Wrote {html}", highlight=False)
    if card is not None:
        from srs_core.evaluate.card import add_to_card

        add_to_card(card, results)
        errors.print(f"Wrote {len(results)} certified accuracies into the card of {card}", highlight=False)
    if as_json:
        print_json(table.records())
    else:
        typer.echo(FORMATS[form](table), nl=False)

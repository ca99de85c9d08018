"""The look that all figures share: a colour-blind-safe palette, quiet axes, readable in light and dark."""

import plotly.graph_objects as go

__all__ = ["BLUE", "COLORWAY", "GREEN", "GREY", "ORANGE", "PINK", "RED", "SKY", "YELLOW", "style", "translucent"]

# Okabe and Ito's palette, whose colours stay apart in every common form of colour blindness.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, RED, YELLOW, GREY = "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C"
COLORWAY = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW, GREY)

GRID = "rgba(128, 128, 128, 0.22)"


def style(figure: go.Figure, x: str = "", y: str = "", height: int = 340) -> go.Figure:
    """Give a figure the common look and name its axes in words; text colour follows the page."""
    figure.update_layout(
        colorway=list(COLORWAY),
        height=height,
        margin={"l": 8, "r": 8, "t": 36, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0.0},
        hoverlabel={"namelength": -1},
    )
    figure.update_xaxes(title=x, gridcolor=GRID, zerolinecolor=GRID, automargin=True)
    figure.update_yaxes(title=y, gridcolor=GRID, zerolinecolor=GRID, automargin=True)
    return figure


def translucent(colour: str, opacity: float) -> str:
    """A palette colour as rgba, for bands and fills."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"

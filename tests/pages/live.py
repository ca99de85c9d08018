"""What tests in a browser ask about charts that change while one looks: does the node stay, does its picture change?"""

import time

from playwright.sync_api import Locator, Page

PATIENCE = 120.0
"""Seconds; generous, because the machine may be busy."""


def mark(charts: Locator) -> None:
    """Leave a mark on the charts' nodes, which is lost when a node is replaced by another."""
    charts.evaluate_all("nodes => nodes.forEach(node => node.mark = true)")


def marked(charts: Locator) -> int:
    """How many of the charts still are the nodes that were marked."""
    return int(charts.evaluate_all("nodes => nodes.filter(node => node.mark).length"))


def wait_until_drawn_anew(chart: Locator) -> None:
    """Wait until the chart looks different, which only new data can bring about."""
    before, deadline = chart.screenshot(), time.monotonic() + PATIENCE
    while chart.screenshot() == before:
        assert time.monotonic() < deadline, "The chart has not changed."
        chart.page.wait_for_timeout(200)


def watch_charts(page: Page) -> None:
    """From now on, note every node that holds a light chart, and every picture that it shows."""
    page.evaluate(
        """() => {
            window.chartNodes = new Set();
            window.chartPictures = new Set();
            setInterval(() => {
                for (const node of document.querySelectorAll("[data-testid=stVegaLiteChart]")) {
                    window.chartNodes.add(node);
                    const drawn = node.querySelector("canvas, svg");
                    if (drawn) window.chartPictures.add(drawn.toDataURL ? drawn.toDataURL() : drawn.outerHTML);
                }
            }, 50);
        }"""
    )


def watched_charts(page: Page) -> tuple[int, int]:
    """How many nodes and how many different pictures have been noted."""
    nodes, pictures = page.evaluate("[window.chartNodes.size, window.chartPictures.size]")
    return int(nodes), int(pictures)

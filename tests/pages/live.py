"""What tests in a browser ask about charts that change while one looks: does the node stay, does its picture change?"""

import time

from playwright.sync_api import Locator

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

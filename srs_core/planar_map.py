"""Brute force in the plane: what the model and its smoothed version answer everywhere, and how robust that truly is.

On pictures nobody can look at every neighbour; in the plane a fine grid does it. So a certificate can be checked
with the eyes, and by a test.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from srs_core.planar import CLASSES, PlanarDEQ
from srs_core.smoothing.settings import Settings
from srs_core.solvers import solve

__all__ = ["LARGEST_SIGMA", "PlaneMap", "TrueRadius", "plane_map", "standard_regions"]

LOW, HIGH, CELLS_PER_UNIT = -1.0, 2.0, 90
REACH = 5.0
"""Noise further away than this many sigmas (one draw in 270,000) is left out of the average."""

LARGEST_SIGMA = 0.15
"""With more noise than this the grid would be too small to average over."""

Grid = NDArray[np.float64]
Window = tuple[float, float, float, float]
"""Left, right, bottom, top."""


@dataclass(frozen=True)
class TrueRadius:
    """The distance to the nearest point where the smoothed answer differs; `at_least` if the grid ended before."""

    radius: float
    nearest: tuple[float, float] | None

    @property
    def at_least(self) -> bool:
        """Whether no such point was found, so that the radius is only a lower bound."""
        return self.nearest is None


@dataclass(frozen=True)
class PlaneMap:
    """The plane as the standard model f and the smoothed model g see it.

    `regions[i, j]` is f's class at the point (x_axis[j], y_axis[i]) and `shares[c, i, j]` the chance that f answers c
    there when Gaussian noise of deviation `sigma` is added.
    """

    x_axis: Grid
    y_axis: Grid
    regions: NDArray[np.int64]
    shares: Grid
    sigma: float

    @cached_property
    def smoothed(self) -> NDArray[np.int64]:
        """g's class: the most frequent one under noise."""
        labels: NDArray[np.int64] = self.shares.argmax(axis=0)
        return labels

    def share_at(self, x: float, y: float) -> Grid:
        """The chance of every class at a point (p_A is the largest), by interpolation on the grid."""
        return self._shares_on(np.array([x]), np.array([y]))[:, 0, 0]

    def close_up(self, model: PlanarDEQ, window: Window, solver: str, steps: int, cells: int = 120) -> "PlaneMap":
        """A part of the plane on a finer grid: f asked anew at every point, the shares interpolated."""
        left, right, bottom, top = window
        x_axis, y_axis = np.linspace(left, right, cells + 1), np.linspace(bottom, top, cells + 1)
        regions = _answers(model, x_axis, y_axis, solver, steps)
        return PlaneMap(x_axis, y_axis, regions, self._shares_on(x_axis, y_axis), self.sigma)

    def true_radius(self, x: float, y: float) -> TrueRadius:
        """How far a point can move before g changes its answer, found by looking everywhere.

        The grid shows between which neighbours g's lead over the other classes changes its sign; the change is
        placed between them in proportion. The error is far below a cell, which is 1/90.
        """
        label = int(self.share_at(x, y).argmax())
        lead = self.shares[label] - np.delete(self.shares, label, axis=0).max(axis=0)
        crossings = np.concatenate([self._crossings(lead, along_rows) for along_rows in (True, False)])
        # Nearer to the grid's rim the average would miss noise that falls outside.
        low, high = LOW + REACH * self.sigma, HIGH - REACH * self.sigma
        crossings = crossings[((crossings >= low) & (crossings <= high)).all(axis=1)]
        edge = float(min(x - low, high - x, y - low, high - y))
        if len(crossings) == 0:
            return TrueRadius(edge, None)
        distances = np.hypot(*(crossings - (x, y)).T)
        first = int(distances.argmin())
        if distances[first] > edge:
            return TrueRadius(edge, None)
        return TrueRadius(float(distances[first]), (float(crossings[first, 0]), float(crossings[first, 1])))

    def _crossings(self, lead: Grid, along_rows: bool) -> Grid:
        """Points (x, y) on the grid's rows or columns at which the lead is zero."""
        values = lead if along_rows else lead.T
        moving, fixed = (self.x_axis, self.y_axis) if along_rows else (self.y_axis, self.x_axis)
        line, place = np.nonzero((values[:, :-1] > 0) != (values[:, 1:] > 0))
        before, after = values[line, place], values[line, place + 1]
        across = moving[place] + (moving[1] - moving[0]) * before / (before - after)
        return np.column_stack((across, fixed[line]) if along_rows else (fixed[line], across))

    def _shares_on(self, x: Grid, y: Grid) -> Grid:
        columns = (x - self.x_axis[0]) / (self.x_axis[1] - self.x_axis[0])
        rows = (y - self.y_axis[0]) / (self.y_axis[1] - self.y_axis[0])
        places = np.meshgrid(rows, columns, indexing="ij")
        return np.stack([ndimage.map_coordinates(share, places, order=1, mode="nearest") for share in self.shares])


def standard_regions(model: PlanarDEQ, solver: str, steps: int) -> NDArray[np.int64]:
    """f's class at every point of the grid: a cold solve of at most `steps` steps, stopped point by point."""
    return _answers(model, _axis(), _axis(), solver, steps)


def plane_map(regions: NDArray[np.int64], sigma: float) -> PlaneMap:
    """Average f's regions over the noise: at every grid point, how often each class comes up."""
    if not 0 < sigma <= LARGEST_SIGMA:
        raise ValueError(f"sigma is {sigma}; on the plane it must be positive and at most {LARGEST_SIGMA}.")
    shares = [
        ndimage.gaussian_filter((regions == c).astype(float), sigma * CELLS_PER_UNIT, mode="nearest", truncate=REACH)
        for c in range(len(CLASSES))
    ]
    return PlaneMap(_axis(), _axis(), regions, np.stack(shares), sigma)


def _answers(model: PlanarDEQ, x_axis: Grid, y_axis: Grid, solver: str, steps: int) -> NDArray[np.int64]:
    x, y = np.meshgrid(x_axis, y_axis)
    points = torch.from_numpy(np.column_stack((x.ravel(), y.ravel()))).to(model.bias)
    solution = solve(model.step, model.inject(points), model.initial(points), solver, steps, Settings.tol)
    assert isinstance(solution.z, torch.Tensor)
    labels: NDArray[np.int64] = model.classify(solution.z).argmax(dim=1).cpu().numpy()
    return labels.reshape(x.shape)


def _axis() -> Grid:
    return np.linspace(LOW, HIGH, round((HIGH - LOW) * CELLS_PER_UNIT) + 1)

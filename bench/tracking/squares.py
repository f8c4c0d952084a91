"""Queries of a tracker: squares anywhere in the unit square."""

from __future__ import annotations

import numpy as np

import watchline as wl


def register_squares(
    catalog: wl.Catalog, stream: str, count: int, side: float, rng: np.random.Generator
) -> None:
    """Register squares `q0`, `q1`, … of this side, which emit changes, in one commit."""
    x, y = rng.random((2, count)) * (1 - side)
    bounds = {"x": (x, x + side), "y": (y, y + side)}
    catalog.register_boxes(stream, [f"q{i}" for i in range(count)], bounds, emit="changes")

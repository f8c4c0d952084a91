"""SPEED: how far an object has gone from its row before to this one, over the time between them.

A row without a row before, of an object that had timed out, of the same time as the row before, or
without a place at either end has none; nor has one whose speed no double can hold. It is NaN there,
which counts as NULL. Cost: one pass over the moves of a batch, only where a query asks for it.
"""

from __future__ import annotations

import math

import numpy as np

from watchline.kernels.arrays import Doubles, Integers, read_only
from watchline.kernels.compiled import kernel
from watchline.kernels.earth import metres_of, square_of_chord, vector_of
from watchline.model import Stream
from watchline.rows import Columns
from watchline.tracking.ranges import Moves

SECOND = 1e6


def speeds_of(columns: Columns, stream: Stream, times: Integers, moves: Moves) -> Doubles:
    """The speed of each row that a move ends at; NaN of all others."""
    assert stream.point
    x, y = (read_only(columns.values(stream.attribute(name))) for name in stream.point)
    return _speeds(x, y, times, moves.old, moves.new, stream.geography)


@kernel
def _speeds(
    x: Doubles, y: Doubles, times: Integers, old: Integers, new: Integers, on_earth: bool
) -> Doubles:
    speeds = np.full(len(times), np.nan)
    for i in range(len(new)):
        a, b = old[i], new[i]
        if a < 0 or b < 0 or times[a] == times[b]:
            continue
        if on_earth:
            square = square_of_chord(vector_of(x[b], y[b]), vector_of(x[a], y[a]))
            distance = metres_of(square)
        else:
            dx, dy = x[b] - x[a], y[b] - y[a]
            distance = math.sqrt(dx * dx + dy * dy)
        # The difference of any two times, as 64 bits without a sign.
        speed = distance / (np.float64(np.uint64(times[b]) - np.uint64(times[a])) / SECOND)
        if math.isfinite(speed):
            speeds[b] = speed
    return speeds

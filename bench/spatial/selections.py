"""Selection queries over several attributes, as in section 7.1 of the Spatial Join CQ paper.

Values are uniform in [0, 1]. A condition is at equal odds a <= x <= b between two random numbers,
x < b, or x >= a; an attribute that a query does not mention is unbounded. As boxes are half-open,
the closed end is the next larger number.
"""

from __future__ import annotations

import numpy as np

import watchline as wl
from bench.common.workloads import Fingerprint, Workload, fingerprint
from watchline.kernels.arrays import Doubles

CLOSED, BELOW, ABOVE = 0, 1, 2
KINDS_OF_CONDITION = (CLOSED, BELOW, ABOVE)

# A tenth of the domain in which a value meets a condition as often as a uniform one does (4 of 9
# times: x (1 - x) is 1/6 at its centre), so that skew brings rows together and not more matches.
CROWDED = (0.161, 0.261)

# Rows of a result whose pairs are written out at a time, to be summed up.
PART = 1_000


def selections(
    n: int,
    attributes: int,
    mentioned: int | None = None,
    conditions: tuple[int, ...] = KINDS_OF_CONDITION,
    seed: int = 1,
) -> tuple[Doubles, Doubles]:
    """n boxes; each bounds so many attributes, drawn for each query, or all."""
    rng = np.random.default_rng(seed)
    shape = n, attributes
    ends = np.sort(rng.random((2, *shape)), axis=0)
    one = rng.random(shape)
    what = rng.choice(np.array(conditions), shape)
    lo = np.select([what == CLOSED, what == ABOVE], [ends[0], one], -np.inf)
    hi = np.select([what == CLOSED, what == BELOW], [np.nextafter(ends[1], 2), one], np.inf)
    if mentioned is not None:
        free = rng.random(shape).argsort(axis=1) >= mentioned
        lo[free], hi[free] = -np.inf, np.inf
    return lo, hi


def crowded(points: Doubles, percent: int, seed: int = 3) -> Doubles:
    """The rows with so many of them, all attributes, moved into the crowded tenth."""
    rng = np.random.default_rng(seed)
    moved = rng.random(len(points)) < percent / 100
    low, high = CROWDED
    return np.where(moved[:, None], low + (high - low) * points, points)


def uniform(rows: int, attributes: int, seed: int = 2) -> Doubles:
    return np.random.default_rng(seed).random((rows, attributes))


def workload(
    n: int, attributes: int, rows: int, mentioned: int | None = None, percent: int = 0
) -> Workload:
    """Queries and rows of one setting of the paper; its name says which."""
    lo, hi = selections(n, attributes, mentioned)
    name = f"{n:,} queries, {attributes} attributes"
    if mentioned is not None:
        name += f", {mentioned} mentioned"
    if percent:
        name += f", {percent} % of the rows in a tenth"
    return Workload(name, lo, hi, crowded(uniform(rows, attributes), percent), 1)


def print_of(found: wl.index.Matches, rows: int | None = None) -> Fingerprint:
    """The fingerprint of the first rows of a result, or of all, without all pairs at once."""
    last = len(found.offsets) - 1 if rows is None else rows
    count = checksum = 0
    for begin in range(0, last, PART):
        offsets = found.offsets[begin : min(begin + PART, last) + 1]
        numbers = np.repeat(np.arange(begin, begin + len(offsets) - 1), np.diff(offsets))
        part = fingerprint(numbers, found.ids[offsets[0] : offsets[-1]])
        count, checksum = count + part.count, (checksum + part.checksum) % 2**64
    return Fingerprint(count, checksum)

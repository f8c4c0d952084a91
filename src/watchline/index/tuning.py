"""How fine to make an axis, and how far up to merge: a small cost model over the borders.

The model counts what a search must touch, from a sample of the ranges and for points that are as
the borders are: the lists on its way (each a line of memory, dearer the larger the index is), the
ids that it moves, the ranges that it must compare because a border cuts their cell. Memory has a
price too, so that a little speed does not cost a multiple of the bytes. The constants were measured
(docs/benchmarks/indexes.md); they decide only speed, never answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from watchline.errors import InvalidRange
from watchline.index.cells import HUGEST, TINIEST, Axis, cells_of, edged_axis, equal_axis
from watchline.kernels.arrays import Doubles, Integers

# Boxes by which candidates are judged, and by which the extent is.
SAMPLE, WIDE_SAMPLE = 1_024, 16_384
MAX_CELLS = 2**25
# Cells that tuning goes up to: for each box in one dimension (squared in two), and of an axis.
CELLS_PER_BOX = 8
MOST_CELLS = 2**22

# Nanoseconds: a row, a list on its way, an id moved, the first cut to compare.
ROW, LIST, MOVE, CUT = 8.0, 2.0, 0.12, 4.0
# Nanoseconds to compare one dimension of one box, a block of them at a time.
SCAN = 0.8
# A cut by dimensions: its bytes (a range and an id, or a slot), and nanoseconds to compare it.
CUT_BYTES, COMPARE = {1: 24, 2: 5}, {1: 4.0, 2: 6.0}
# Nanoseconds for a line of memory, when the index fits into so many bytes.
MEMORY = ((2**19, 0.6), (2**23, 2.0), (2**24, 3.0), (2**25, 5.0), (math.inf, 7.0))
# What a byte for each box may cost in nanoseconds of search: more, the more there are of them
# beyond what is usual (four times as much with each dimension).
PRICE, USUAL = 1 / 20, 256
# Cells bounded by borders are tried if equal ones leave so many cuts to compare.
CROWDED = 16


def scan_cost(dims: int, boxes: float) -> float:
    """Nanoseconds for a row that is compared with all boxes."""
    return ROW + SCAN * dims * boxes


@dataclass(frozen=True, slots=True)
class SampleCosts:
    """What a sample of boxes costs on some cells: lists in all, lists that a search reads, entries
    and cuts of each level (whose constructs are 2^level cells wide)."""

    heads: int
    lists: int
    levels: Integers


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a search will cost by the model, and where that comes from."""

    nanoseconds: float
    bytes: float
    lists: float
    moved: float
    compared: float

    def __str__(self) -> str:
        return (
            f"about {self.nanoseconds:,.0f} ns a row ({self.lists:.0f} lists,"
            f" {self.moved:,.1f} ids moved, {self.compared:,.1f} cuts compared),"
            f" {self.bytes / 2**20:,.1f} MiB"
        )


class Shape(NamedTuple):
    """The tuning: the cells of each dimension, and L = 2^k of them to a segment."""

    axes: tuple[Axis, ...]
    k: int
    estimate: Estimate

    @property
    def segments(self) -> tuple[int, ...]:
        return tuple(-(-axis.cells >> self.k) for axis in self.axes)

    def __str__(self) -> str:
        cells = " × ".join(f"{axis.cells:,}" for axis in self.axes)
        how = ["of equal width", "bounded by borders"]
        kinds = " and ".join(dict.fromkeys(how[len(axis.edges) > 0] for axis in self.axes))
        return f"{cells} cells {kinds}, L = {1 << self.k}"


def line_cost(size: float) -> float:
    """What one line of memory costs to read, in nanoseconds, among so many bytes."""
    return next(cost for limit, cost in MEMORY if size <= limit)


def best_shape(
    lo: Doubles,
    hi: Doubles,
    unit: float | None,
    domain: tuple[float, float] | None,
    ks: Iterable[int],
    costs: Callable[[tuple[Axis, ...], int, Doubles], SampleCosts],
) -> Shape:
    """The cheapest of the candidates: equal cells, or, where borders crowd, cells between borders.

    The boxes are (n, d). What is given (unit, domain, or one k) is kept to.
    """
    n, ks = len(lo), list(ks)
    extents = [extent(lo[:, d], hi[:, d], domain) for d in range(lo.shape[1])]
    judges = np.concatenate(sample(lo, hi, SAMPLE), axis=1)
    borders = [finite_borders(*sample(lo[:, d], hi[:, d], WIDE_SAMPLE)) for d in range(lo.shape[1])]

    def judged(grids: Iterable[tuple[Axis, ...]]) -> list[Shape]:
        shapes = []
        for axes in grids:
            crowd = math.prod(crowding(a, b) * a.cells for a, b in zip(axes, borders, strict=True))
            for k in ks:
                padded = tuple(with_margin(axis, k) for axis in axes)
                made = cell_estimate(axes, crowd, n, len(judges), costs(padded, k, judges))
                shapes.append(Shape(padded, k, made))
        return shapes

    most = max(16, int((CELLS_PER_BOX ** len(extents) * n) ** (1 / len(extents))))
    shapes = judged(equal_grids(extents, unit, most))
    best = min(shapes, key=lambda s: objective(s, n))
    if unit is None and best.estimate.compared > CROWDED:
        shapes = [best, *judged(edged_grids(borders, most))]
        best = min(shapes, key=lambda s: objective(s, n))
    return best


def objective(shape: Shape, n: int) -> float:
    """What tuning makes small: the time of a search, and memory at a price that rises with its
    use."""
    each = shape.estimate.bytes / max(n, 1)
    usual = USUAL * 4 ** (len(shape.axes) - 1)
    return shape.estimate.nanoseconds + PRICE * each * max(1.0, each / usual)


def cell_estimate(
    axes: tuple[Axis, ...], crowd: float, n: int, sampled: int, costs: SampleCosts
) -> Estimate:
    """The model: n boxes, of which `sampled` cost this.

    Were points everywhere alike, they would meet the cuts of an average cell. But points are where
    borders are, and `crowd` is how many times more of the cuts are there.
    """
    dims, scale = len(axes), n / max(sampled, 1)
    cells = float(math.prod(axis.cells for axis in axes))
    wholes, cuts = (float(x) for x in costs.levels.sum(axis=1))
    areas = 2.0 ** (dims * np.arange(costs.levels.shape[1]))
    covered, cut = (float(x) for x in costs.levels @ areas)
    size = 8.0 * costs.heads + scale * (5 * wholes + CUT_BYTES[dims] * cuts)
    moved = scale * covered / cells
    compared = scale * cut / cells * max(1.0, crowd)
    line = line_cost(size)
    time = ROW + costs.lists * (LIST + 2 * line) + MOVE * moved + COMPARE[dims] * compared
    time += CUT * min(1.0, compared)
    time += line * (4 * moved + CUT_BYTES[dims] * compared) / 64
    for axis in axes:
        if len(axis.edges):
            time += 3 * line + 8
    return Estimate(time, size + (16 * dims + 18) * n, costs.lists, moved, compared)


def equal_grids(
    extents: list[tuple[float, float]], unit: float | None, most: int
) -> list[tuple[Axis, ...]]:
    """Grids of equal cells: of the unit given, or of powers of two, alike in number."""
    if unit is not None:
        return [tuple(equal_cells(low, high, unit) for low, high in extents)]
    widths = [units(low, high, most) for low, high in extents]
    count = min(len(w) for w in widths)
    return [
        tuple(equal_cells(*e, w[i]) for e, w in zip(extents, widths, strict=True))
        for i in range(count)
    ]


def edged_grids(borders: list[Doubles], most: int) -> list[tuple[Axis, ...]]:
    """Grids whose cells hold about as many borders each, of 4 to `most` cells a side."""
    counts = [2**e for e in range(2, 18) if 2**e <= most]
    return [tuple(edged(b, cells) for b in borders) for cells in counts if all(map(len, borders))]


def extent(lo: Doubles, hi: Doubles, domain: tuple[float, float] | None) -> tuple[float, float]:
    """From where to where the cells are: the domain given, or the borders but for far outliers."""
    if domain is not None:
        return domain
    borders = finite_borders(*sample(lo, hi, WIDE_SAMPLE))
    if not len(borders):
        return 0.0, 1.0
    low = min(a.min(initial=np.inf, where=np.isfinite(a)) for a in (lo, hi))
    high = max(a.max(initial=-np.inf, where=np.isfinite(a)) for a in (lo, hi))
    early, late = np.quantile(borders, [0.005, 0.995], method="lower")
    with np.errstate(over="ignore"):
        room = min(float(late - early), HUGEST)
        return float(max(low, early - room)), float(min(high, late + room))


def checked_domain(domain: object) -> tuple[float, float] | None:
    """The user's domain as two finite numbers, refused if it is empty."""
    if domain is None:
        return None
    try:
        low, high = (float(x) for x in domain)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidRange(f"domain must be a pair of numbers, not {domain!r}") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidRange(f"domain needs two finite numbers, the lower first, not {domain!r}")
    return low, high


def checked_unit(unit: object) -> float | None:
    """The user's unit as a number, refused unless it is positive."""
    if unit is None:
        return None
    value = _number(unit)
    if value is None or not TINIEST <= value <= HUGEST:
        raise InvalidRange(f"unit must be a positive number, not {unit!r}")
    return value


def check_cells(unit: float | None, domain: tuple[float, float] | None, dims: int) -> None:
    """Refuse a unit that would make more cells of the domain than memory has room for."""
    if unit is None or domain is None:
        return
    cells = (domain[1] / unit - domain[0] / unit) ** dims
    if cells > MAX_CELLS:
        raise InvalidRange(
            f"unit {unit:g} makes {cells:,.0f} cells of the domain; the most is {MAX_CELLS:,}"
        )


def checked_length(length: object) -> int | None:
    """L as its logarithm k; L must be a power of two."""
    if length is None:
        return None
    value = _number(length)
    if value is None or value != int(value) or int(value) < 1 or int(value) & (int(value) - 1):
        raise InvalidRange(f"L must be a power of two, not {length!r}")
    return int(value).bit_length() - 1


def _number(value: object) -> float | None:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    return float(value) if number and math.isfinite(float(value)) else None  # type: ignore[arg-type]


def sample(lo: Doubles, hi: Doubles, size: int) -> tuple[Doubles, Doubles]:
    """About so many of the boxes, at equal distances."""
    step = max(1, len(lo) // size)
    return lo[::step], hi[::step]


def finite_borders(lo: Doubles, hi: Doubles) -> Doubles:
    """All borders that are numbers."""
    borders = np.concatenate([lo, hi])
    return borders[np.isfinite(borders)]


def units(low: float, high: float, most: int) -> list[float]:
    """Cell widths worth trying: powers of two that give from two to `most` cells."""
    span = min(max(high / 2 - low / 2, TINIEST), HUGEST) * 2
    top = math.floor(math.log2(span))
    count = int(math.log2(max(2, min(most, MOST_CELLS))))
    return [2.0**e for e in range(top, top - count - 1, -1) if TINIEST <= 2.0**e <= HUGEST]


def equal_cells(low: float, high: float, unit: float) -> Axis:
    """Cells of `unit` from the multiple of it at or below `low` to past `high`."""
    # Where all borders are one, the unit is tiny, and their multiples of it are beyond all numbers.
    first, last = (math.floor(min(max(x / unit, -HUGEST), HUGEST)) for x in (low, high))
    return equal_axis(low, unit, min(last - first + 1, MOST_CELLS))


def with_margin(axis: Axis, k: int) -> Axis:
    """Equal cells with a segment more before the first, so that a border there begins a cell.

    The first cell has all that is below it: what begins with it would otherwise be cut.
    """
    if len(axis.edges):
        return axis
    return axis._replace(origin=axis.origin - (1 << k), cells=axis.cells + (1 << k))


def crowding(axis: Axis, borders: Doubles) -> float:
    """The share of all other borders that a point, drawn as they are, has in its cell."""
    if len(borders) < 2:
        return 0.0
    counts = np.bincount(cells_of(axis, borders)).astype(np.float64)
    return float((counts * (counts - 1)).sum() / (counts.sum() * (counts.sum() - 1)))


def edged(borders: Doubles, cells: int) -> Axis:
    """Cells that hold about equally many borders, bounded by borders."""
    ranks = np.linspace(0, len(borders) - 1, cells + 1).astype(np.int64)
    edges = np.unique(np.sort(borders)[ranks])
    return edged_axis(edges + 0.0)

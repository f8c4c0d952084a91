"""The plan of queries: their boxes by key and axes, and what remains for refinement.

Every conjunction of every query becomes a box in a *part*. A part has the boxes below one optional
*key* (equality on a string attribute or on the object id), over some *axes*: ranges, and the
strings and booleans that are no key. The boxes of a key's value stand together, so a row meets only
those of its own value: ten alerts for its symbol, not the alerts of two thousand symbols.

Strings are numbers here: the plan has a dictionary for each string attribute, the value with code c
is the side [c, c + 1), and a set of values is several boxes, which no row meets two of.

Boxes that ask about the same one or two attributes, if they are many, have a part of their own: for
these there are the fastest indexes. All others below a key share one part over all axes that any of
them asks about. A box does not look at the other axes; there its upper bound is NaN.

Regions that are no boxes have parts of their own: an index of regions decides them exactly, and the
box of the other ranges is compared on its candidates. Only few regions below a value of a key stay
there: each gives its bounding box to the axes, and is left to check.

Of several regions one drives, and the others are left to check, and so are those that rows must be
outside of.

What neither boxes nor regions decide is the conjunction's *residue*, checked on candidates only:
large sets, IS NULL, two attributes compared, other regions, integers beyond 2^53.

A query that a row alone does not decide has a number in the plan, and no boxes: another engine
answers it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.index import CIRCLE, RegionColumns, extent_of
from watchline.kernels.arrays import Doubles, Integers, Small
from watchline.matching.residues import Residues
from watchline.model import INF, Attribute, Query, Range, Stream
from watchline.rows import ValueIndex

# Below this, float64 holds every integer, and rounding a larger row value cannot cross a bound.
EXACT = 2**53
# The moment at which queries end that have no end.
NEVER = 2**63 - 1


@dataclass(frozen=True)
class Part:
    """Boxes below the same key, those of one key value side by side.

    The value with code c has the boxes `starts[r]:starts[r + 1]` of its run r = `runs[c]`; r is one
    past the last run for a value without boxes, and in `runs[-1]`, for those without a code.
    Without a key there is one run. `lo` and `hi` are (axes, n), NaN in `hi` where a box does not
    look; box j has the number `numbers[j]` in the plan. The boxes of a `whole` part are each all of
    their query: no residue, no alternative, no other value.
    """

    whole: bool
    key: Attribute | None
    axes: tuple[Attribute, ...]
    runs: Integers | None
    starts: Integers
    lo: Doubles
    hi: Doubles
    numbers: Integers

    @cached_property
    def codes(self) -> Integers:
        """The code of each run's value. Computed once, when queries of the plan are first taken."""
        assert self.runs is not None
        return np.flatnonzero(self.runs[:-1] < len(self.starts) - 1)


@dataclass(frozen=True)
class RegionPart(Part):
    """Regions that are no boxes, each with the box that a row must be in besides.

    Region j is the one of box j, over the attributes `point`. There is no key. The boxes of a
    `whole` part have no axes: each region is all of its query.
    """

    point: tuple[Attribute, Attribute]
    regions: RegionColumns

    def around(self) -> Part:
        """The boxes, narrowed to those around the regions."""
        axes = tuple(sorted({*self.axes, *self.point}))
        shape = len(axes), len(self.numbers)
        lo, hi = np.full(shape, -INF), np.full(shape, np.nan)
        places = [axes.index(axis) for axis in self.axes]
        lo[places], hi[places] = self.lo, self.hi
        low, high = bounding_boxes(self.regions)
        for k, axis in enumerate(self.point):
            at = axes.index(axis)
            lo[at], hi[at] = np.maximum(lo[at], low[k]), np.fmin(hi[at], high[k])
        return Part(self.whole, None, axes, None, self.starts, lo, hi, self.numbers)


def bounding_boxes(regions: RegionColumns) -> tuple[Doubles, Doubles]:
    """Bounds (2, n) of x and y that hold all points of each region, however its formula rounds."""
    extents = extent_of(*regions).T
    low, high = extents[:2], extents[2:]
    # A little more than the extents: formulas round, and squares underflow.
    with np.errstate(over="ignore"):
        size = np.maximum(np.maximum(np.abs(low), np.abs(high)), high - low)
        margin = 1e-12 * size + 1e-160
        low, high = np.nextafter(low - margin, -INF), np.nextafter(high + margin, INF)
        radius = regions.coordinates[regions.chains[regions.begins[:-1], 0] + 1, 0]
        # Where the square of the radius is infinite, all points are inside.
        everywhere = (regions.forms == CIRCLE) & (radius * radius == INF)
    return np.where(everywhere, -INF, low), np.where(everywhere, INF, high)


class BoxPlaces(NamedTuple):
    """By the number of a box: the number of its part, and its place there."""

    part: Small
    place: Small


@dataclass(frozen=True)
class Plan:
    """The parts, and for each box by its number its query and its residue (-1 for none).

    A region of a `RegionPart` has the number of its box.
    """

    version: int
    ids: pa.Array
    parts: tuple[Part, ...]
    # The values of keys and strings; the place of a value is its code.
    dictionaries: dict[Attribute, pa.Array]
    query: Integers
    residue: Integers
    residues: Residues
    # Queries of several conjunctions can meet a row more than once.
    several: npt.NDArray[np.bool_]
    # The version that each query was registered with.
    since: Integers
    # The life time of each query, 0 for ever; the moment it ends at, NEVER for none; its least
    # accuracy where load is shed; and which of `uses` are the attributes it reads.
    lifetime: Integers
    until: Integers
    accuracy: Doubles
    use: Integers
    uses: tuple[frozenset[str], ...]
    # The centre (x, y) of each query, from which distances count, NaN for those without; no rows at
    # all where no query has one. See `model.centre_of`.
    centres: Doubles
    # The queries of the stream that emit something else, or join it.
    unanswered: pa.Array

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def has_several(self) -> bool:
        """Whether any query has several conjunctions."""
        return bool(self.several.any())

    @cached_property
    def has_ends(self) -> bool:
        """Whether any query ends at a moment."""
        return bool((self.until < NEVER).any())

    @cached_property
    def mortal(self) -> npt.NDArray[np.bool_]:
        """The queries that end by themselves. Computed once: every batch asks, for its hits."""
        found: npt.NDArray[np.bool_] = (self.lifetime > 0) | (self.until < NEVER)
        return found

    # The queries of a plan are looked up by ids, and its boxes by queries, only where queries are
    # registered and dropped. What that needs is made when it is first asked for.

    @cached_property
    def numbers(self) -> ValueIndex:
        """The number of each query by its id."""
        return ValueIndex(self.ids)

    @cached_property
    def known(self) -> dict[Attribute, ValueIndex]:
        """The code of each value, by attribute."""
        return {name: ValueIndex(values) for name, values in self.dictionaries.items()}

    @cached_property
    def guarded(self) -> Integers:
        """The queries with a least accuracy."""
        return np.flatnonzero(self.accuracy > 0)

    @cached_property
    def places(self) -> BoxPlaces:
        """Where boxes are."""
        part, place = (np.zeros(len(self.query), np.int32) for _ in range(2))
        for number, of in enumerate(self.parts):
            part[of.numbers] = number
            place[of.numbers] = np.arange(len(of.numbers), dtype=np.int32)
        return BoxPlaces(part, place)

    def boxes_of(self, queries: Integers) -> tuple[Integers, Integers]:
        """The boxes of these queries, and the place of the query of each: boxes are numbered in the
        order of their queries."""
        first, end = np.searchsorted(self.query, [queries, queries + 1])
        counts = end - first
        of = np.repeat(np.arange(len(queries)), counts)
        return np.arange(len(of)) + np.repeat(end - np.cumsum(counts), counts), of


def point_of(stream: Stream) -> tuple[Attribute, Attribute] | None:
    """The attributes that are the place of an object."""
    if stream.point is None:
        return None
    x, y = map(stream.attribute, stream.point)
    return x, y


def is_static(query: Query) -> bool:
    """Whether a row alone decides if it is in the query's answer."""
    return query.knn is None and not query.focals


def is_exact(values: Range) -> bool:
    """Whether float64 holds both bounds of an integer range."""
    return all(abs(b) < EXACT or abs(b) == INF for b in (values.lo, values.hi))

"""The rows of a batch beside those kept from before, and their attributes as keys.

A *stretch* is a run of one stream's rows in the order in which they are processed: first those that
windows still hold, then the fresh ones. Keys are int64 in the order of the values they stand for,
so that kernels compare nothing else, exactly: doubles by their bits, strings and mixed pairs of
integers and doubles by their rank among the values of both columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.joining.nearby import Points, points_of
from watchline.kernels.arrays import Integers, Mask
from watchline.model import Attribute, RangeWindow, Stream, Type, Window
from watchline.rows import Columns

# No window is longer than this, in microseconds or in rows.
LONGEST = 2**62


class Stretch(NamedTuple):
    """Rows of a stream. `first` is the place of rows[0] in the stream; those from `fresh` on are
    new, and `turns` has their turns among the new rows of all streams."""

    stream: Stream
    rows: pa.Table
    times: Integers
    first: int
    fresh: int
    turns: Integers

    def __len__(self) -> int:
        return len(self.times)


class Keys(NamedTuple):
    """A column as keys, and where it has a value that can be compared."""

    keys: Integers
    known: Mask


@dataclass
class JoinFrame:
    """The stretches of a batch; what is computed from them is computed once."""

    stretches: dict[str, Stretch]
    _columns: dict[str, Columns] = field(default_factory=dict)
    _keys: dict[tuple[str, str], Keys] = field(default_factory=dict)
    _linked: dict[tuple[str, Attribute, str, Attribute], tuple[Keys, Keys]] = field(
        default_factory=dict
    )
    _points: dict[tuple[str, tuple[Attribute, Attribute], bool], Points] = field(
        default_factory=dict
    )

    def columns(self, stream: str) -> Columns:
        if stream not in self._columns:
            stretch = self.stretches[stream]
            self._columns[stream] = Columns(stretch.rows, stretch.stream)
        return self._columns[stream]

    def keys(self, stream: str, attribute: Attribute) -> Keys:
        """A number or boolean as keys of its own."""
        found = self._keys.get((stream, attribute.name))
        if found is None:
            columns = self.columns(stream)
            found = Keys(ordered(columns.values(attribute)), columns.comparable(attribute))
            self._keys[stream, attribute.name] = found
        return found

    def linked(
        self, stream: str, left: Attribute, other: str, right: Attribute
    ) -> tuple[Keys, Keys]:
        """Two columns as keys that can be compared with each other."""
        place = (stream, left, other, right)
        if place not in self._linked:
            if Type.STRING in (left.type, right.type):
                found = self._coded(*place)
            elif (left.type is Type.DOUBLE) is (right.type is Type.DOUBLE):
                found = self.keys(stream, left), self.keys(other, right)
            else:
                found = self._ranked(*place)
            self._linked[place] = found
        return self._linked[place]

    def points(self, stream: str, point: tuple[Attribute, Attribute], on_earth: bool) -> Points:
        """The points of the rows of a stretch, for distances."""
        place = (stream, point, on_earth)
        if place not in self._points:
            self._points[place] = points_of(self.columns(stream), point, on_earth)
        return self._points[place]

    def _coded(
        self, stream: str, left: Attribute, other: str, right: Attribute
    ) -> tuple[Keys, Keys]:
        a, b = self.columns(stream).array(left), self.columns(other).array(right)
        coded = pa.concat_arrays([a, b]).dictionary_encode()
        codes = coded.indices.fill_null(0).to_numpy().astype(np.int64)
        known = coded.is_valid().to_numpy(zero_copy_only=False)
        return Keys(codes[: len(a)], known[: len(a)]), Keys(codes[len(a) :], known[len(a) :])

    def _ranked(
        self, stream: str, left: Attribute, other: str, right: Attribute
    ) -> tuple[Keys, Keys]:
        sides = ((self.columns(stream), left), (self.columns(other), right))
        known = [columns.comparable(attribute) for columns, attribute in sides]
        whole, rest = zip(
            *(whole_and_rest(c.values(a), k) for (c, a), k in zip(sides, known, strict=True)),
            strict=True,
        )
        both = np.stack([np.concatenate(whole), np.concatenate(rest)], axis=1)
        _, ranks = np.unique(both, axis=0, return_inverse=True)
        n = len(whole[0])
        ranks = ranks.reshape(-1).astype(np.int64)
        return Keys(ranks[:n], known[0]), Keys(ranks[n:], known[1])


def ordered(values: npt.NDArray[np.generic]) -> Integers:
    """Numbers as integers in their order; -0.0 is 0.0, and what is not finite is anything."""
    if values.dtype != np.float64:
        return values.astype(np.int64, copy=False)
    bits = (values + 0.0).view(np.int64)  # type: ignore[operator]
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def whole_and_rest(values: npt.NDArray[np.generic], known: Mask) -> tuple[Integers, Integers]:
    """The whole number below each value, and where it lies above that: 1 anywhere, -1 and 2 for
    doubles that no integer is as small or as large as."""
    if values.dtype != np.float64:
        return values.astype(np.int64, copy=False), np.zeros(len(values), np.int64)
    doubles = np.where(known, values, 0.0)
    below, above = doubles < -(2.0**63), doubles >= 2.0**63
    floor = np.floor(np.where(below | above, 0.0, doubles))
    rest = (doubles > floor).astype(np.int64)
    whole = floor.astype(np.int64)
    whole[below], whole[above] = -(2**63), 2**63 - 1
    rest[below], rest[above] = -1, 2
    return whole, rest


def allowed(left: Keys, rows: Integers, right: Keys, others: Integers, orders: int) -> Mask:
    """Whether the keys of rows stand in one of these orders to those of others, one by one."""
    x, y = left.keys[rows], right.keys[others]
    signs = (x > y).astype(np.int64) - (x < y)
    known = left.known[rows] & right.known[others]
    return known & ((orders >> (signs + 1)) & 1).astype(np.bool_)


class PartnerInterval(NamedTuple):
    """Of each trigger: the partners it may meet, rows[lo:hi] of their stretch."""

    lo: Integers
    hi: Integers


def partners_before(
    trigger: Stretch, rows: Integers, partner: Stretch, inclusive: bool
) -> Integers:
    """How many partners were processed when these rows came; in a self-join with themselves or
    not."""
    if trigger.stream.name == partner.stream.name:
        return rows + 1 if inclusive else rows
    turns = trigger.turns[rows - trigger.fresh]
    return partner.fresh + np.searchsorted(partner.turns, turns)


def partner_interval(
    trigger: Stretch, rows: Integers, partner: Stretch, window: Window, inclusive: bool, birth: int
) -> PartnerInterval:
    """The window of the partner's stream when these rows, all fresh, come."""
    hi = partners_before(trigger, rows, partner, inclusive)
    if isinstance(window, RangeWindow):
        length = min(window.length, LONGEST)
        # Not below the first moment there is.
        oldest = np.maximum(trigger.times[rows], length - 2**63) - length
        lo = np.searchsorted(partner.times, oldest)
    else:
        lo = newest_rank(trigger, rows, partner) - min(window.rows, LONGEST)
    lo = np.clip(lo, max(birth - partner.first, 0), None)
    return PartnerInterval(np.minimum(lo, hi).astype(np.int64), hi.astype(np.int64))


def newest_rank(trigger: Stretch, rows: Integers, partner: Stretch) -> Integers:
    """How many rows the partner's stretch has when these rows have come, themselves included."""
    return partners_before(trigger, rows, partner, True)

"""Which members' selections each row satisfies: a bit for every row and member.

A direction has two such sides, for the rows that come and for those that wait. The bits of a row
are found once, when it is first met, and kept beside it while windows hold it; a pair then
satisfies the members in the intersection of two rows' bits, sixty-four at a time. Numbers and
single strings are ranges of keys, compared by a kernel; any other atom is evaluated once for all
members that have it. Cost of a row: its members' ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchline.evaluate import holds
from watchline.joining.windows import JoinFrame, ordered
from watchline.kernels.arrays import Integers, Mask, Words
from watchline.kernels.compiled import kernel
from watchline.model import INF, Atom, Attribute, Conjunction, InRange, OneOf, Type

LOWEST, HIGHEST = -(2**63), 2**63 - 1
ALL = np.uint64(2**64 - 1)
# Bits that are kept from one batch to the next, in bytes of one side.
KEPT_BYTES = 1 << 25


class SelectionBounds(NamedTuple):
    """What the kernel reads: axis a of member m has keys from lo[a, m] to last[a, m]; `has` and
    `needs` are the members that ask for a value on an axis, or for an atom, as bits."""

    lo: Integers
    last: Integers
    has: Words
    needs: Words


class Side:
    """The selections of all members of a direction upon one of its streams."""

    def __init__(self, stream: str, members: Sequence[tuple[Atom, ...]]):
        self.stream, self.count = stream, len(members)
        self.words = max(-(-len(members) // 64), 1)
        axes: dict[Attribute, list[tuple[int, InRange | OneOf]]] = {}
        atoms: dict[Atom, list[int]] = {}
        for number, member in enumerate(members):
            for atom in member:
                if isinstance(atom, InRange) or (isinstance(atom, OneOf) and _is_one_string(atom)):
                    axes.setdefault(atom.attribute, []).append((number, atom))
                else:
                    atoms.setdefault(atom, []).append(number)
        self._axes = list(axes)
        self._strings = {a: _strings(of) for a, of in axes.items() if a.type is Type.STRING}
        self._atoms = list(atoms)
        self._bounds = self._bounded(list(axes.values()), list(atoms.values()))
        self._kept: tuple[int, Words] | None = None

    def _bounded(
        self, axes: list[list[tuple[int, InRange | OneOf]]], atoms: list[list[int]]
    ) -> SelectionBounds:
        shape = (len(axes), 64 * self.words)
        lo, last = np.full(shape, LOWEST), np.full(shape, HIGHEST)
        has = np.zeros((len(axes), self.words), np.uint64)
        needs = np.zeros((len(atoms), self.words), np.uint64)
        for a, listed in enumerate(axes):
            numbers = [number for number, _ in listed]
            lo[a, numbers], last[a, numbers] = self._ends([atom for _, atom in listed])
            _set_bits(has[a], numbers)
        for a, numbers in enumerate(atoms):
            _set_bits(needs[a], numbers)
        return SelectionBounds(lo, last, has, needs)

    def _ends(self, atoms: list[InRange | OneOf]) -> tuple[Any, Any]:
        """The first and the last key of each, all upon one attribute."""
        attribute = atoms[0].attribute
        if attribute in self._strings:
            codes = {name: i for i, name in enumerate(self._strings[attribute])}
            found = [codes[str(atom.values[0])] for atom in atoms if isinstance(atom, OneOf)]
            return found, found
        ranges = [atom.range for atom in atoms if isinstance(atom, InRange)]
        if attribute.type is not Type.DOUBLE:
            first = [LOWEST if r.lo == -INF else int(r.lo) for r in ranges]
            return first, [HIGHEST if r.hi == INF else int(r.hi) - 1 for r in ranges]
        lo, hi = np.array([(r.lo, r.hi) for r in ranges], np.float64).T
        ends = ordered(lo), ordered(hi) - 1
        return np.where(lo == -INF, LOWEST, ends[0]), np.where(hi == INF, HIGHEST, ends[1])

    def bits(self, frame: JoinFrame) -> Words:
        """Of every row of the stretch; those of rows that were there before are known."""
        stretch = frame.stretches[self.stream]
        found = np.empty((len(stretch), self.words), np.uint64)
        known = 0
        if self._kept is not None:
            first, old = self._kept
            skipped = stretch.first - first
            if 0 <= skipped <= len(old):
                known = min(len(old) - skipped, len(stretch))
                found[:known] = old[skipped : skipped + known]
        if known < len(stretch):
            found[known:] = self._computed_bits(frame, known)
        self._kept = (stretch.first, found) if found.nbytes <= KEPT_BYTES else None
        return found

    def fresh_bits(self, frame: JoinFrame) -> Words:
        """Of the fresh rows only, which are the triggers."""
        stretch = frame.stretches[self.stream]
        return self._computed_bits(frame, stretch.fresh)

    def _computed_bits(self, frame: JoinFrame, start: int) -> Words:
        columns = frame.columns(self.stream)
        rows = np.arange(start, len(columns))
        keys = np.empty((len(self._axes), len(rows)), np.int64)
        known = np.empty((len(self._axes), len(rows)), np.bool_)
        for a, attribute in enumerate(self._axes):
            if attribute in self._strings:
                keys[a] = self._codes(columns.array(attribute).slice(start), attribute)
                known[a] = True
            else:
                column = frame.keys(self.stream, attribute)
                keys[a], known[a] = column.keys[start:], column.known[start:]
        some = columns.take(rows)
        true = np.empty((len(self._atoms), len(rows)), np.bool_)
        for a, atom in enumerate(self._atoms):
            true[a] = holds((Conjunction((atom,)),), some)
        found = np.empty((len(rows), self.words), np.uint64)
        _fill(self._bounds, keys, known, true, members_mask(self.count, self.words), found)
        return found

    def _codes(self, column: pa.Array, attribute: Attribute) -> Integers:
        strings = pa.array(self._strings[attribute], pa.string())
        return pc.index_in(column, value_set=strings).fill_null(-1).to_numpy().astype(np.int64)


def members_mask(count: int, words: int) -> Words:
    """A bit for each member there is."""
    mask = np.full(words, ALL)
    if count < 64 * words:
        mask[-1] = (np.uint64(1) << np.uint64(count % 64)) - np.uint64(1)
    return mask


def _is_one_string(atom: Atom) -> bool:
    return isinstance(atom, OneOf) and atom.attribute.type is Type.STRING and len(atom.values) == 1


def _strings(of: list[tuple[int, InRange | OneOf]]) -> list[str]:
    return sorted({str(atom.values[0]) for _, atom in of if isinstance(atom, OneOf)})


def _set_bits(words: Words, numbers: list[int]) -> None:
    at = np.array(numbers, np.int64)
    np.bitwise_or.at(words, at // 64, np.uint64(1) << (at % 64).astype(np.uint64))


@kernel
def _fill(
    bounds: SelectionBounds, keys: Integers, known: Mask, true: Mask, members: Words, found: Words
) -> None:
    lo, last = bounds.lo, bounds.last
    axes, words = len(lo), found.shape[1]
    for w in range(words):
        first = 64 * w
        for i in range(len(found)):
            word = members[w]
            for a in range(axes):
                if bounds.has[a, w] == 0:
                    continue
                if known[a, i]:
                    end = first + 64
                    word &= _within(lo[a, first:end], last[a, first:end], keys[a, i])
                else:
                    word &= ~bounds.has[a, w]
            for a in range(len(true)):
                if not true[a, i]:
                    word &= ~bounds.needs[a, w]
            found[i, w] = word


@kernel(inline="always")
def _within(lo: Integers, last: Integers, key: int) -> np.uint64:
    word = np.uint64(0)
    for b in range(64):
        inside = np.uint64((lo[b] <= key) & (key <= last[b]))
        word |= inside << np.uint64(b)
    return word

"""Filters: what moving and nearest-neighbour queries ask of an object besides its distance.

The conditions of such queries are themselves standing queries, each kept once however many share
it. A row meets all of them through the index, and what it satisfies are the bits of a line. Cost:
the matches of a row, not the filters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from watchline.evaluate import Columns
from watchline.matching import Base, base_of, match, plan_all
from watchline.model import Emit, Query, Source, Stream
from watchline.moving.queries import Filter
from watchline.moving.tables import Integers, Words

BITS = 64


class Filters:
    """Filters have numbers, which are used again when nobody uses them any more."""

    def __init__(self, stream: Stream):
        self._stream = stream
        self._numbers: dict[Filter, int] = {}
        self._uses: list[int] = []
        self._base: Base | None = None

    @property
    def words(self) -> int:
        return max(1, -(-len(self._uses) // BITS))

    def acquire(self, wanted: Integers, filters: Sequence[Filter]) -> tuple[Integers, bool]:
        """The numbers of filters, -1 for none, and whether some are new."""
        # Some may be of queries that are no more: what nobody wants gets no number.
        asked = (filters[i] for i in np.unique(wanted[wanted >= 0]).tolist())
        new = [f for f in asked if f not in self._numbers]
        free = (n for n, uses in enumerate(self._uses) if not uses)
        for found in new:
            number = next(free, len(self._uses))
            if number == len(self._uses):
                self._uses.append(0)
            # Until they are counted below they must not look free.
            self._uses[number] += 1
            self._numbers[found] = number
        known = [self._numbers.get(f, -1) for f in filters]
        numbers = np.array([*known, -1], dtype=np.int64)[wanted]
        self._count(numbers, 1)
        for found in new:
            self._uses[self._numbers[found]] -= 1
        if new:
            self._base = None
        return numbers, bool(new)

    def release(self, numbers: Integers) -> None:
        self._count(numbers, -1)
        unused = {f: n for f, n in self._numbers.items() if not self._uses[n]}
        for found in unused:
            del self._numbers[found]
        if unused:
            self._base = None

    def _count(self, numbers: Integers, by: int) -> None:
        found, counts = np.unique(numbers[numbers >= 0], return_counts=True)
        for number, count in zip(found.tolist(), counts.tolist(), strict=True):
            self._uses[number] += by * count

    def bits(self, columns: Columns) -> Words:
        """A line for each row."""
        bits = np.zeros((len(columns), self.words), dtype=np.uint64)
        if not self._numbers or not len(columns):
            return bits
        base = self._built()
        rows, found = match(base, columns, base.searches)
        numbers = np.array(list(self._numbers.values()), dtype=np.int64)[found]
        places = rows * self.words + numbers // BITS
        np.bitwise_or.at(
            bits.reshape(-1), places, np.uint64(1) << (numbers % BITS).astype(np.uint64)
        )
        return bits

    def _built(self) -> Base:
        if self._base is None:
            queries = (
                Query(
                    str(number),
                    (Source(self._stream.name),),
                    where=f.where,
                    region=f.region,
                    emit=Emit.CHANGES,
                )
                for f, number in self._numbers.items()
            )
            self._base = base_of(plan_all(queries, self._stream), self._stream)
        return self._base

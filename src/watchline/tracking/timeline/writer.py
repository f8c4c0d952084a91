"""What the nearest-neighbour queries of one part did in a batch, for the merge of all parts.

A timeline has what versions and events did to the k nearest of queries; a whole one begins with
the k nearest that each query had. The cost of another one follows what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from watchline.kernels.arrays import Integers
from watchline.proximity import ADD, FIRST, Operator
from watchline.tracking.objects import RowSource
from watchline.tracking.timeline.format import PLAIN, QUERIES, RECORDS, STEP, Timeline, event_schema

BEGIN = -1
# Centres of queries by their ids; a query without one is left out.
Centres = dict[str, tuple[float, float]]


class TimelineEvents(NamedTuple):
    """Events in their order: when, of what kind, whose row, which of its rows of that moment, and
    the newest time of the stream then."""

    time: Integers
    kind: Integers
    cause: pa.Array
    place: Integers
    newest: Integers


class TimelineWriter:
    """Lines of queries, and chunks of records with the events and rows that these mean."""

    def __init__(self, operator: Operator, rows: RowSource, is_whole: bool):
        self._kind = operator.kind
        self._no_rows = rows.working.slice(0, 0)
        self._ids: list[str] = []
        self._columns: list[npt.NDArray[np.float64]] = []
        self._line: dict[str, int] = {}
        # Ids whose line now is of a query that is not ranked.
        self._plain: set[str] = set()
        self._events: list[TimelineEvents] = []
        self._records: list[tuple[Integers, ...]] = []
        self._rows: list[pa.Table] = []
        if is_whole:
            ranked = operator.ranked()
            self.register([operator.ids[q] for q in ranked.tolist()], operator.centres(ranked))
            owner, row = operator.nearest(ranked)
            self.record(np.full(len(owner), BEGIN), owner, np.full(len(owner), ADD), row, rows)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was recorded."""
        return not self._records

    def register(self, ids: list[str], columns: npt.NDArray[np.float64]) -> None:
        """Queries by their ids, with k and the centre, NaN while there is none."""
        first = len(self._ids)
        self._line.update({name: first + i for i, name in enumerate(ids)})
        self._plain -= set(ids)
        self._ids += ids
        self._columns.append(columns)

    def begin(self, ids: list[str], columns: npt.NDArray[np.float64]) -> None:
        """Queries that were there when the batch began, with k and the centre of then, unless they
        have a line."""
        new = [i for i, name in enumerate(ids) if name not in self._line]
        self.register([ids[i] for i in new], columns[new])

    def leave_plain(
        self, dropped: Iterable[str], ranked: set[str], centres_of: Callable[[set[str]], Centres]
    ) -> tuple[set[str], set[str]]:
        """Of ids that are dropped and are not ranked: those with a line, and those that have one
        from now on, because the query that comes is ranked. These were so when all began.
        `centres_of` gives the centres of queries that are dropped."""
        ids = set(dropped)
        known = ids & self._plain
        self._plain -= known
        new = ids & ranked - self._line.keys()
        self._register_plain(new, centres_of)
        return known, new

    def enter_plain(self, ids: set[str], centres_of: Callable[[set[str]], Centres]) -> set[str]:
        """Of ids that come and are not ranked: those that were, since all began. `centres_of` gives
        the centres of queries that come."""
        again = ids & self._line.keys()
        self._register_plain(again, centres_of)
        self._plain |= again
        return again

    def _register_plain(self, ids: set[str], centres_of: Callable[[set[str]], Centres]) -> None:
        if not ids:
            return
        centres, names = centres_of(ids), sorted(ids)
        nowhere = np.nan, np.nan
        lines = [(float(PLAIN), *centres.get(name, nowhere)) for name in names]
        self.register(names, np.array(lines))

    def lines(self, ids: list[str]) -> Integers:
        return np.array([self._line[name] for name in ids], dtype=np.int64)

    def add_version(self, version: int, newest: int | None) -> int:
        """The number of the event that a version is."""
        one = np.ones(1, np.int64)
        time = 0 if newest is None else newest
        nobody = pa.nulls(1, self._kind)
        return self.add_events(
            TimelineEvents(FIRST * one, STEP * one, nobody, version * one, time * one)
        )

    def add_events(self, events: TimelineEvents) -> int:
        """The number of the first of these events."""
        self._events.append(events)
        return sum(len(e.time) for e in self._events[:-1])

    def record(
        self,
        event: Integers,
        line: Integers,
        what: npt.NDArray[np.int8],
        row: Integers,
        rows: RowSource,
    ) -> None:
        """Add what was done to queries by their lines, and to whose row, by its reference."""
        if not len(event):
            return
        before = sum(map(len, self._rows))
        meant = row != -1
        used, places = np.unique(row[meant], return_inverse=True)
        self._rows.append(rows.take(used))
        placed = np.full(len(row), -1)
        placed[meant] = before + places
        self._records.append((event, line, what.astype(np.int64), placed))

    def finish(self) -> Timeline:
        """All that was recorded."""
        columns = np.concatenate([np.empty((0, 3)), *self._columns])
        k, x, y = columns[:, 0].astype(np.int64), columns[:, 1], columns[:, 2]
        queries = pa.table([pa.array(self._ids, pa.string()), k, x, y], schema=QUERIES)
        events = [
            pa.table(
                [e.time, e.kind.astype(np.int8), e.cause, e.place, e.newest],
                schema=event_schema(self._kind),
            )
            for e in self._events
        ]
        nothing = (np.empty(0, np.int64),) * len(RECORDS)
        every = zip(nothing, *self._records, strict=True)
        records = [np.concatenate(column) for column in every]
        kinds = [field.type.to_pandas_dtype() for field in RECORDS]
        return Timeline(
            queries,
            pa.concat_tables([self._no_rows, *self._rows]),
            pa.concat_tables([event_schema(self._kind).empty_table(), *events]),
            pa.table(
                [c.astype(kind) for c, kind in zip(records, kinds, strict=True)], schema=RECORDS
            ),
        )

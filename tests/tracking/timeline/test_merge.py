"""The merge of the shards' k nearest gives the oracle's ledger, event by event.

The oracle runs the script; after each of its events the k nearest of every shard are found by brute
force, and what changed there becomes that shard's timeline.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import reference
from tests.support.effort import examples
from tests.support.ledgers import ARROW, NAMES
from watchline.model import Attribute, Stream, Type
from watchline.proximity import tables
from watchline.reasons import REASONS
from watchline.tracking.timeline import format as m
from watchline.tracking.timeline.reader import MergedChanges, merge_timelines

FIRST = -(2**63)
ATTRIBUTES = [("x", "DOUBLE"), ("y", "DOUBLE"), ("n", "BIGINT"), ("ts", "TIMESTAMP")]
IDS = {"BIGINT": [3, -1, 2**63 - 1, -(2**63), 0, 7, 12], "STRING": NAMES[:7]}
# Query, sign, object, time, reason, the row.
Told = tuple[Any, ...]


def stream(kind: str) -> Stream:
    declared = [("id", kind), *ATTRIBUTES]
    attributes = tuple(Attribute(name, Type(of)) for name, of in declared)
    return Stream("cars", attributes, "id", "ts", ("x", "y"))


# --- shards, by brute force


class Shard:
    """Its k nearest of each line, and its timeline since `begin`."""

    def __init__(self) -> None:
        self.nearest: dict[int, dict[Any, int]] = {}
        self.centres: dict[int, int | None] = {}
        self.begin([])

    def begin(self, lines: list[int]) -> None:
        self.lines = list(lines)
        self.events: list[tuple[Any, ...]] = []
        self.records: list[tuple[int, int, int, int]] = []
        for line, held in self.nearest.items():
            self.records += [(-1, line, tables.ADD, row) for row in held.values()]

    def happen(self, event: tuple[Any, ...], records: list[tuple[int, int, int]]) -> None:
        if records:
            self.records += [(len(self.events), *record) for record in records]
            self.events.append(event)


class Shards(reference.Ledger):
    """An oracle that tells the timelines of so many shards.

    A line is a registration of a query; a row is a place in `rows`, where each is once.
    """

    def __init__(self, kind: str, shards: int, timeout: int | None):
        declared = [("id", kind), *ATTRIBUTES]
        super().__init__(reference.StreamSpec("id", "ts", declared, ("x", "y"), timeout))
        self.kind = kind
        self.shards = [Shard() for _ in range(shards)]
        self.rows: list[reference.Row] = []
        self.place: dict[Any, int] = {}
        self.specs: list[reference.QuerySpec] = []
        self.open: dict[str, int] = {}
        self.steps = 0
        self.begin()

    def begin(self) -> None:
        """A batch begins."""
        lines = sorted(self.open.values())
        self.lines = lines
        self.began = {line: self._centre(line) for line in lines}
        self.seen: Counter[Any] = Counter()
        for shard in self.shards:
            shard.begin(lines)

    def shard_of(self, object_id: Any) -> int:
        return sum(repr(object_id).encode()) * 5 % 7 % len(self.shards)

    # What happens

    def version(self, drops: Iterable[str] = (), adds: Any = ()) -> list[reference.Change]:
        self.steps += 1
        drops, adds = list(drops), list(adds)
        for query in adds:
            self.lines.append(len(self.specs))
            self.specs.append(query)
        self.key = (FIRST, m.STEP, None, self.steps)
        return super().version(drops, adds)

    def _row(self, row: reference.Row) -> list[reference.Change]:
        self.row = row
        return super()._row(row)

    def _start(self, object_id: Any, time: int) -> set[str]:
        # The row is accepted, and what was due before it is done.
        self.place[object_id] = len(self.rows)
        self.rows.append(self.row)
        self.seen[self.row["ts"], object_id] += 1
        self.key = (self.row["ts"], tables.ROW, object_id, self.seen[self.row["ts"], object_id])
        return super()._start(object_id, time)

    def _settle(
        self, time: int, left: str, entered: str, started: Iterable[str] = ()
    ) -> list[reference.Change]:
        if left == "expired":
            [gone] = {o for o in self.known if o not in self.live}
            self.key = (time, tables.TIMEOUT, gone, 0)
        elif left == "dropped" and entered == "enter":
            # Shards may number ends as they like.
            self.key = (time, tables.END, None, random.randrange(9))
        self.known = set(self.live)
        by_id = {s.id: i for i, s in enumerate(self.specs)}
        self.open = {name: by_id[name] for name in self.queries}
        event = (*self.key, self.newest or 0)
        for number, shard in enumerate(self.shards):
            shard.happen(event, self._records(number, shard, set(started)))
        return super()._settle(time, left, entered, started)

    def _centre(self, line: int) -> int | None:
        """The row of a moving query's centre, if it has one."""
        query = self.specs[line]
        if self.waiting[query.id] or not query.focals() <= self.live:
            return None
        return self.place[query.knn[2]] if query.knn and query.knn[0] == "mknn" else None

    def _nearest(self, line: int, shard: int) -> dict[Any, int]:
        """The shard's k nearest: its objects are all there are."""
        query, live = self.specs[line], self.live
        own = {o for o in live if self.shard_of(o) == shard}
        if self.waiting[query.id] or not query.focals() <= live:
            return {}
        self.live = own | query.focals()
        try:
            return {name: self.place[name] for name in self._answer(query)}
        finally:
            self.live = live

    def _records(self, number: int, shard: Shard, started: set[str]) -> list[tuple[int, int, int]]:
        found = []
        now = {line: self._nearest(line, number) for line in self.open.values()}
        for line in sorted(now.keys() | shard.nearest.keys()):
            old, new = shard.nearest.get(line, {}), now.get(line, {})
            found += [(line, tables.REMOVE, self.place[o]) for o in old.keys() - new.keys()]
            found += [(line, tables.ADD, new[o]) for o in new.keys() - old.keys()]
            both = old.keys() & new.keys()
            found += [(line, tables.REFRESH, new[o]) for o in both if old[o] != new[o]]
        for name, line in self.open.items():
            centre = self._centre(line)
            before = shard.centres.get(line)
            if centre is not None and centre != before:
                found.append((line, tables.CENTRE, centre))
            elif centre is None and before is not None:
                found.append((line, tables.CLOSE, -1))
            shard.centres[line] = centre
            if name in started:
                found.append((line, tables.FRESH, -1))
        shard.nearest = now
        return found

    # What is sent

    def timeline(self, shard: Shard) -> m.Timeline:
        """Records in any order; only the rows they mean."""
        of_line = {line: i for i, line in enumerate(self.lines)}
        used = sorted({row for *_, row in shard.records if row >= 0}, reverse=True)
        of_row = {row: i for i, row in enumerate(used)} | {-1: -1}
        records = [(e, of_line[q], op, of_row[row]) for e, q, op, row in shard.records]
        random.shuffle(records)
        queries = [(self.specs[i].id, self.specs[i].knn[1], *self._began(i)) for i in self.lines]  # type: ignore[index]
        of = ARROW[self.kind]
        return m.Timeline(
            table(queries, m.QUERIES), self.table(used), table(shard.events, m.event_schema(of)),
            table(records, m.RECORDS),
        )  # fmt: skip

    def _began(self, line: int) -> tuple[float, float]:
        kind, _, *centre = self.specs[line].knn or ()
        if kind == "knn":
            return (centre[0], centre[1])
        row = self.began.get(line)
        return (np.nan, np.nan) if row is None else (self.rows[row]["x"], self.rows[row]["y"])

    def table(self, places: list[int]) -> pa.Table:
        declared = [("id", self.kind), *ATTRIBUTES]
        return pa.table(
            {n: pa.array([self.rows[p][n] for p in places], ARROW[of]) for n, of in declared}
        )


def table(rows: list[Any], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )


def listed(merged: MergedChanges) -> list[Told]:
    shown = merged.rows.take(pa.array(merged.places))
    shown = shown.set_column(4, "ts", shown["ts"].cast(pa.int64())).to_pylist()
    own = zip(merged.queries.to_pylist(), merged.signs.tolist(), shown, merged.times.tolist(),
              merged.reasons.tolist(), merged.distances.tolist(), strict=True)  # fmt: skip
    return [(q, s, r["id"], t, REASONS[why], (far, *r.values())) for q, s, r, t, why, far in own]


def wanted(changes: list[reference.Change]) -> list[Told]:
    names = ["id", *(name for name, _ in ATTRIBUTES)]
    return [
        (
            *(c.query_id, c.sign, c.object_id, c.time, c.reason),
            (c.distance, *(c.row[n] for n in names)),
        )
        for c in changes
    ]


# --- scripts: few values, so that things meet

places = st.sampled_from([0.0, 1.0, -1.0, 2.0, 3.0, 1e200, -1e-200])


@st.composite
def specs(draw: st.DrawFn, kind: str) -> reference.QuerySpec:
    focals = st.sampled_from(IDS[kind][:3])
    k = draw(st.sampled_from([1, 2, 3, 20]))
    still = st.tuples(st.just("knn"), st.just(k), places, places)
    moving = st.tuples(st.just("mknn"), st.just(k), focals)
    region = st.just(("box", -1.0, -1.0, 2.5, 2.5)) | st.tuples(
        st.just("mcircle"), focals, st.just(2.0)
    )
    return reference.QuerySpec(
        draw(st.sampled_from(["a", "b", "ä", "\U00010000", "\ue000"])),
        draw(st.sampled_from([("true",), ("cmp", ">", ("attr", "n"), ("const", 0))])),
        draw(st.none() | region),
        draw(still | moving),
        draw(st.none() | st.sampled_from([2, 5])),
    )


@st.composite
def batches(draw: st.DrawFn, kind: str) -> tuple[list[Any], list[reference.Row]]:
    """Versions (a spec: registered or replaced; a string: dropped), and rows."""
    drops = st.sampled_from(["a", "b", "ä"])
    row = st.fixed_dictionaries(
        {
            "id": st.sampled_from(IDS[kind]),
            "x": places,
            "y": places,
            "n": st.integers(0, 1),
            "ts": st.integers(0, 8),
        }
    )
    versions = draw(st.lists(specs(kind) | drops, max_size=4))
    return versions, draw(st.lists(row, max_size=12))


@pytest.mark.parametrize("kind", ["BIGINT", "STRING"])
@given(data=st.data(), shards=st.integers(1, 4), parts=st.integers(1, 3))
@settings(deadline=None, max_examples=examples(120))
def test_merged_is_the_ledger(kind: str, data: st.DataObject, shards: int, parts: int) -> None:
    ledger = Shards(kind, shards, data.draw(st.sampled_from([None, 2, 4])))
    start = 0
    for versions, rows in data.draw(st.lists(batches(kind), min_size=1, max_size=5)):
        # Some rows are older than others before them.
        start += data.draw(st.integers(0, 5))
        rows = [row | {"ts": start + row["ts"]} for row in rows]
        agree(ledger, versions, rows, parts)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shards"), [("BIGINT", 1), ("STRING", 2), ("BIGINT", 7)])
def test_many_objects_and_large_answers(kind: str, shards: int) -> None:
    """So many candidates that they are sorted, on a coarse grid: distances tie."""
    draw = random.Random(shards)
    ids: list[Any] = [i if kind == "BIGINT" else f"car {i}" for i in range(60)]
    ledger = Shards(kind, shards, 600)
    told: Counter[str] = Counter()
    for turn in range(3):
        knn: list[Any] = [("knn", draw.choice([3, 20, 50]), 5.0, 5.0) for _ in range(4)]
        knn += [("mknn", draw.choice([3, 20, 50]), draw.choice(ids[:9])) for _ in range(4)]
        names = draw.sample([f"q{i}" for i in range(12)], len(knn))
        versions = [reference.QuerySpec(n, knn=k) for n, k in zip(names, knn, strict=True)]
        rows = [
            {"id": draw.choice(ids), "x": float(draw.randrange(9)), "y": float(draw.randrange(9)),
             "n": 0, "ts": 300 * turn + draw.randrange(400)}
            for _ in range(100)
        ]  # fmt: skip
        told.update(c.reason for c in agree(ledger, versions, rows, 3))
    assert min(told[why] for why in ("enter", "exit", "registered", "dropped", "expired")) > 10


def agree(
    ledger: Shards, versions: list[Any], rows: list[reference.Row], parts: int
) -> list[reference.Change]:
    """One batch: merged is what the oracle says, in its order."""
    right = []
    for query in versions:
        if isinstance(query, str):
            right += ledger.drop(query)
        else:
            drops = [query.id] if query.id in ledger.registered else []
            right += ledger.version(drops, [query])
    right += ledger.process(rows)
    timelines = [ledger.timeline(shard) for shard in ledger.shards]
    ledger.begin()
    merged = merge_timelines(timelines, stream(ledger.kind))
    assert listed(merged) == wanted(right)
    assert merged.after.sizes.sum() == sum(map(len, ledger.answers.values()))
    in_parts(timelines, stream(ledger.kind), parts, merged)
    return right


def in_parts(
    timelines: list[m.Timeline], declared: Stream, parts: int, whole: MergedChanges
) -> None:
    """Split by query, sent, and merged by part: the same."""
    boxes: list[list[m.Timeline]] = [[] for _ in range(parts)]
    for timeline in timelines:
        ids = timeline.queries["id"].to_pylist()
        targets = np.array([len(i.encode()) * 3 % 5 % parts for i in ids], dtype=np.int64)
        for box, part in zip(boxes, m.split_timeline(timeline, targets, parts), strict=True):
            if part.records.num_rows:
                box.append(m.unpack_timeline(m.pack_timeline(part)))
            assert part.rows.num_rows <= part.records.num_rows
    merged = [merge_timelines(box, declared) for box in boxes if box]
    assert Counter(c for part in merged for c in listed(part)) == Counter(listed(whole))
    assert sum(part.after.sizes.sum() for part in merged) == whole.after.sizes.sum()

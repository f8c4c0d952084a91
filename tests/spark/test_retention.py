"""Significant objects and load shedding on Spark: as one tracker does it, through restarts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import watchline as wl
from tests import reference
from tests.support.ledgers import (
    QUERIES,
    SECOND,
    Asked,
    Row,
    declaration,
    fleet,
    moving,
    replayed,
    same,
    spec,
    table,
    told,
)
from tests.support.streaming import Stream, metrics, wanted
from watchline.catalog import Catalog
from watchline.errors import InvalidQuery, InvalidRange

pytestmark = pytest.mark.spark

TIMEOUT = 20 * SECOND
RANGES = [asked for asked in [*QUERIES, *moving("BIGINT")] if asked.knn is None]


def catalog_of(folder: Path, clauses: str, queries: list[Asked]) -> Catalog:
    made = Catalog(folder / "catalog")
    text = f"{declaration('BIGINT', TIMEOUT)} {clauses}"
    made.execute("; ".join([text, *(asked.text for asked in queries)]))
    return made


def in_order(rows: list[Row]) -> list[Row]:
    """Without rows that have no time, by time: none is late."""
    return sorted((r for r in rows if r["ts"] is not None), key=lambda r: r["ts"])


def pieces(rows: list[Row], size: int = 60) -> list[list[Row]]:
    return [rows[i : i + size] for i in range(0, len(rows), size)]


@pytest.mark.parametrize(
    ("clauses", "keep"), [("RETAIN SIGNIFICANT CACHE 0.25", {}), ("", {"cache": 0.5})]
)
def test_only_significant_objects_are_kept(stream: Stream, clauses: str, keep: Any) -> None:
    """In two shards, as declared or as the run says."""
    catalog = catalog_of(stream.folder, clauses, RANGES)
    rows = pieces(in_order(fleet(300, seed=31)))
    for piece in rows:
        stream.put(piece)
    said = {"retain": "significant", **keep} if keep else {}
    query = stream.run(wl.changes(stream.rows(1), catalog, "cars", 2, **said))
    ledger = reference.Significant(spec("BIGINT", TIMEOUT), keep.get("cache", 0.25), None)
    ledger.version(adds=[asked.spec for asked in RANGES])
    right, objects = [], []
    for piece in rows:
        right += wanted(ledger.process(piece))
        objects.append(len(ledger.live))
    same(stream.told(), right)
    assert [m["objects"] for m in metrics(query)] == objects
    exact = reference.Ledger(spec("BIGINT", TIMEOUT))
    exact.process([row for piece in rows for row in piece])
    assert objects[-1] < len(exact.live)


# A smaller region pays only where no other query looks at what it lets go.
WIDE = [Asked("wide", "INSIDE (0, 0, 100, 100)", region=("box", 0.0, 0.0, 100.0, 100.0))]
SHED = {"objects": [*QUERIES, *moving("BIGINT")], "queries": WIDE}


@pytest.mark.parametrize("shed", ["objects", "queries"])
def test_shedding_in_two_shards(stream: Stream, shed: str) -> None:
    """Each has its bound; what they tell together alternates."""
    catalog = catalog_of(stream.folder, "RETAIN SIGNIFICANT CACHE 0.5 MAX OBJECTS 5", SHED[shed])
    for piece in pieces(in_order(fleet(400, seed=33))):
        stream.put(piece)
    query = stream.run(wl.changes(stream.rows(1), catalog, "cars", 2, shed=shed))
    found = stream.told()
    last = metrics(query)[-1]
    assert sum(map(len, replayed(found).values())) == last["answers"]
    assert last["objects"] <= 10 or last["over_limit"]
    assert last["accuracy"] < 1
    assert "shed" in {change[4] for change in found}


@pytest.mark.parametrize("shed", ["objects", "queries"])
def test_shedding_goes_on_after_a_restart(
    stream: Stream, new_workers: Callable[[], None], shed: str
) -> None:
    """Workers that know nothing have it all from the state; the counters tell what was given up."""
    catalog = catalog_of(stream.folder, "RETAIN SIGNIFICANT CACHE 0.5 MAX OBJECTS 9", SHED[shed])
    rows = pieces(in_order(fleet(400, seed=32)))
    tracker = wl.Tracker(catalog, "cars", shed=shed)
    right, counted = [], []
    names = (
        "objects",
        "shed",
        "shadow",
        "over_limit",
        "too_fast",
        "answers",
        "bytes",
        "accuracy",
        "least",
    )
    before = dict.fromkeys(names, 0)
    for i, piece in enumerate(rows):
        right += told(tracker.process(table(piece, "BIGINT")))
        stats = tracker.stats()
        sums = {name: stats[name] - before[name] for name in ("shed", "over_limit", "too_fast")}
        before = stats
        stream.put(piece)
        if i in (1, 4, len(rows) - 1):
            new_workers()
            query = stream.run(wl.changes(stream.rows(1), catalog, "cars", 1, shed=shed))
            counted.append((metrics(query)[-1], {**{n: stats[n] for n in names}, **sums}))
    found = stream.told()
    same(found, right)
    replayed(found)
    for mine, wanted_ in counted:
        assert {name: mine[name] for name in wanted_} == wanted_
    assert tracker.stats()["accuracy"] < 1
    assert "shed" in {change[4] for change in right}


def test_mistakes_are_refused_before_anything_runs(stream: Stream) -> None:
    catalog = catalog_of(stream.folder, "", RANGES[:1])
    with pytest.raises(InvalidQuery, match="retain is 'all' or 'significant'"):
        wl.changes(stream.rows(), catalog, "cars", retain="few")
    with pytest.raises(InvalidQuery, match="max_objects goes with retain = 'significant'"):
        wl.changes(stream.rows(), catalog, "cars", max_objects=5)
    with pytest.raises(InvalidRange, match="room for one object"):
        wl.changes(stream.rows(), catalog, "cars", retain="significant", cache=0, max_objects=0)

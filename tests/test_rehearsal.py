"""A rehearsal compiles what a job needs: rows that meet its queries, through the same engines."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from watchline import rehearsal
from watchline.catalog import Catalog
from watchline.joining import Joiner
from watchline.tracking import Tracker, prepare_changes

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, kind STRING, busy BOOLEAN, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 90 SECONDS"
)
TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, n BIGINT, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)
STANDING = [
    "CREATE QUERY box AS SELECT * FROM cars INSIDE (100, 100, 101, 102)",
    "CREATE QUERY trucks AS SELECT * FROM cars WHERE kind = 'truck' INSIDE (100, 100, 130, 130)",
    "CREATE QUERY circle AS SELECT * FROM cars INSIDE CIRCLE (100.5, 100.5, 4)",
]
MOVING = [
    "CREATE QUERY convoy AS SELECT * FROM cars INSIDE ('M', 7, 9, 9)",
    "CREATE QUERY taxis AS SELECT * FROM cars WHERE kind = 'truck' kNN ('M', 3, 12)",
    "CREATE QUERY rank AS SELECT * FROM cars kNN (3, 100, 100)",
]


def test_queries_are_dealt_to_the_two_parts() -> None:
    catalog = Catalog.of([CARS, *STANDING, *MOVING])
    lo = np.arange(5.0)
    catalog.register_boxes("cars", [f"b{i}" for i in range(5)], {"x": (lo, lo + 1)})
    queries = catalog.queries()
    moving, standing = (rehearsal.part_of(queries, kind) for kind in (True, False))
    assert set(moving.ids()) == {"convoy", "taxis", "rank"}
    assert set(standing.ids()) == {"box", "trucks", "circle", *(f"b{i}" for i in range(5))}


def test_jobs_of_the_same_kinds_need_one_rehearsal() -> None:
    first = Catalog.of([CARS, *STANDING])
    again = Catalog.of([CARS, STANDING[0].replace("101", "190"), STANDING[2], STANDING[1]])
    more = Catalog.of([CARS, *STANDING, MOVING[0]])
    assert rehearsal.kinds(first.queries()).key == rehearsal.kinds(again.queries()).key
    assert rehearsal.kinds(first.queries()).key != rehearsal.kinds(more.queries()).key
    lo = np.arange(5.0)
    again.register_boxes("cars", [f"b{i}" for i in range(5)], {"x": (lo, lo + 1)})
    assert rehearsal.kinds(first.queries()).key != rehearsal.kinds(again.queries()).key


def test_a_rehearsal_has_some_queries_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "OF_A_KIND", 2)
    boxes = [STANDING[0].replace("box", f"box{i}") for i in range(5)]
    catalog = Catalog.of([CARS, *boxes, STANDING[2], *MOVING])
    queries = catalog.queries()
    chosen = rehearsal.some_of(queries, rehearsal.kinds(queries).ids)
    assert set(chosen.ids()) == {"box0", "box1", "circle", "convoy", "taxis", "rank"}


def test_drawn_rows_meet_the_queries() -> None:
    catalog = Catalog.of([CARS, *STANDING, *MOVING])
    stream = catalog.stream("cars")
    made = prepare_changes(catalog.queries(), stream)
    rows = rehearsal.drawn(made.plan, stream, moving=made.moving)
    assert rows.num_rows == rehearsal.ROWS
    assert {7, 12} <= set(rows["id"].to_pylist())
    assert set(rows["kind"].to_pylist()) == {"truck"}
    told = Tracker(catalog, "cars").process(rows)
    assert set(told["query_id"].to_pylist()) == {
        "box",
        "trucks",
        "circle",
        "convoy",
        "taxis",
        "rank",
    }


def test_bounds_that_are_missing_are_no_obstacle() -> None:
    catalog = Catalog.of([TICKS])
    catalog.execute("CREATE QUERY a AS SELECT * FROM ticks WHERE price < 40 EMIT CHANGES")
    catalog.execute("CREATE QUERY b AS SELECT * FROM ticks WHERE n >= 9 EMIT CHANGES")
    catalog.execute("CREATE QUERY c AS SELECT * FROM ticks WHERE symbol = 'IBM' EMIT CHANGES")
    stream = catalog.stream("ticks")
    made = prepare_changes(catalog.queries(), stream)
    rows = rehearsal.drawn(made.plan, stream, 100, made.moving)
    assert pc.min(rows["price"]).as_py() < 40
    assert pc.max(rows["n"]).as_py() >= 9
    assert set(Tracker(catalog, "ticks").process(rows)["query_id"].to_pylist()) == {"a", "b", "c"}


@pytest.mark.parametrize("moving", [True, False])
def test_changes_are_rehearsed(moving: bool) -> None:
    """With drawn rows, and with given ones; a part without queries has nothing to do."""
    catalog = Catalog.of([CARS, *STANDING, *MOVING])
    queries, stream = catalog.queries(), catalog.stream("cars")
    rehearsal.rehearse_changes(rehearsal.part_of(queries, moving), stream)
    rows = pa.table(
        {
            "id": [7, 8, 7, 8], "x": [1.0] * 4, "y": [1.0] * 4, "kind": ["truck"] * 4,
            "busy": [True] * 4, "ts": pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
        }
    )  # fmt: skip
    rehearsal.rehearse_changes(rehearsal.part_of(queries, moving), stream, rows)
    nothing = rehearsal.part_of(Catalog.of([CARS]).queries(), moving)
    rehearsal.rehearse_changes(nothing, stream)


def test_matches_are_rehearsed() -> None:
    catalog = Catalog.of([TICKS, "CREATE QUERY a AS SELECT * FROM ticks WHERE price < 40"])
    rehearsal.rehearse_matches(catalog.queries(), catalog.stream("ticks"))


def test_joins_are_rehearsed() -> None:
    catalog = Catalog.of(
        [
            TICKS,
            TICKS.replace("ticks", "asks"),
            "CREATE QUERY deal AS SELECT * FROM ticks [RANGE 10 SECONDS], asks [ROWS 100]"
            " WHERE ticks.symbol = asks.symbol AND ticks.price >= asks.price",
        ]
    )
    rehearsal.rehearse_joins(catalog, ["ticks", "asks"])
    rows = {name: rehearsal.plain(catalog.stream(name), 50) for name in ("ticks", "asks")}
    joiner = Joiner(catalog, ["ticks", "asks"])
    assert joiner.process(rows).num_rows + joiner.finish().num_rows > 50

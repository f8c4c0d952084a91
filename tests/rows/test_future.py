"""MAX AHEAD: a row far ahead of the wall clock is rejected, and nobody else notices it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

import watchline as wl
from watchline.catalog import codec
from watchline.errors import InvalidQuery
from watchline.model import MAX_AHEAD, Stream

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
YEAR_9999 = datetime(9999, 12, 31, tzinfo=timezone.utc)
CABS = (
    "CREATE STREAM cabs (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    " POINT (x, y) TIMEOUT INTERVAL 1 HOUR"
)
DEPOT = "CREATE QUERY depot AS SELECT * FROM cabs INSIDE (0, 0, 1, 1)"


def noon() -> datetime:
    return NOON


def rows(*found: tuple[int, datetime | None]) -> pa.Table:
    """Rows of objects in the middle of the depot."""
    n = len(found)
    return pa.table(
        {
            "id": pa.array([i for i, _ in found], pa.int64()),
            "x": pa.array([0.5] * n, pa.float64()),
            "y": pa.array([0.5] * n, pa.float64()),
            "ts": pa.array([t for _, t in found], pa.timestamp("us", "UTC")),
        }
    )


def tracker(clause: str = "", clock: Callable[[], datetime] = noon) -> wl.Tracker:
    return wl.Tracker(wl.Catalog.of([f"{CABS}{clause}", DEPOT]), "cabs", clock=clock)


def told(changes: pa.Table) -> list[tuple[int, int, str]]:
    names = ("object_id", "sign", "reason")
    return list(zip(*(changes[name].to_pylist() for name in names), strict=True))


def test_a_row_from_the_year_9999_changes_nothing() -> None:
    t = tracker()
    assert told(t.process(rows((1, NOON), (2, NOON)))) == [(1, 1, "enter"), (2, 1, "enter")]
    assert told(t.process(rows((3, YEAR_9999)))) == []
    # Neither has anybody timed out, nor is a later row late.
    assert told(t.process(rows((4, NOON + TICK)))) == [(4, 1, "enter")]
    stats = t.stats()
    assert (stats["late"], stats["rejected"], stats["objects"]) == (0, 1, 3)
    assert stats["rejected_by"] == {"future": 1}


def test_beside_good_rows_of_its_batch() -> None:
    t = tracker()
    found = t.process(rows((1, NOON), (2, YEAR_9999), (3, None), (4, NOON)))
    assert told(found) == [(1, 1, "enter"), (4, 1, "enter")]
    assert t.stats()["rejected_by"] == {"no time": 1, "future": 1}


@pytest.mark.parametrize(
    ("clause", "ahead"),
    [
        ("", DAY),
        (" MAX AHEAD INTERVAL 1 DAY", DAY),
        (" MAX AHEAD INTERVAL 5 MINUTES", timedelta(minutes=5)),
    ],
)
def test_exactly_so_far_ahead_is_accepted(clause: str, ahead: timedelta) -> None:
    t = tracker(clause)
    t.process(rows((1, NOON + ahead), (2, NOON + ahead + TICK)))
    assert t.stats()["rejected_by"] == {"future": 1}
    assert t.stats()["objects"] == 1


def test_without_a_limit_any_time_counts() -> None:
    t = tracker(" MAX AHEAD UNLIMITED")
    assert told(t.process(rows((1, YEAR_9999)))) == [(1, 1, "enter")]


def test_the_clock_is_asked_once_in_each_call() -> None:
    asked: list[datetime] = []

    def clock() -> datetime:
        asked.append(NOON + len(asked) * DAY)
        return asked[-1]

    t = tracker(clock=clock)
    ahead = rows((1, NOON + DAY + TICK), (2, NOON + DAY + TICK))
    assert told(t.process(ahead)) == []
    assert told(t.process(ahead)) == [(1, 1, "enter"), (2, 1, "enter")]
    assert len(asked) == 2


def test_the_clock_of_a_tracker_that_is_restored() -> None:
    t = tracker()
    catalog, blob = t._queries.shared, t.snapshot()
    assert catalog.version == t.version
    of = wl.Catalog.of([CABS, DEPOT])
    again = wl.Tracker.restore(of, "cabs", blob, clock=lambda: YEAR_9999)
    assert told(again.process(rows((1, YEAR_9999)))) == [(1, 1, "enter")]


def test_the_machine_s_clock_is_the_default() -> None:
    t = wl.Tracker(wl.Catalog.of([CABS, DEPOT]), "cabs")
    now = datetime.now(timezone.utc)
    t.process(rows((1, now), (2, now + DAY - timedelta(minutes=1)), (3, now + 2 * DAY)))
    assert t.stats()["rejected_by"] == {"future": 1}


def test_a_clock_without_a_zone_is_utc() -> None:
    t = tracker(clock=lambda: NOON.replace(tzinfo=None))
    t.process(rows((1, NOON + DAY), (2, NOON + DAY + TICK)))
    assert t.stats()["rejected_by"] == {"future": 1}


@pytest.mark.parametrize("clock", [NOON, 12, "noon"])
def test_a_clock_that_is_none(clock: Any) -> None:
    with pytest.raises(InvalidQuery, match="clock is a function that gives a datetime"):
        tracker(clock=clock)
    with pytest.raises(InvalidQuery, match="clock must give a datetime"):
        tracker(clock=lambda: 5).process(rows((1, NOON)))  # type: ignore[return-value, arg-type]


def test_matches_take_rows_of_any_time() -> None:
    catalog = wl.Catalog.of([CABS, f"{DEPOT} EMIT MATCHES"])
    from watchline.matching import Matcher

    assert len(Matcher(catalog, "cabs").match(rows((1, YEAR_9999)))) == 1


# --- joins

RS = [
    f"CREATE STREAM {name} (id BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT id TIME ts"
    for name in ("r", "s")
]
PAIR = "CREATE QUERY pair AS SELECT * FROM r [RANGE 1 HOUR], s [RANGE 1 HOUR] WHERE r.x = s.x"


def test_joins_reject_it_and_go_on() -> None:
    j = wl.Joiner(wl.Catalog.of([*RS, PAIR]), ["r", "s"], clock=noon)
    r = j.process({"r": rows((1, NOON), (9, YEAR_9999)), "s": rows((9, YEAR_9999))})
    assert r.num_rows == 0
    found = j.process({"s": rows((2, NOON + TICK)), "r": rows((3, NOON + 2 * TICK))})
    assert list(zip(found["r_id"].to_pylist(), found["s_id"].to_pylist(), strict=True)) == [(1, 2)]
    stats = j.stats()
    assert (stats["late"], stats["rejected_by"]) == (0, {"future": 2})


def test_joins_accept_exactly_so_far_ahead() -> None:
    catalog = wl.Catalog.of([*RS, PAIR])
    j = wl.Joiner(catalog, ["r", "s"], clock=noon)
    j.process({"r": rows((1, NOON + DAY), (2, NOON + DAY + TICK))})
    assert j.stats()["rejected_by"] == {"future": 1}
    again = wl.Joiner.restore(catalog, ["r", "s"], j.snapshot(), clock=noon)
    again.process({"r": rows((1, NOON + DAY + TICK))})
    assert again.stats()["rejected_by"] == {"future": 2}


# --- declarations


def test_streams_of_older_catalogs_have_the_default() -> None:
    stream = wl.Catalog.of([CABS]).stream("cabs")
    assert stream.max_ahead == MAX_AHEAD == 86_400_000_000
    assert "ahead" not in codec.dumps(stream)
    unlimited = wl.Catalog.of([f"{CABS} MAX AHEAD UNLIMITED"]).stream("cabs")
    assert unlimited.max_ahead is None
    assert codec.loads(codec.dumps(unlimited)) == unlimited


def test_no_length_is_no_length() -> None:
    stream = wl.Catalog.of([CABS]).stream("cabs")
    with pytest.raises(ValueError, match="MAX AHEAD must be longer than zero"):
        Stream(stream.name, stream.attributes, "id", "ts", max_ahead=0)

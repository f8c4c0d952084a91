"""The joiner: what it refuses, and how it comes back from its bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import watchline as wl
from tests.support.joins import (
    ALL,
    ATTRIBUTES,
    METHODS,
    Lines,
    asked,
    declaration,
    ids,
    row,
    table,
    tables,
)
from watchline.errors import (
    InvalidQuery,
    InvalidState,
    SchemaMismatch,
    UnknownAttribute,
    UnknownStream,
    UnknownVersion,
    WatchlineError,
)

SAME = asked("r, s", "r.n = s.n")


# --- what is refused


def refuses(joiner: wl.Joiner, error: Any, call: Callable[[], Any]) -> str:
    """The call is refused, and nothing has changed."""
    before, counts = joiner.snapshot(), joiner.stats()
    with pytest.raises(error) as caught:
        call()
    assert joiner.snapshot() == before
    assert joiner.stats() == counts
    return str(caught.value)


@pytest.fixture(params=METHODS)
def joiner(request: pytest.FixtureRequest) -> wl.Joiner:
    """A joiner with rows in windows and others that wait."""
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    joiner = wl.Joiner(catalog, ["r", "s"], method=request.param)
    joiner.process(tables({"r": [row(0, 1), row(9, 2)], "s": [row(1, "a")]}))
    return joiner


def test_rows_of_another_schema(joiner: wl.Joiner) -> None:
    wrong = (SchemaMismatch, UnknownAttribute, InvalidQuery)
    good, s = table("r", [row(3, 3)]), table("s", [row(3, "b")])
    bad = [
        s.drop_columns(["n"]),
        s.set_column(3, "n", pa.array(["zero"])),
        s.set_column(0, "ts", pa.array([3.5])),
        table("r", [row(3, 3)]),
        {"id": "a"},
        [row(3, "b")],
        None,
    ]
    for given in bad:
        refuses(joiner, wrong, lambda given=given: joiner.process({"r": good, "s": given}))
        refuses(joiner, wrong, lambda given=given: joiner.process({"s": given, "r": good}))
    assert sorted(ids(joiner.process({"r": good, "s": s}))) == [(1, "b"), (3, "a"), (3, "b")]


def test_rows_may_come_otherwise_than_declared(joiner: wl.Joiner) -> None:
    """Columns in any order, more of them, in pieces, as a batch, times in another unit."""
    s = table("s", [row(3_000, "b"), row(4_000, "c"), row(None, "d")])
    s = s.set_column(0, "ts", s["ts"].cast(pa.timestamp("ms")))
    s = s.select(s.column_names[::-1]).append_column("more", pa.array([1, 2, 3]))
    s = pa.concat_tables([s.slice(0, 1), s.slice(1)])
    r = table("r", [row(3_500, 3)]).to_batches()[0]
    found = ids(joiner.process({"r": r, "s": s}))
    assert sorted(found) == [(1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b")]
    assert sorted(ids(joiner.finish())) == [(1, "c"), (2, "c"), (3, "c")]


def test_streams_that_are_not_there(joiner: wl.Joiner) -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    for name in ("t", "zzz"):
        given = {"r": table("r", [row(3, 3)]), name: table("t", [row(3, 7)])}
        message = refuses(joiner, UnknownStream, lambda given=given: joiner.process(given))
        assert repr(name) in message
    with pytest.raises(UnknownStream, match="'zzz'"):
        wl.Joiner(catalog, ["r", "zzz"])
    for streams in ([], ["r", "r"]):
        with pytest.raises(WatchlineError):
            wl.Joiner(catalog, streams)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "hash"},
        {"method": None},
        {"part": 2, "parts": 2},
        {"part": -1, "parts": 2},
        {"parts": 0},
        {"times": {"zzz": 2}},
        {"times": {"r": 0}},
        {"version": 99},
        {"version": -1},
    ],
)
def test_options_that_are_none(options: dict[str, Any]) -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    with pytest.raises(WatchlineError):
        wl.Joiner(catalog, ["r", "s"], **options)


def test_versions_that_are_not_there(joiner: wl.Joiner) -> None:
    version = joiner.stats()["version"]
    for wrong in (version - 1, version + 1, -1, None, "1", 2.5):
        refuses(joiner, UnknownVersion, lambda wrong=wrong: joiner.advance_to(wrong))
    joiner.advance_to(version)


# --- bytes


def test_a_joiner_comes_back_from_its_bytes() -> None:
    j = Lines(SAME, asked("r, s", "r.n < s.n", "FOR INTERVAL 9 MICROSECONDS", name="brief"))
    j.process({"r": [row(0, 1), row(9, 2), row(-1, None)], "s": [row(1, "a")]})
    stats = [joiner.stats() for joiner in j.joiners]
    j.joiners = [
        wl.Joiner.restore(j.catalog, ["r", "s"], joiner.snapshot(), method=method)
        for joiner, method in zip(j.joiners, METHODS, strict=True)
    ]
    for joiner, before in zip(j.joiners, stats, strict=True):
        assert joiner.stats() | {"bytes": 0} == before | {"bytes": 0}
    rows = {"r": [row(5, 3)], "s": [row(0, "x"), row(9, "b", n=1)]}
    # x is late; b finds 1, 2 and 3 by "brief", and 2 and 3 find a.
    assert j.process(rows) == [(1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b")]
    assert (j.stat("late"), j.stat("rejected")) == (1, 1)


def test_damage_is_noticed_wherever_it_is(joiner: wl.Joiner) -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    blob = joiner.snapshot()
    wl.Joiner.restore(catalog, ["r", "s"], blob)
    step = 1 + len(blob) // 300
    for place in range(0, len(blob), step):
        damaged = bytearray(blob)
        damaged[place] ^= 0x41
        for wrong in (bytes(damaged), blob[:place]):
            with pytest.raises(InvalidState):
                wl.Joiner.restore(catalog, ["r", "s"], wrong)


@pytest.mark.parametrize("blob", ["text", None, 5, b"", b"watchline-state\n", b"\0" * 5_000])
def test_what_is_no_state(blob: Any) -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    with pytest.raises(InvalidState, match="this is no state"):
        wl.Joiner.restore(catalog, ["r", "s"], blob)


def test_a_state_of_something_else(joiner: wl.Joiner, tmp_path: Any) -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    blob = joiner.snapshot()
    for streams in (["r"], ["r", "t"], ["r", "s", "t"], ["s", "r"]):
        with pytest.raises(InvalidState):
            wl.Joiner.restore(catalog, streams, blob)
    other = wl.Catalog(tmp_path / "other")
    other.execute("; ".join([*map(declaration, ATTRIBUTES), SAME]))
    with pytest.raises(InvalidState, match="another catalog"):
        wl.Joiner.restore(other, ["r", "s"], blob)
    with pytest.raises(InvalidState):
        wl.Joiner.restore(catalog, ["r", "s"], wl.Tracker(catalog, "r").snapshot())
    with pytest.raises(InvalidState):
        wl.Tracker.restore(catalog, "r", blob)


def test_a_state_with_a_query_that_has_no_columns() -> None:
    """The second place of x would have the columns of x2: at the start nobody asked for it."""
    columns = "(id BIGINT, ts TIMESTAMP) OBJECT id TIME ts"
    first = asked("x, x2", "x.id = x2.id")
    catalog = wl.Catalog.of([f"CREATE STREAM {name} {columns}" for name in ("x", "x2")] + [first])
    joiner = wl.Joiner(catalog, ["x", "x2"])
    catalog.execute(asked("x AS a, x AS b", "a.id = b.id", name="twice"))
    joiner.advance_to(catalog.version)
    again = wl.Joiner.restore(catalog, ["x", "x2"], joiner.snapshot())
    assert again.schema == joiner.schema
    assert again.stats() == joiner.stats()


def test_bytes_depend_on_the_state_alone() -> None:
    """Two joiners of one life write the same bytes, and restoring changes none."""
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), ALL])
    given = tables({"r": [row(0, 1), row(9, 2)], "s": [row(1, "a")]})
    for method in METHODS:
        blobs = []
        for _ in range(2):
            joiner = wl.Joiner(catalog, ["r", "s"], method=method)
            joiner.process(given)
            blobs.append(joiner.snapshot())
        assert blobs[0] == blobs[1]
        again = wl.Joiner.restore(catalog, ["r", "s"], blobs[0], method=method)
        assert again.snapshot() == blobs[0]


def test_columns_stay_when_a_stream_is_declared_anew() -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    joiner = wl.Joiner(catalog, ["r", "s"])
    before = joiner.schema
    catalog.execute("DROP QUERY q; DROP STREAM r")
    catalog.execute("CREATE STREAM r (id BIGINT, more DOUBLE, ts TIMESTAMP) OBJECT id TIME ts")
    joiner.advance_to(catalog.version)
    again = wl.Joiner.restore(catalog, ["r", "s"], joiner.snapshot())
    assert again.schema == joiner.schema == before


def test_a_state_outlives_its_stream() -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    joiner = wl.Joiner(catalog, ["r", "s"])
    catalog.execute("DROP QUERY q; DROP STREAM r")
    joiner.advance_to(catalog.version)
    again = wl.Joiner.restore(catalog, ["r", "s"], joiner.snapshot())
    assert (again.schema, again.stats()) == (joiner.schema, joiner.stats())


@pytest.mark.parametrize("rows", [None, [], pa.table({"id": [1]})])
def test_rows_come_by_the_names_of_streams(joiner: wl.Joiner, rows: Any) -> None:
    before = joiner.snapshot()
    with pytest.raises(SchemaMismatch, match="by the name of their stream"):
        joiner.process(rows)
    assert joiner.snapshot() == before


@pytest.mark.parametrize(
    ("method", "pieces", "problem"),
    [
        ("bits", 4, "pieces go with method 'sj'"),
        ("ibs", 1, "pieces go with method 'sj'"),
        ("sj", 0, "from 1 to 1024, not 0"),
        ("sj", True, "from 1 to 1024, not True"),
        ("sj", 2.0, r"from 1 to 1024, not 2\.0"),
    ],
)
def test_pieces(method: str, pieces: Any, problem: str) -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    with pytest.raises(InvalidQuery, match=problem):
        wl.Joiner(catalog, ["r", "s"], method=method, pieces=pieces)

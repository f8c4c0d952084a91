"""The joiner: its clock, the lives of queries, its columns and counts, its parts.

What a pair is stands in test_joins.py.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import watchline as wl
from tests.support.joins import (
    ATTRIBUTES,
    METHODS,
    Lines,
    asked,
    declaration,
    ids,
    lines,
    names,
    row,
    tables,
)
from watchline.errors import (
    InvalidQuery,
    InvalidState,
)

SAME = asked("r, s", "r.n = s.n")


# --- the clock


def test_rows_wait_for_the_slower_stream() -> None:
    j = Lines(SAME)
    rows = lines("""
        r  1...23
        s  ..a...
    """)
    assert j.process({"r": rows["r"]}) == []
    assert j.stat("waiting") == 3
    # The clock is 2, where s is: 2 and 3 wait.
    assert j.process({"s": rows["s"]}) == [(1, "a")]
    assert j.stat("waiting") == 2
    assert j.process({"s": [row(4, "b")]}) == [(1, "b"), (2, "a"), (2, "b")]
    assert j.stat("waiting") == 1
    assert j.finish() == [(3, "a"), (3, "b")]
    assert j.stat("waiting") == 0
    assert j.finish() == []


def test_a_stream_that_never_reports_holds_all_up() -> None:
    """t is given, though no query reads it."""
    j = Lines(SAME, streams=("r", "s", "t"))
    rows = lines("""
        r  1.2
        s  a.b
    """)
    assert j.process(rows) == []
    assert j.stat("waiting") == 4
    assert j.process({"t": [row(1, 7)]}) == [(1, "a")]
    assert j.finish() == [(1, "b"), (2, "a"), (2, "b")]


def test_late_rows_are_counted() -> None:
    j = Lines(SAME)
    assert j.process({"r": [row(5, 1)], "s": [row(5, "a")]}) == [(1, "a")]
    assert j.process({"r": [row(4, 2), row(5, 3)], "s": [row(-9, "b")]}) == [(3, "a")]
    assert j.stat("late") == 2
    # What came too late is in no window.
    assert j.process({"s": [row(5, "c")]}) == [(1, "c"), (3, "c")]


def test_a_row_that_is_not_older_than_the_clock_is_not_late() -> None:
    """r is far ahead, but s is not: a row of r between them comes in time."""
    j = Lines(asked("r [ROWS 1], s [ROWS 1]", "r.n = s.n"))
    assert j.process({"r": [row(0, 1), row(9, 3)], "s": [row(2, "a")]}) == [(1, "a")]
    assert j.process({"r": [row(3, 2)]}) == []
    assert j.process({"s": [row(9, "b")]}) == [(2, "a"), (3, "a"), (3, "b")]
    assert j.stat("late") == 0


def test_the_end_of_an_input_moves_the_clock_to_the_newest_row() -> None:
    j = Lines(SAME)
    j.process({"r": [row(9, 1)], "s": [row(2, "a")]})
    assert j.finish() == [(1, "a")]
    assert j.process({"s": [row(8, "b"), row(9, "c")]}) == [(1, "c")]
    assert j.stat("late") == 1


def test_rows_without_an_object_or_a_time_are_rejected() -> None:
    j = Lines(SAME)
    rows = {"r": [row(0, None), row(None, None), row(None, 1), row(0, 2)], "s": [row(0, "a")]}
    assert j.process(rows) == [(2, "a")]
    assert j.stat("rejected") == 3
    assert j.stat("rejected_by") == {"no object id": 2, "no time": 1}
    assert j.stat("rows") == 5
    # It is late as well, but that does not count.
    j.process({"r": [row(-5, None)]})
    assert (j.stat("rejected"), j.stat("late")) == (4, 0)


def test_rows_that_were_rejected_before_they_came() -> None:
    j = Lines(SAME)
    for joiner in j.joiners:
        joiner.count_rejects(Counter({"no time": 3, "no object id": 1}))
    j.process({"r": [row(None, 1)]})
    assert j.stat("rejected_by") == {"no time": 4, "no object id": 1}
    assert (j.stat("rejected"), j.stat("rows")) == (5, 5)


def test_no_rows() -> None:
    j = Lines(SAME)
    empty = {"r": [], "s": []}
    assert j.process({}) == j.process(empty) == j.finish() == []
    assert j.process({"r": [row(0, 1)], "s": []}) == []
    assert j.process(empty) == []
    assert j.process({"s": [row(0, "a")]}) == [(1, "a")]
    assert j.process({}) == j.process(empty) == []
    assert (j.stat("rows"), j.stat("pairs")) == (2, 1)


def test_no_queries() -> None:
    j = Lines()
    rows = lines("""
        r  1.2
        s  a.b
    """)
    assert j.process(rows) == j.finish() == []
    assert (j.stat("queries"), j.stat("rows"), j.stat("kept"), j.stat("pairs")) == (0, 4, 0, 0)


def test_tuples_come_in_the_order_of_the_rows_that_complete_them() -> None:
    rows = lines("""
        r  1.2.3.4
        s  .a.b.c.
    """)
    for joiner in Lines(SAME).joiners:
        found = pa.concat_tables([joiner.process(tables(rows)), joiner.finish()])
        times = zip(found["r_ts"].to_pylist(), found["s_ts"].to_pylist(), strict=True)
        completed = [max(pair) for pair in times]
        assert completed == sorted(completed)
        assert len(completed) == 12


# --- lives


def test_a_query_joins_what_is_processed_in_its_life() -> None:
    r"""q comes when the clock is 1: 1 and a are over, 2 only waits.

    r  1..2..
    s  .a...b
        ^ q
    """
    j = Lines()
    j.process({"r": [row(0, 1), row(3, 2)], "s": [row(1, "a")]})
    j.execute(SAME)
    assert j.process({"s": [row(5, "b")]}) == []
    assert j.finish() == [(2, "b")]


def test_other_queries_lend_no_rows() -> None:
    """Rows that are kept for an older query are not there for a younger one."""
    j = Lines(SAME)
    assert j.process({"r": [row(0, 1)], "s": [row(0, "a")]}) == [(1, "a")]
    j.execute(asked("r, s", "r.n = s.n", name="young"))
    assert j.stat("queries") == 2
    assert j.process({"r": [row(1, 2)], "s": [row(1, "b")]}) == sorted(
        [(1, "b"), (2, "a"), (2, "b"), (2, "b")]
    )


def test_a_replacement_begins_anew() -> None:
    j = Lines(SAME)
    assert j.process({"r": [row(0, 1)], "s": [row(0, "a")]}) == [(1, "a")]
    # The same text, and yet another life.
    j.execute(SAME)
    assert j.process({"r": [row(1, 2)], "s": [row(1, "b")]}) == [(2, "b")]
    j.execute(asked("r, s", "r.n < s.n"))
    assert j.process({"r": [row(2, 3)], "s": [row(2, "c"), row(2, "d", n=1)]}) == [(3, "d")]
    assert j.stat("queries") == 1


def test_a_query_that_was_dropped() -> None:
    j = Lines(SAME, asked("r, s", "r.n <> s.n", name="other"))
    assert j.process({"r": [row(0, 1)], "s": [row(0, "a")]}) == [(1, "a")]
    j.execute("DROP QUERY q")
    assert j.process({"r": [row(1, 2)], "s": [row(1, "b", n=1)]}) == [(1, "b"), (2, "b")]
    j.execute("DROP QUERY other")
    assert j.process({"r": [row(2, 3)], "s": [row(2, "c", n=1)]}) == []
    assert (j.stat("queries"), j.stat("kept")) == (0, 0)


def test_several_versions_at_once() -> None:
    """Dropped and created again between two calls: a new life, as if each had been followed."""
    j = Lines(SAME)
    j.process({"r": [row(0, 1)], "s": [row(0, "a")]})
    j.catalog.execute("DROP QUERY q")
    j.catalog.execute(asked("r, s", "r.n = s.n", name="brief"))
    j.catalog.execute("DROP QUERY brief")
    j.execute(SAME)
    assert j.process({"r": [row(1, 2)], "s": [row(1, "b")]}) == [(2, "b")]
    assert (j.stat("queries"), j.stat("version")) == (1, j.catalog.version)


def test_an_older_version_to_start_from() -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES)])
    old = catalog.version
    catalog.execute(SAME)
    for method in METHODS:
        joiner = wl.Joiner(catalog, ["r", "s"], version=old, method=method)
        given = tables({"r": [row(0, 1)], "s": [row(0, "a")]})
        assert joiner.process(given).num_rows == 0
        joiner.advance_to(catalog.version)
        assert ids(joiner.process(given)) == [(1, "a")]


def test_a_lifetime_from_the_first_row() -> None:
    """FOR 3 from 1 on: at 4 it still joins, at 5 it does not."""
    rows = lines("""
        r  .1.....
        s  ...abcd
    """)
    j = Lines(asked("r, s", "r.n = s.n", "FOR INTERVAL 3 MICROSECONDS"))
    j.process(rows)
    assert j.finish() == [(1, "a"), (1, "b")]


def test_a_lifetime_from_the_newest_processed_row() -> None:
    """2 at 9 has been given, but the clock is 2."""
    j = Lines()
    j.process({"r": [row(0, 1), row(9, 2)], "s": [row(2, "a")]})
    j.execute(asked("r, s", "r.n = s.n", "FOR INTERVAL 3 MICROSECONDS"))
    rows = {"r": [row(4, 3)], "s": [row(5, "b"), row(6, "c")]}
    assert j.process(rows) == [(3, "b")]
    # A new life, a new time.
    j.execute(asked("r, s", "r.n = s.n", "FOR INTERVAL 3 MICROSECONDS"))
    assert j.process({"s": [row(9, "d")]}) == [(2, "d")]
    assert j.process({"r": [row(10, 4)], "s": [row(10, "e")]}) == []


def test_the_last_moment_of_a_life_may_come_in_pieces() -> None:
    """Begun at 0, FOR 3: what comes at 3 is in time, also if it is not the first of that moment."""
    j = Lines(asked("r, s", "r.n = s.n", "FOR INTERVAL 3 MICROSECONDS"))
    assert j.process({"r": [row(0, 1), row(3, 2)], "s": [row(3, "a")]}) == [(1, "a"), (2, "a")]
    assert j.process({"s": [row(3, "b")]}) == [(1, "b"), (2, "b")]
    assert j.process({"r": [row(4, 3)], "s": [row(4, "c")]}) == []


def test_a_lifetime_at_the_end_of_time() -> None:
    most = 2**63 - 1
    j = Lines(asked("r, s", "r.n = s.n", "FOR INTERVAL 3 DAYS"))
    assert j.process({"r": [row(most - 5, 1)], "s": [row(most, "a")]}) == []
    assert j.finish() == [(1, "a")]


# --- what is kept


def test_only_windows_are_kept() -> None:
    """Neither a thousand rows nor their bytes stay where windows hold five."""
    j = Lines(asked("r [ROWS 5], s [RANGE 5 MICROSECONDS]", "r.n = s.n"))
    sizes = []
    for start in range(0, 3_000, 500):
        moments = range(start, start + 500)
        j.process({"r": [row(t, t, n=1) for t in moments], "s": [row(t, "a") for t in moments]})
        assert j.stat("kept") <= 11
        sizes.append(j.joiners[0].stats()["bytes"])
    assert max(sizes) <= 2 * sizes[0]
    assert len(j.joiners[0].snapshot()) < 10_000


# --- columns


def test_the_columns() -> None:
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), SAME])
    for streams in (["r", "s"], ["s", "r"], ["t", "s", "r"]):
        schema = wl.Joiner(catalog, streams).schema
        assert schema.names == names(streams, {})
        assert schema.field("query_id").type == pa.string()
        assert schema.field("r_ts").type == pa.timestamp("us", "UTC")
        assert schema.field("s_id").type == pa.string()
        assert schema.field("s_b").type == pa.bool_()


def test_all_attributes_come_whatever_is_selected() -> None:
    text = "CREATE QUERY q AS SELECT r.d FROM r [ROWS 1], s [ROWS 1] WHERE r.n = s.n"
    for joiner in Lines(text).joiners:
        given = {"r": [row(0, 1, d=1.5, k="ä")], "s": [row(0, "a", b=True)]}
        [found] = joiner.process(tables(given)).to_pylist()
        moment = found["r_ts"]
        assert found == {
            "query_id": "q",
            "r_id": 1, "r_d": 1.5, "r_n": 0, "r_k": "ä", "r_b": None, "r_ts": moment,
            "s_ts": moment, "s_b": True, "s_k": "", "s_n": 0, "s_d": 0.0, "s_id": "a",
        }  # fmt: skip


def test_columns_of_streams_that_a_query_does_not_read() -> None:
    j = Lines(SAME, asked("s, t", "s.n = t.n", name="other"), streams=("r", "s", "t"))
    given = tables({"r": [row(0, 1)], "s": [row(0, "a")], "t": [row(0, 7)]})
    for joiner in j.joiners:
        found = {line["query_id"]: line for line in joiner.process(given).to_pylist()}
        assert found["q"]["t_id"] is found["q"]["t_ts"] is found["other"]["r_d"] is None
        assert (found["q"]["r_id"], found["other"]["t_id"]) == (1, 7)


def test_positions_of_one_stream_have_numbers() -> None:
    twice = asked("r AS b, r AS a", "b.n < a.n")
    j = Lines(twice, SAME.replace("QUERY q", "QUERY p"))
    assert [joiner.schema.names for joiner in j.joiners] == [names(["r", "s"], {"r": 2})] * 3
    given = tables({"r": [row(0, 1, n=0), row(0, 2, n=1)], "s": [row(0, "a", n=1)]})
    for joiner in j.joiners:
        found = {line["query_id"]: line for line in joiner.process(given).to_pylist()}
        # Position order of FROM, not of the aliases.
        assert (found["q"]["r_id"], found["q"]["r2_id"], found["q"]["s_id"]) == (1, 2, None)
        assert (found["p"]["r_id"], found["p"]["r2_id"], found["p"]["s_id"]) == (2, None, "a")


def test_a_query_with_more_positions_than_columns_is_not_answered() -> None:
    rows = {"r": [row(0, 1)], "s": [row(0, "a")]}
    twice = asked("r AS a, r AS b", "a.n = b.n", name="twice")
    j = Lines(SAME)
    j.execute(twice)
    assert j.process(rows) == [(1, "a")]
    assert (j.stat("unanswered"), j.stat("queries")) == (1, 1)
    j.execute("DROP QUERY twice")
    assert j.stat("unanswered") == 0
    assert j.process({"r": [row(0, 2)]}) == [(2, "a")]
    # With room for it.
    j = Lines(SAME, times={"r": 2})
    assert j.joiners[0].schema.names == names(["r", "s"], {"r": 2})
    j.execute(twice)
    assert j.process(rows) == [(1, "a"), (1, 1)]
    assert j.stat("unanswered") == 0


def test_queries_of_other_streams_are_not_ours() -> None:
    others = [
        asked("r, t", "r.n = t.n", name="far"),
        "CREATE QUERY one AS SELECT * FROM r WHERE d >= 0 EMIT MATCHES",
    ]
    j = Lines(SAME, *others)
    assert (j.stat("queries"), j.stat("unanswered")) == (1, 2)
    assert j.process({"r": [row(0, 1)], "s": [row(0, "a")]}) == [(1, "a")]


@pytest.mark.parametrize(
    "declared",
    [
        # Both have a column a_b_c.
        [
            "CREATE STREAM a (b_c BIGINT, ts TIMESTAMP) OBJECT b_c TIME ts",
            "CREATE STREAM a_b (c BIGINT, t TIMESTAMP) OBJECT c TIME t",
        ],
        ["CREATE STREAM query (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts"],
        # The second place of x, and the stream x2.
        [
            "CREATE STREAM x (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts",
            "CREATE STREAM x2 (id BIGINT, t TIMESTAMP) OBJECT id TIME t",
            asked("x AS a, x AS b", "a.id = b.id"),
        ],
    ],
)
def test_two_columns_of_one_name(declared: list[str]) -> None:
    catalog = wl.Catalog.of(declared)
    streams = [stream.name for stream in catalog.streams()]
    with pytest.raises(InvalidQuery, match=r"a_b_c|query_id|x2_id"):
        wl.Joiner(catalog, streams)


def test_names_of_any_letters() -> None:
    catalog = wl.Catalog.of(
        [
            'CREATE STREAM "my stream" ("the id" STRING, "n.1" DOUBLE, "select" TIMESTAMP)'
            ' OBJECT "the id" TIME "select"',
            'CREATE STREAM "京" ("the id" STRING, "🚕" DOUBLE, "select" TIMESTAMP)'
            ' OBJECT "the id" TIME "select"',
            'CREATE QUERY "a b" AS SELECT * FROM "my stream" AS "x.y" [ROWS 1], "京" [ROWS 1]'
            ' WHERE "x.y"."n.1" = "京"."🚕"',
        ]
    )
    time = pa.array([0], pa.timestamp("us", "UTC"))
    for method in METHODS:
        joiner = wl.Joiner(catalog, ["京", "my stream"], method=method)
        given = {
            "my stream": pa.table({"the id": ["x"], "n.1": [0.5], "select": time}),
            "京": pa.table({"the id": ["y"], "🚕": [0.5], "select": time}),
        }
        found = joiner.process(given)
        assert found["query_id"].to_pylist() == ["a b"]
        assert found["my stream_the id"].to_pylist() == ["x"]
        assert found["京_🚕"].to_pylist() == [0.5]


# --- parts


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_share_the_queries(parts: int) -> None:
    queries = [asked("r, s", f"r.n = s.n AND r.d < {i + 1}", name=f"q{i}") for i in range(12)]
    catalog = wl.Catalog.of([*map(declaration, ATTRIBUTES), *queries])
    given = tables({"r": [row(0, 1)], "s": [row(0, "a")]})
    joiners = [wl.Joiner(catalog, ["r", "s"], part=k, parts=parts) for k in range(parts)]
    found = [joiner.process(given)["query_id"].to_pylist() for joiner in joiners]
    assert sorted(name for mine in found for name in mine) == sorted(f"q{i}" for i in range(12))
    assert all(0 < len(mine) < 12 for mine in found)
    assert sum(joiner.stats()["queries"] for joiner in joiners) == 12
    # One part may be restored; it is not another's.
    blob = joiners[1].snapshot()
    wl.Joiner.restore(catalog, ["r", "s"], blob, part=1, parts=parts)
    for part, of in ((0, parts), (1, parts + 1)):
        with pytest.raises(InvalidState):
            wl.Joiner.restore(catalog, ["r", "s"], blob, part=part, parts=of)

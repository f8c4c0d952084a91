"""The oracle of window joins against time lines drawn by hand; every tuple is written out."""

from __future__ import annotations

from typing import Any

from tests.reference_joins import Joined, JoinLedger, JoinQuery, JoinSource, JoinStream

COLUMNS = [("id", "BIGINT"), ("k", "BIGINT"), ("ts", "TIMESTAMP")]
EQUAL = ("cmp", "=", ("attr", "r.k"), ("attr", "s.k"))


def ledger(*names: str) -> JoinLedger:
    return JoinLedger([JoinStream(name, "id", "ts", COLUMNS) for name in names])


def source(text: str) -> JoinSource:
    """As "r range 5", or "r as a rows 2"."""
    stream, *alias, kind, size = text.replace(" as ", " ").split()
    return JoinSource(alias[0] if alias else stream, stream, (kind, int(size)))


def query(*sources: str, where: Any = ("true",), lifetime: int | None = None) -> JoinQuery:
    return JoinQuery("q", [source(text) for text in sources], where, lifetime)


def row(object_id: Any, ts: int | None, k: Any = 0) -> dict[str, Any]:
    return {"id": object_id, "k": k, "ts": ts}


def ids(found: list[Joined]) -> list[tuple[Any, ...]]:
    return [tuple(r["id"] for r in joined.rows) for joined in found]


def whole(j: JoinLedger, rows: dict[str, list[dict[str, Any]]]) -> list[Joined]:
    return j.process(rows) + j.finish()


# --- the clock


#   r  1-----------2---------3
#   s        10------------------11
#      0     2     4    5    6   8
def test_rows_wait_for_the_slowest_stream() -> None:
    j = ledger("r", "s")
    j.register(query("r range 100", "s range 100"))
    assert ids(j.process({"r": [row(1, 0), row(2, 4)]})) == []
    assert len(j.waiting) == 2
    # All up to 2 are processed: 2 waits.
    assert ids(j.process({"s": [row(10, 2)]})) == [(1, 10)]
    assert [r["id"] for _, r in j.waiting] == [2]
    # All up to 6: 11 waits.
    assert ids(j.process({"r": [row(3, 6)], "s": [row(11, 8)]})) == [(2, 10), (3, 10)]
    assert ids(j.finish()) == [(1, 11), (2, 11), (3, 11)]
    assert j.waiting == []


def test_a_stream_without_rows_holds_all_up() -> None:
    j = ledger("r", "s", "t")
    j.register(query("r range 9", "s range 9"))
    assert j.process({"r": [row(1, 0)], "s": [row(10, 0)]}) == []
    assert ids(j.finish()) == [(1, 10)]


#   r  1   .   2   3        2 comes when the clock is 5: 4 is before it, so it is late;
#   s  .   .   .   10       3, at 5, is not.
#      0       4   5
def test_late_is_what_is_older_than_the_clock() -> None:
    j = ledger("r", "s")
    j.register(query("r range 100", "s range 100"))
    j.process({"r": [row(1, 5)], "s": [row(10, 5)]})
    assert j.clock == 5
    assert j.process({"r": [row(2, 4)]}) == []
    assert (j.late, j.clock) == (1, 5)
    assert ids(j.process({"r": [row(3, 5)]})) == [(3, 10)]
    assert j.late == 1


def test_the_clock_stays_where_the_end_of_an_input_put_it() -> None:
    j = ledger("r", "s")
    j.register(query("r range 100", "s range 100"))
    j.process({"r": [row(1, 9)], "s": [row(10, 2)]})
    assert ids(j.finish()) == [(1, 10)]
    # s is at 2 still, but all up to 9 is processed.
    assert ids(j.process({"r": [row(2, 9), row(3, 8), row(4, 10)]})) == [(2, 10)]
    assert (j.late, len(j.waiting)) == (1, 1)


def test_rows_of_one_moment_go_by_stream_then_id_then_attributes() -> None:
    j = ledger("s", "r")
    j.register(query("r rows 1", "s rows 1"))
    rows = {"s": [row(10, 0)], "r": [row(2, 0), row(1, 0, 5), row(1, 0, None)]}
    # r before s; of r, 1 (NULL), 1 (5), 2: the last row of r is 2.
    assert ids(j.process(rows)) == [(2, 10)]
    assert [(seen.stream, seen.row["id"], seen.row["k"]) for seen in j.seen] == [
        ("r", 1, None),
        ("r", 1, 5),
        ("r", 2, 0),
        ("s", 10, 0),
    ]
    assert [seen.place for seen in j.seen] == [0, 1, 2, 0]


def test_rows_without_an_object_or_a_time_are_rejected() -> None:
    j = ledger("r", "s")
    j.process({"r": [row(None, 1), row(None, None), row(1, None), row(1, 1)]})
    assert j.rejected_by == {"no object id": 2, "no time": 1}
    assert (j.newest, j.late) == ({"r": 1, "s": None}, 0)


# --- windows


#   r  1           .  .      RANGE 4: 1 is a partner until 4,
#   s        10   11  12     4 apart is in, 5 apart is out.
#      0     2     4  5
def test_a_range_is_closed() -> None:
    j = ledger("r", "s")
    j.register(query("r range 4", "s range 4"))
    rows = {"r": [row(1, 0)], "s": [row(10, 2), row(11, 4), row(12, 5)]}
    assert ids(whole(j, rows)) == [(1, 10), (1, 11)]


#   r  1  2  3  .  .  4      ROWS 2 of r: at 10 they are 2 and 3, at 11 3 and 4.
#   s           10        11
def test_rows_are_the_last_of_their_stream() -> None:
    j = ledger("r", "s")
    j.register(query("r rows 2", "s range 1"))
    r = [row(1, 0), row(2, 1), row(3, 2), row(4, 5)]
    # 4, at 5, finds 10 too old.
    assert ids(whole(j, {"r": r, "s": [row(10, 3), row(11, 6)]})) == [
        (2, 10),
        (3, 10),
        (3, 11),
        (4, 11),
    ]


def test_rows_are_counted_before_where() -> None:
    j = ledger("r", "s")
    j.register(query("r rows 1", "s rows 9", where=EQUAL))
    rows = {"r": [row(1, 0, 7), row(2, 1, None)], "s": [row(10, 2, 7)]}
    assert whole(j, rows) == []


def test_a_self_join_finds_a_row_with_itself_once() -> None:
    j = ledger("r")
    j.register(query("r as a rows 1", "r as b rows 1"))
    assert ids(j.process({"r": [row(1, 0), row(2, 1)]})) == [(1, 1), (2, 2)]
    j = ledger("r")
    j.register(query("r as a rows 2", "r as b range 9"))
    # With ROWS 2 at position a, a 2 finds 1; at position b a 9 long range does too.
    assert ids(j.process({"r": [row(1, 0), row(2, 1)]})) == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_each_position_has_its_own_window() -> None:
    j = ledger("r")
    j.register(query("r as a range 1", "r as b range 5"))
    # 2 is 3 after 1: as a partner 1 is only in the window of b.
    assert ids(j.process({"r": [row(1, 0), row(2, 3)]})) == [(1, 1), (2, 1), (2, 2)]


#   r  1
#   s     10
#   t        20          20 completes; 1 and 10 are measured from it.
#      0  1  2
def test_three_streams() -> None:
    rows = {"r": [row(1, 0)], "s": [row(10, 1)], "t": [row(20, 2)]}
    for size, found in ((2, [(1, 10, 20)]), (1, [])):
        j = ledger("r", "s", "t")
        j.register(query(f"r range {size}", "s range 9", "t range 9"))
        assert ids(whole(j, rows)) == found


def test_a_tuple_of_two_alternatives_is_one() -> None:
    j = ledger("r", "s")
    j.register(query("r rows 9", "s rows 9", where=("or", EQUAL, EQUAL)))
    assert ids(j.process({"r": [row(1, 0)], "s": [row(10, 0)]})) == [(1, 10)]


def test_conditions_and_unknown_values() -> None:
    j = ledger("r", "s")
    j.register(query("r rows 9", "s rows 9", where=EQUAL))
    rows = {"r": [row(1, 0, None), row(2, 0, 3)], "s": [row(10, 0, None), row(11, 0, 3)]}
    assert ids(j.process(rows)) == [(2, 11)]


# --- lives


#   r  1     2          .         A query that is registered after 1 joins 2 only.
#   s        10   !     11
#      0     1          2
def test_a_query_joins_what_is_processed_in_its_life() -> None:
    j = ledger("r", "s")
    j.process({"r": [row(1, 0), row(2, 1)], "s": [row(10, 0)]})
    j.register(query("r range 9", "s range 9"))
    # 2 waited, so it is processed now.
    assert ids(j.process({"s": [row(11, 2)]}) + j.finish()) == [(2, 11)]
    # Begins anew.
    j.register(query("r range 9", "s range 9"))
    assert ids(j.process({"r": [row(3, 2)], "s": [row(12, 2)]})) == [(3, 12)]
    j.drop("q")
    assert j.process({"r": [row(4, 2)], "s": [row(13, 2)]}) == []


#   r  1  .  .  .
#   s  .  10 11 12      FOR 2 from 1: 11 is in time, 12 is not.
#      1  2  3  4
def test_a_lifetime_from_the_first_row() -> None:
    j = ledger("r", "s")
    j.register(query("r range 9", "s range 9", lifetime=2))
    rows = {"r": [row(1, 1)], "s": [row(10, 2), row(11, 3), row(12, 4)]}
    assert ids(whole(j, rows)) == [(1, 10), (1, 11)]


def test_a_lifetime_from_the_newest_processed_row() -> None:
    j = ledger("r", "s")
    j.process({"r": [row(1, 1), row(2, 9)], "s": [row(10, 2)]})
    # Though 9 has been seen, 2 is the newest that is processed.
    j.register(query("r range 99", "s range 99", lifetime=3))
    found = j.process({"s": [row(11, 4), row(12, 5), row(13, 6)], "r": [row(3, 5)]})
    assert ids(found) == [(3, 11), (3, 12)]


def test_a_query_of_other_streams_is_not_ours() -> None:
    j = ledger("r", "s")
    j.register(query("r range 9", "t range 9"))
    assert j.queries == {}

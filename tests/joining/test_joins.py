"""Window joins by example: the borders of windows, values that never join, lives, the clock.

Every example runs with each method, on all rows at once and moment by moment.
"""

from __future__ import annotations

import math

import pytest

from tests.support.joins import ALL, Ids, Lines, asked, joined, lines, row

NAN, INF = math.nan, math.inf


# --- windows


def test_a_range_ends_exactly_after_its_length() -> None:
    """RANGE 5: b is five microseconds after 1, and c is six."""
    rows = lines("""
        r  1.......2
        s  .a...bc..
    """)
    near = "r [RANGE 5 MICROSECONDS], s [RANGE 2 MICROSECONDS]"
    assert joined(asked(near, "r.n = s.n"), rows) == [(1, "a"), (1, "b"), (2, "c")]


def test_each_stream_has_its_own_range() -> None:
    """A window is asked of the older row: a is in reach of 1 only if s remembers long enough."""
    rows = lines("""
        r  ...1
        s  a...
    """)
    assert joined(asked("r [RANGE 1 SECOND], s [RANGE 2 MICROSECONDS]", "r.n = s.n"), rows) == []
    assert joined(asked("r [RANGE 1 MICROSECOND], s [RANGE 3 MICROSECONDS]", "r.n = s.n"), rows)


def test_the_last_rows_of_a_stream() -> None:
    """ROWS 2 of r: at a these are 1 and 2, at b 2 and 3."""
    rows = lines("""
        r  12.3..
        s  ..a.b.
    """)
    found = joined(asked("r [ROWS 2], s [ROWS 1]", "r.n = s.n"), rows)
    assert found == [(1, "a"), (2, "a"), (2, "b"), (3, "a"), (3, "b")]
    found = joined(asked("r [ROWS 1], s [ROWS 1]", "r.n = s.n"), rows)
    assert found == [(2, "a"), (3, "a"), (3, "b")]


def test_rows_that_do_not_match_fill_a_rows_window() -> None:
    rows = lines(
        """
        r  12.
        s  ..a
        """,
        n={"2": None},
    )
    assert joined(asked("r [ROWS 2], s [ROWS 1]", "r.n = s.n"), rows) == [(1, "a")]
    assert joined(asked("r [ROWS 1], s [ROWS 1]", "r.n = s.n"), rows) == []


def test_a_window_may_be_longer_than_time() -> None:
    long = "r [RANGE 200000 DAYS], s [ROWS 2147483647]"
    rows = {"r": [row(-(2**62), 1), row(2**62, 2)], "s": [row(0, "a"), row(2**62 + 1, "b")]}
    assert joined(asked(long, "r.n = s.n"), rows) == [(2, "a"), (2, "b")]


def test_the_ends_of_time() -> None:
    """Differences of times may not fit where the times do."""
    least, most = -(2**63) + 1, 2**63 - 1
    rows = {"r": [row(least, 1), row(most, 2)], "s": [row(least + 5, "a"), row(most, "b")]}
    near = "r [RANGE 5 MICROSECONDS], s [RANGE 5 MICROSECONDS]"
    assert joined(asked(near, "r.n = s.n"), rows) == [(1, "a"), (2, "b")]


def test_a_row_joins_itself_once() -> None:
    rows = lines("r  1..2.3")
    pairs = asked("r AS a [RANGE 2 MICROSECONDS], r AS b [RANGE 3 MICROSECONDS]", "a.n = b.n")
    found = joined(pairs, rows, streams=("r",))
    #            2 as a: 1 is three before it    3: 2 is two before it, under both names
    assert found == [(1, 1), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)]
    last = asked("r AS a [ROWS 1], r AS b [ROWS 1]", "a.n = b.n")
    assert joined(last, rows, streams=("r",)) == [(1, 1), (2, 2), (3, 3)]
    others = asked("r AS a [ROWS 2], r AS b [ROWS 2]", "a.id < b.id")
    assert joined(others, rows, streams=("r",)) == [(1, 2), (2, 3)]


def test_rows_of_one_moment() -> None:
    """r goes before s, and in a stream the smaller id: ROWS 1 of r is 2 when a and b come."""
    rows = {"r": [row(5, 2), row(5, 1)], "s": [row(5, "b"), row(5, "a")]}
    assert joined(asked("r [ROWS 1], s [ROWS 1]", "r.n = s.n"), rows) == [(2, "a"), (2, "b")]
    assert len(joined(ALL, rows)) == 4


def test_attributes_decide_between_rows_of_one_object_and_moment() -> None:
    """In declared order; NULL and NaN come first, and a zero is a zero."""
    same = [row(5, 1, d=d, n=n) for d, n in ((0.0, 2), (-0.0, 3), (NAN, 9), (None, 9))]
    for order in (same, same[::-1]):
        rows = {"r": order, "s": [row(5, "a", n=3)]}
        assert joined(asked("r [ROWS 1], s [ROWS 1]", "r.n = s.n"), rows) == [(1, "a")]


def test_a_row_at_the_clock_comes_after_those_that_came_before() -> None:
    j = Lines(asked("r [ROWS 1], s [ROWS 1]", "r.n = s.n"))
    assert j.process({"r": [row(5, 2)], "s": [row(5, "a")]}) == [(2, "a")]
    # Had it come in time, 1 would have gone before 2 and a.
    assert j.process({"r": [row(5, 1)]}) == [(1, "a")]
    assert j.process({"s": [row(5, "b")]}) == [(1, "b")]
    assert j.stat("late") == 0


def test_what_a_row_at_the_clock_can_still_meet_is_kept() -> None:
    """b comes at 5, when all up to 5 is processed: 1 is five before it, and in reach."""
    j = Lines(asked("r [RANGE 5 MICROSECONDS], s [RANGE 5 MICROSECONDS]", "r.n = s.n"))
    assert j.process({"r": [row(0, 1), row(5, 2)], "s": [row(5, "a")]}) == [(1, "a"), (2, "a")]
    assert j.process({"s": [row(5, "b")]}) == [(1, "b"), (2, "b")]
    assert j.process({"r": [row(6, 3)], "s": [row(6, "c")]}) == [
        (2, "c"),
        (3, "a"),
        (3, "b"),
        (3, "c"),
    ]


# --- values


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("value", [None, NAN, INF, -INF])
def test_no_value_is_never_joined(op: str, value: float | None) -> None:
    rows = lines(
        """
        r  123.
        s  ..ab
        """,
        d={"1": value, "2": 1.0, "3": value, "a": value, "b": value},
    )
    assert joined(asked("r, s", f"r.d {op} s.d"), rows) == []


def test_zero_is_zero() -> None:
    rows = lines(
        """
        r  12.
        s  .ab
        """,
        d={"1": -0.0, "2": 0.0, "a": 0.0, "b": -0.0},
    )
    every = [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    for op in ("=", "<=", ">="):
        assert joined(asked("r, s", f"r.d {op} s.d"), rows) == every
    for op in ("<>", "<", ">"):
        assert joined(asked("r, s", f"r.d {op} s.d"), rows) == []
    assert joined(asked("r, s", "r.d = s.n"), rows) == every


BIG = 2**53


@pytest.mark.parametrize(
    ("op", "found"),
    [
        ("=", [(1, "a"), (3, "b")]),
        ("<>", [(1, "b"), (2, "a"), (2, "b"), (3, "a")]),
        ("<", [(1, "b"), (2, "b")]),
        ("<=", [(1, "a"), (1, "b"), (2, "b"), (3, "b")]),
        (">", [(2, "a"), (3, "a")]),
        (">=", [(1, "a"), (2, "a"), (3, "a"), (3, "b")]),
    ],
)
def test_integers_beside_doubles_are_exact(op: str, found: Ids) -> None:
    """2^53 + 1 is no double: it lies between two."""
    rows = lines(
        """
        r  123
        s  .ab
        """,
        n={"1": BIG, "2": BIG + 1, "3": BIG + 2},
        d={"a": float(BIG), "b": float(BIG + 2)},
    )
    assert joined(asked("r, s", f"r.n {op} s.d"), rows) == found
    flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    assert joined(asked("r, s", f"s.d {flipped} r.n"), rows) == found


def test_the_largest_integers_beside_doubles() -> None:
    """2^63 is a double, but no BIGINT; -2^63 is both."""
    rows = lines(
        """
        r  12
        s  ab
        """,
        n={"1": 2**63 - 1, "2": -(2**63)},
        d={"a": 2.0**63, "b": -(2.0**63)},
    )
    assert joined(asked("r, s", "r.n = s.d"), rows) == [(2, "b")]
    assert joined(asked("r, s", "r.n < s.d"), rows) == [(1, "a"), (2, "a")]
    assert joined(asked("r, s", "r.n > s.d"), rows) == [(1, "b")]


def test_integers_are_not_compared_as_doubles() -> None:
    rows = lines(
        """
        r  123
        s  abc
        """,
        n={"1": BIG, "2": BIG + 1, "3": -(2**63), "a": BIG + 1, "b": BIG, "c": -(2**63) + 1},
    )
    assert joined(asked("r, s", "r.n = s.n"), rows) == [(1, "b"), (2, "a")]
    assert joined(asked("r, s", "r.n < s.n"), rows) == [(1, "a"), (3, "a"), (3, "b"), (3, "c")]


def test_tiny_and_huge_doubles() -> None:
    tiny, huge = 5e-324, 1.7976931348623157e308
    rows = lines(
        """
        r  123
        s  abc
        """,
        d={"1": tiny, "2": 0.0, "3": -huge, "a": tiny, "b": huge, "c": -tiny},
    )
    assert joined(asked("r, s", "r.d = s.d"), rows) == [(1, "a")]
    less = [(1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b"), (3, "c")]
    assert joined(asked("r, s", "r.d < s.d"), rows) == less


@pytest.mark.parametrize("value", [1.7976931348623157e308, -1.7976931348623157e308])
def test_the_greatest_double(value: float) -> None:
    """Beyond it there is only infinity, which no range of values can end before."""
    rows = lines(
        """
        r  12.
        s  a.b
        """,
        d={"1": value, "2": value / 2, "a": value, "b": value},
    )
    assert joined(asked("r, s", "r.d = s.d"), rows) == [(1, "a"), (1, "b")]
    assert joined(asked("r, s", "r.d <= s.d AND r.d >= s.d"), rows) == [(1, "a"), (1, "b")]
    assert joined(asked("r, s", "r.d <> s.d"), rows) == [(2, "a"), (2, "b")]


def test_strings() -> None:
    """By their bytes: neither case nor blanks nor accents are folded, and none are cut."""
    words = ["", "a", "A", "a ", "é", "e\u0301", "🚕", "a\x00", "a\x00b"]
    rows = {
        "r": [row(0, i, k=word) for i, word in enumerate([*words, None])],
        "s": [row(1, str(i), k=word) for i, word in enumerate([*words, None])],
    }
    same = [(i, str(i)) for i in range(len(words))]
    assert joined(asked("r, s", "r.k = s.k"), rows) == same
    unlike = joined(asked("r, s", "r.k <> s.k"), rows)
    assert len(unlike) == len(words) ** 2 - len(words)
    assert not set(unlike) & set(same)


def test_booleans_and_times() -> None:
    rows = lines(
        """
        r  123
        s  .ab
        """,
        b={"1": True, "2": False, "3": None, "a": True, "b": None},
    )
    assert joined(asked("r, s", "r.b = s.b"), rows) == [(1, "a")]
    assert joined(asked("r, s", "r.b <> s.b"), rows) == [(2, "a")]
    assert joined(asked("r, s", "r.ts = s.ts"), rows) == [(2, "a"), (3, "b")]
    assert joined(asked("r, s", "r.ts > s.ts"), rows) == [(3, "a")]


# --- conditions


def test_selections_on_each_side() -> None:
    rows = lines(
        """
        r  1234
        s  abcd
        """,
        d={"1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0, "a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0},
        n={"a": 1, "c": None},
    )
    where = "r.d BETWEEN 2 AND 3 AND s.n = 0 AND r.d <= s.d"
    assert joined(asked("r, s", where), rows) == [(2, "b"), (2, "d"), (3, "d")]
    assert joined(asked("r, s", "r.d = s.d AND s.n IS NULL"), rows) == [(3, "c")]
    assert joined(asked("r, s", "r.d = s.d AND r.d > 9"), rows) == []


def test_several_comparisons_of_one_pair() -> None:
    rows = lines(
        """
        r  123
        s  abc
        """,
        d={"1": 1.0, "2": 2.0, "3": 3.0, "a": 1.0, "b": 2.0, "c": 3.0},
        n={"1": 3, "2": 2, "3": 1, "a": 1, "b": 2, "c": 3},
    )
    where = "r.d <= s.d AND r.n >= s.n AND r.k = s.k"
    assert joined(asked("r, s", where), rows) == [(1, "a"), (1, "b"), (1, "c"), (2, "b")]


def test_a_pair_of_two_alternatives_is_told_once() -> None:
    rows = lines(
        """
        r  12
        s  ab
        """,
        d={"1": 1.0, "a": 1.0},
        n={"b": 1},
    )
    both = asked("r, s", "r.d = s.d OR r.n = s.n")
    #    (1, a) by both, (2, b) by d, (2, a) by n
    assert joined(both, rows) == [(1, "a"), (2, "a"), (2, "b")]


def test_every_pair_where_that_is_said() -> None:
    rows = lines("""
        r  12.
        s  .ab
    """)
    assert len(joined(ALL, rows)) == 4


def test_identical_rows_are_all_told() -> None:
    rows = {"r": [row(0, 1)] * 3, "s": [row(0, "a")] * 2}
    assert joined(asked("r, s", "r.n = s.n"), rows) == [(1, "a")] * 6
    twice = asked("r AS a, r AS b", "a.id = b.id")
    assert joined(twice, {"r": [row(0, 1)] * 3}, streams=("r",)) == [(1, 1)] * 9


def test_an_object_may_be_there_twice() -> None:
    """Rows append: a new row of an object does not replace the one before."""
    rows = {"r": [row(0, 1), row(1, 1)], "s": [row(2, "a")]}
    assert joined(asked("r, s", "r.n = s.n"), rows) == [(1, "a"), (1, "a")]


# --- three streams


def test_three_streams() -> None:
    rows = lines(
        """
        r  1....2
        s  .a.b..
        t  ..7..8
        """,
        n={"1": 5, "2": 6, "a": 5, "b": 6, "7": 5, "8": 6},
    )
    chain = asked("r, s, t", "r.n = s.n AND s.n = t.n")
    found = joined(chain, rows, streams=("r", "s", "t"))
    assert found == [(1, "a", 7), (2, "b", 8)]


def test_the_last_of_three_measures_both_others() -> None:
    """8 comes six after 1, and four after b."""
    rows = lines("""
        r  1......
        s  ..b....
        t  ......8
    """)
    for size, found in ((6, [(1, "b", 8)]), (5, [])):
        sources = f"r [RANGE {size} MICROSECONDS], s [RANGE 4 MICROSECONDS], t [ROWS 1]"
        query = asked(sources, "r.n = s.n AND s.n = t.n")
        assert joined(query, rows, streams=("r", "s", "t")) == found


def test_the_middle_one_may_come_last() -> None:
    rows = lines(
        """
        r  12..
        s  ...a
        t  .78.
        """,
        d={"1": 1.0, "2": 2.0, "a": 2.0, "7": 3.0, "8": 2.0},
    )
    query = asked("r, s, t", "r.d <= s.d AND s.d < t.d")
    assert joined(query, rows, streams=("r", "s", "t")) == [(1, "a", 7), (2, "a", 7)]


def test_a_stream_twice_beside_another() -> None:
    rows = lines("""
        r  12.
        s  ..a
    """)
    query = asked("r AS one, s, r AS two", "one.n = s.n AND s.n = two.n AND one.id <= two.id")
    j = Lines(query)
    j.process(rows)
    # Columns of r, of its second place, then of s.
    assert j.finish() == [(1, 1, "a"), (1, 2, "a"), (2, 2, "a")]

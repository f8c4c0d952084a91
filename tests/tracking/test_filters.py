"""Filters of moving queries: asked before the operator or inside it, the answers are the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.support.ledgers import Twin, compared, fleet, moving
from watchline.catalog import Catalog
from watchline.evaluate import satisfies
from watchline.model import Query, Source, Stream
from watchline.proximity.query_columns import Filter
from watchline.proximity.query_columns import moving as columns_of
from watchline.proximity.tables import INSIDE, NO_FILTER
from watchline.rows.columns import Columns
from watchline.tracking import filters
from watchline.tracking.filters import Filters

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, n BIGINT, kind STRING, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)
WHERES = [
    "n > 3",
    "x >= 0.25 AND y < 0.5",
    "kind = 'taxi'",
    "x < 0.1 OR y > 0.9",
    "n >= 9007199254740993",
    "x < y",
    "kind IS NULL",
]


def asked(wheres: list[str], inside: str = "INSIDE ('M', 1, 1, 1)") -> tuple[Stream, list[Query]]:
    queries = [f"CREATE QUERY q{i} AS SELECT * FROM cars WHERE {w}" for i, w in enumerate(wheres)]
    catalog = Catalog.of([CARS, *(f"{q} {inside}" for q in queries)])
    return catalog.stream("cars"), [catalog.queries()[f"q{i}"] for i in range(len(wheres))]


def rows(count: int = 300) -> pa.Table:
    rng = np.random.default_rng(3)
    odd = rng.random(count)
    return pa.table(
        {
            "id": np.arange(count),
            "x": np.where(odd < 0.05, np.inf, rng.random(count)),
            "y": np.where(odd > 0.95, np.nan, rng.random(count)),
            "n": pa.array(rng.integers(-5, 10, count), mask=odd > 0.9),
            "kind": pa.array(rng.choice(["taxi", "car", ""], count), mask=odd < 0.1),
            "ts": pa.array(np.zeros(count, np.int64)).cast(pa.timestamp("us")),
        }
    )


def passes(held: Filters, columns: Columns, number: int) -> list[bool]:
    """What the operator would find of each row, by hand."""
    bits, values = held.columns_of(columns)
    if number == NO_FILTER:
        return [True] * len(columns)
    if number >= 0:
        return [bool(line[number // 64] >> np.uint64(number % 64) & np.uint64(1)) for line in bits]
    terms, first = held.terms()
    mine = terms[first[number - INSIDE] : first[number - INSIDE + 1]]
    return [all(lo <= line[int(k)] < hi for k, lo, hi in mine) for line in values]


@pytest.mark.parametrize("selectivity", [0.0, 1e9])
def test_a_filter_lets_through_what_satisfies_its_query(selectivity: float) -> None:
    stream, queries = asked(WHERES)
    held = Filters(stream)
    numbers, new, lacking = held.acquire(columns_of(enumerate(queries), stream), selectivity)
    assert new
    assert lacking
    inside = [bool(number < NO_FILTER) for number in numbers]
    # What is not a conjunction of ranges that floats hold is asked before, however few pass.
    assert inside == [selectivity == 0 and i < 2 for i in range(len(WHERES))]
    columns = Columns(rows(), stream)
    for query, number in zip(queries, numbers.tolist(), strict=True):
        alone = Query(query.id, (Source("cars"),), where=query.where)
        assert passes(held, columns, number) == satisfies(alone, columns, stream).tolist()


def test_a_fixed_box_of_nearest_neighbours_is_a_filter() -> None:
    stream, queries = asked(["n < 5", "x < 0.5"], "INSIDE (0.25, 0.1, 0.75, 0.9) kNN (3, 0, 0)")
    for selectivity in (0.0, 1e9):
        held = Filters(stream)
        numbers, _, _ = held.acquire(columns_of(enumerate(queries), stream), selectivity)
        columns = Columns(rows(), stream)
        for query, number in zip(queries, numbers.tolist(), strict=True):
            alone = Query(query.id, (Source("cars"),), where=query.where, region=query.region)
            assert passes(held, columns, number) == satisfies(alone, columns, stream).tolist()


def test_filters_are_shared_released_and_numbered_again() -> None:
    stream, queries = asked(["n > 3", "n > 3", "kind = 'a'", "n > 4"])
    held = Filters(stream)
    numbers, new, _ = held.acquire(columns_of(enumerate(queries), stream), 0.0)
    assert new
    assert numbers[0] == numbers[1] != numbers[3]
    again, new, lacking = held.acquire(columns_of(enumerate(queries[:1]), stream), 1e9)
    # It is known already, and stays where it is.
    assert not new
    assert not lacking
    assert again[0] == numbers[0]
    held.release(numbers)
    _, later = asked(["kind = 'b'", "n > 9"])
    others, new, lacking = held.acquire(columns_of(enumerate(later), stream), 0.0)
    assert new
    assert lacking
    assert others[0] == numbers[2]
    assert others[1] == numbers[3]
    terms, first = held.terms()
    mine = terms[first[others[1] - INSIDE] : first[others[1] - INSIDE + 1]]
    assert mine[:, 1].tolist() == [10.0]


def test_lines_lack_nothing_for_other_ranges_of_the_same_attributes() -> None:
    """Their values are there, also if the filters that first asked for them are gone."""
    stream, queries = asked(
        ["n > 3 AND x < 0.5", "n > 4", "x > 0.1", "n > 3 AND y > 0", "kind = 'a'"]
    )
    held = Filters(stream)
    told = []
    for query in queries:
        numbers, *news = held.acquire(columns_of([(0, query)], stream), 0.0)
        told.append(tuple(news))
        held.release(numbers)
    assert told == [(True, True), (True, False), (True, False), (True, True), (True, True)]


def test_many_filters_have_more_than_a_word_of_bits() -> None:
    wheres = [f"kind = 'k{i}'" for i in range(130)]
    stream, queries = asked(wheres)
    held = Filters(stream)
    numbers, _, _ = held.acquire(columns_of(enumerate(queries), stream), 0.0)
    table = rows(4).set_column(4, "kind", pa.array(["k0", "k64", "k129", "k7"]))
    columns = Columns(table, stream)
    found = [passes(held, columns, number) for number in numbers.tolist()]
    assert [[i for i in range(130) if found[i][row]] for row in range(4)] == [[0], [64], [129], [7]]
    assert Filter(queries[0].where, None) in held._numbers


@pytest.mark.parametrize("before", [0.0, 1e12])
def test_the_tracker_tells_the_same_wherever_filters_are_asked(
    monkeypatch: pytest.MonkeyPatch, before: float
) -> None:
    monkeypatch.setattr(filters, "BEFORE", before)
    queries = moving("BIGINT")
    assert any(q.where == compared("speed", "<", 50.0) for q in queries)
    twin = Twin("BIGINT", None, queries)
    data = fleet(300, seed=11)
    for start in range(0, len(data), 50):
        twin.process(data[start : start + 50])

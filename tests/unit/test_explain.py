"""EXPLAIN: the plan of a query, in lines that a person reads."""

from __future__ import annotations

import re

import numpy as np

from watchline.catalog import Catalog
from watchline.matching import limits
from watchline.tracking.explain import _ASKED, _KNOWN

CARS = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, speed DOUBLE, kind STRING, colour STRING,"
    " ts TIMESTAMP) OBJECT id TIME ts POINT (x, y)"
)


def lines(catalog: Catalog, query_id: str) -> list[str]:
    """What the plan adds to the text."""
    found = catalog.explain(query_id).splitlines()
    first = next(i for i, line in enumerate(found) if line.startswith("  emits"))
    return found[first + 1 :]


def test_a_box_among_few_others() -> None:
    catalog = Catalog.of(
        [
            CARS,
            "CREATE QUERY a AS SELECT * FROM cars WHERE x < 3 AND speed > 9",
            "CREATE QUERY b AS SELECT * FROM cars WHERE y < 3",
        ]
    )
    assert lines(catalog, "a") == [
        "  planned as  a box over speed, x",
        "  stands in   scan of 3 dimensions with 1 other box",
        "  found by    one search, about 13 ns a row",
    ]


def test_keys_codes_and_what_is_left() -> None:
    catalog = Catalog.of(
        [
            CARS,
            "CREATE QUERY a AS SELECT * FROM cars WHERE kind = 'bus' AND colour IN ('red', 'blue')"
            " AND x > y AND speed < 5",
        ]
    )
    assert lines(catalog, "a") == [
        "  planned as  2 boxes over kind by code, speed, below colour with 2 values",
        "  then        x > y, on candidates",
        "  stands in   scan of 2 dimensions with no other box of its value",
        "  found by    one search, about 10 ns a row",
    ]


def test_alternatives_in_different_parts() -> None:
    catalog = Catalog.of([CARS, "CREATE QUERY a AS SELECT * FROM cars WHERE x < 3 OR kind = 'bus'"])
    assert [line for line in lines(catalog, "a") if "planned" in line] == [
        "  planned as  a box over x",
        "  planned as  a box that holds every row, below kind with 1 value",
    ]


def test_changes_of_few_boxes() -> None:
    catalog = Catalog.of(
        [
            CARS,
            "CREATE QUERY a AS SELECT * FROM cars WHERE x < 3 EMIT CHANGES",
            "CREATE QUERY b AS SELECT * FROM cars WHERE kind = 'bus' AND x < 3 EMIT CHANGES",
        ]
    )
    assert lines(catalog, "a")[-1].startswith("  decided by  two stabs and their difference, about")
    assert lines(catalog, "b")[-1].startswith("  decided by  comparing both rows of a move, about")


def test_changes_of_many_boxes_name_the_three_ways() -> None:
    catalog = Catalog.of([CARS])
    n = limits.MANY_WHOLE + 1
    lo = np.random.default_rng(1).uniform(0, 100, (2, n))
    catalog.register_boxes(
        "cars", [f"q{i}" for i in range(n)], {"x": (lo[0], lo[0] + 1), "y": (lo[1], lo[1] + 1)}
    )
    planned, stands, by, crossings, grid, stabs = lines(catalog, "q7")
    assert planned == "  planned as  a box over x, y"
    assert stands == f"  stands in   border lists of 2 dimensions with {n - 1} others"
    assert by == "  decided by  what is cheapest for a batch:"
    assert (
        crossings.split() == "crossings, about 48 ns a move and 10 for each border between".split()
    )
    assert re.fullmatch(r" +a grid of \d+ × \d+, about 48 ns a move and .* border between", grid)
    assert stabs.startswith("              two stabs of a ces, about")


def test_a_grid_is_for_two_dimensions() -> None:
    n = limits.MANY_WHOLE + 1
    catalog = Catalog.of(CARS)
    lo = np.arange(n, dtype=np.float64)
    catalog.register_boxes("cars", [f"q{i}" for i in range(n)], {"x": (lo, lo + 1)})
    assert not any("grid" in line for line in lines(catalog, "q7"))


def test_every_version_has_its_own_plan() -> None:
    catalog = Catalog.of([CARS, "CREATE QUERY a AS SELECT * FROM cars WHERE x < 3"])
    assert "with no other box" in catalog.explain("a")
    catalog.execute("CREATE QUERY b AS SELECT * FROM cars WHERE x < 4")
    assert "with 1 other box" in catalog.explain("a")
    assert "with no other box" in catalog.explain("a", version=2)


def test_queries_that_move_and_where_their_filters_are_asked() -> None:
    many = [
        f"CREATE QUERY m{i} AS SELECT * FROM cars WHERE speed > 9 INSIDE ('M', {i}, 1, 1)"
        for i in range(60)
    ]
    catalog = Catalog.of(
        [
            CARS,
            "CREATE QUERY slow AS SELECT * FROM cars WHERE speed < 3 AND x > 5"
            " INSIDE ('M', 7, 2, 3)",
            "CREATE QUERY taxi AS SELECT * FROM cars WHERE kind = 'taxi' kNN (5, 1, 2)",
            "CREATE QUERY all AS SELECT * FROM cars INSIDE CIRCLE ('M', 7, 2) kNN ('M', 9, 7)",
            *many,
        ]
    )
    others = "in a grid with 62 other queries"
    assert lines(catalog, "slow") == [
        f"  planned as  a box that moves, {others}",
        f"  decided by  {_ASKED}",
        "  filtered    inside the operator, on candidates: 2 ranges each, with no other query",
    ]
    assert lines(catalog, "taxi") == [
        f"  planned as  the 5 nearest, {others}",
        f"  decided by  {_KNOWN}",
        "  filtered    before the operator, by the index, with no other query",
    ]
    assert lines(catalog, "all") == [
        f"  planned as  the 9 nearest of those in a circle that moves, {others}",
        f"  decided by  {_KNOWN}",
    ]
    assert lines(catalog, "m3")[-1] == (
        "  filtered    inside the operator, on candidates: 1 range each, with 59 others that ask"
        " the same; before it, if these look at more than 50.00% of all objects"
    )


def test_a_join_tells_who_meets_whom_and_how() -> None:
    catalog = Catalog.of(
        [
            *(
                f"CREATE STREAM {name} (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
                " OBJECT id TIME ts"
                for name in "rs"
            ),
            "CREATE QUERY same AS SELECT * FROM r [ROWS 5], s [ROWS 9] WHERE r.x = s.x AND r.y < 1",
            "CREATE QUERY more AS SELECT * FROM r [ROWS 7], s [ROWS 9] WHERE r.x = s.x",
            "CREATE QUERY less AS SELECT * FROM r AS a [ROWS 5], s AS b [RANGE 1 SECOND]"
            " WHERE a.x < b.y",
            "CREATE QUERY all AS SELECT * FROM r [ROWS 5] CROSS JOIN s [ROWS 9]",
            "CREATE QUERY three AS SELECT * FROM r [ROWS 5], s [ROWS 9], s AS t [ROWS 2]"
            " WHERE r.x = s.x AND s.y > t.y",
        ]
    )
    assert lines(catalog, "same") == [
        "  planned as  a row of r meets s [ROWS 9]: by the hash of s.x",
        "  shared with 1 other query",
        "  planned as  a row of s meets r [ROWS 5]: by the hash of r.x",
        "  shared with 1 other query",
    ]
    assert lines(catalog, "less") == [
        "  planned as  a row of a meets b [RANGE 1 SECOND]: in blocks sorted by b.y",
        "  shared with no other query",
        "  planned as  a row of b meets a [ROWS 5]: in blocks sorted by a.x",
        "  shared with no other query",
    ]
    assert "every row of the window" in lines(catalog, "all")[0]
    assert lines(catalog, "three") == [
        "  planned as  a chain of 3 streams, joined one by one from the row that comes last"
    ]

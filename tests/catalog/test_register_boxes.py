"""Bulk registration: what goes in comes out as the same queries; what is wrong changes nothing."""

from __future__ import annotations

import math
import re
import threading
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import watchline as wl
from tests.conftest import TICKS
from watchline import sql
from watchline.catalog import Catalog
from watchline.errors import UnknownQuery


def shown(catalog: Catalog, query_id: str) -> str:
    return catalog.queries()[query_id].sql.partition(" WHERE ")[2]


def test_one_range(catalog: Catalog) -> None:
    assert catalog.register_boxes("ticks", ["a", "b"], {"price": ([1, 2], [3, 4.5])}) == 2
    assert shown(catalog, "a") == "price >= 1 AND price < 3 EMIT CHANGES"
    assert shown(catalog, "b") == "price >= 2 AND price < 4.5 EMIT CHANGES"
    assert "bulk registration" in catalog.explain("a")


def test_all_kinds_of_attributes(catalog: Catalog) -> None:
    bounds = {
        "price": (np.array([1.0, -np.inf]), np.inf),
        "n": (np.array([2**60, -(2**63)]), np.array([2**60 + 1, 5])),
        "symbol": ["IBM", "it's"],
        "ts": (np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"), datetime(2027, 1, 1)),
    }
    catalog.register_boxes("ticks", pa.array(["a", "b"]), bounds, emit="matches")
    assert shown(catalog, "a") == (
        f"n = {2**60} AND price >= 1 AND symbol = 'IBM' AND ts >= TIMESTAMP '2026-01-01 00:00:00'"
        " AND ts < TIMESTAMP '2027-01-01 00:00:00' EMIT MATCHES"
    )
    assert shown(catalog, "b").startswith(
        "n < 5 AND price <= 1.7976931348623157e+308 AND symbol = 'it"
    )


def test_boxes_are_the_queries_that_sql_would_make(catalog: Catalog) -> None:
    catalog.register_boxes("ticks", ["a"], {"price": (1, 3), "n": (5, 9), "symbol": "X"})
    query = catalog.queries()["a"]
    again = sql.statement(query.sql, catalog.streams())
    assert isinstance(again, sql.CreateQuery)
    assert again.query == query


def test_integers_are_exact(catalog: Catalog) -> None:
    top = 2**63 - 1
    catalog.register_boxes("ticks", ["a"], {"n": (2**53 + 1, top)})
    assert shown(catalog, "a") == f"n >= {2**53 + 1} AND n < {top} EMIT CHANGES"
    catalog.register_boxes("ticks", ["b"], {"n": (0.5, math.inf)})
    assert shown(catalog, "b") == "n >= 1 EMIT CHANGES"
    catalog.register_boxes("ticks", ["c"], {"n": (-math.inf, 2.5)})
    assert shown(catalog, "c") == "n < 3 EMIT CHANGES"
    mixed = {"n": ([2**53 + 1, -math.inf], [math.inf, 2**63])}
    catalog.register_boxes("ticks", ["d", "e"], mixed)
    assert shown(catalog, "d") == f"n >= {2**53 + 1} EMIT CHANGES"
    assert shown(catalog, "e") == "n IS NOT NULL EMIT CHANGES"


def test_times_are_rounded_up_to_microseconds(catalog: Catalog) -> None:
    bounds = {"ts": (np.datetime64(1_500, "ns"), np.datetime64(3_500, "ns"))}
    catalog.register_boxes("ticks", ["a"], bounds)
    assert shown(catalog, "a").startswith(
        "ts >= TIMESTAMP '1970-01-01 00:00:00.000002' AND"
        " ts < TIMESTAMP '1970-01-01 00:00:00.000004'"
    )
    catalog.register_boxes("ticks", ["b"], {"ts": ([datetime(2026, 1, 1)], math.inf)})
    assert shown(catalog, "b") == "ts >= TIMESTAMP '2026-01-01 00:00:00' EMIT CHANGES"


def test_zero_has_one_sign(catalog: Catalog) -> None:
    catalog.register_boxes("ticks", ["a"], {"price": (-0.0, 1)})
    assert shown(catalog, "a") == "price >= 0 AND price < 1 EMIT CHANGES"


NAN = math.nan
BAD: list[tuple[type[Exception], str, Any, Any]] = [
    (
        wl.InvalidRange,
        "query 'b' (number 1): the bounds of 'price' need lo < hi",
        ["a", "b"],
        {"price": ([1, 5], [2, 5])},
    ),
    (wl.InvalidRange, "neither may be NaN", ["a"], {"price": (NAN, 1)}),
    (wl.InvalidRange, "neither may be NaN", ["a"], {"price": (0, NAN)}),
    (wl.InvalidRange, "lo < hi", ["a"], {"price": (math.inf, math.inf)}),
    (wl.InvalidRange, "NaN", ["a"], {"n": (NAN, 1.0)}),
    (wl.InvalidRange, "lo < hi", ["a"], {"n": (5, 5)}),
    (wl.InvalidRange, "wrong side", ["a"], {"n": (math.inf, math.inf)}),
    (wl.InvalidRange, "wrong side", ["a"], {"n": (-math.inf, -math.inf)}),
    (wl.InvalidRange, "no value is below", ["a"], {"n": (-math.inf, -(2**63))}),
    (wl.InvalidRange, "lo < hi", ["a"], {"price": (-math.inf, -1.7976931348623157e308)}),
    (wl.InvalidRange, "beyond BIGINT", ["a"], {"n": ([2**63], [math.inf])}),
    (wl.InvalidQuery, "must be BIGINT values", ["a"], {"n": (True, 5)}),
    (wl.InvalidQuery, "must be DOUBLE values", ["a"], {"price": (1j, 5)}),
    (wl.InvalidQuery, "must be DOUBLE values", ["a"], {"price": (np.ma.array([1.0]), 5)}),
    (wl.InvalidRange, "neither may be NaN", ["a"], {"price": ([None], 5)}),
    (wl.InvalidQuery, "one string for each", ["a"], {"symbol": pa.array([5])}),
    (wl.InvalidQuery, "the one string 'abc'", "abc", {"price": (1, 2)}),
    (wl.InvalidQuery, "must be a mapping", ["a"], ["price"]),
    (wl.InvalidQuery, "name is a string, not 1", ["a"], {1: (1, 2)}),
    (wl.InvalidRange, "beyond BIGINT", ["a"], {"n": (0.0, 1e300)}),
    (wl.InvalidRange, "NaT", ["a"], {"ts": (np.datetime64("NaT"), np.inf)}),
    (wl.InvalidRange, "years 1 to 9999", ["a"], {"ts": (0, 2**62)}),
    (wl.InvalidQuery, "must be BIGINT values", ["a"], {"n": ("x", 1)}),
    (wl.InvalidQuery, "must be DOUBLE values", ["a"], {"price": ("x", "y")}),
    (wl.InvalidQuery, "must be a pair", ["a"], {"price": 3}),
    (wl.InvalidQuery, "must be a pair", ["a"], {"price": (1, 2, 3)}),
    (wl.InvalidQuery, "shape", ["a", "b"], {"price": ([1, 2, 3], 9)}),
    (wl.InvalidQuery, "shape", ["a"], {"price": ([[1.0]], 9)}),
    (wl.InvalidQuery, "needs bounds", ["a"], {}),
    (wl.InvalidQuery, "BOOLEAN", ["a"], {"halted": (0, 1)}),
    (wl.InvalidQuery, "one string for each", ["a", "b"], {"symbol": ["X"]}),
    (wl.InvalidQuery, "one string for each", ["a"], {"symbol": [None]}),
    (wl.InvalidQuery, "one string for each", ["a"], {"symbol": [7]}),
    (wl.InvalidQuery, "no ids", [], {"price": (1, 2)}),
    (wl.InvalidQuery, "must be strings", [1, 2], {"price": (1, 2)}),
    (wl.InvalidQuery, "null or empty", ["a", None], {"price": (1, 2)}),
    (wl.InvalidQuery, "null or empty", ["a", ""], {"price": (1, 2)}),
    (wl.InvalidQuery, "must be strings", ["\ud800"], {"price": (1, 2)}),
    (wl.DuplicateQuery, "'a' stands in the ids more than once", ["a", "b", "a"], {"price": (1, 2)}),
    (wl.DuplicateQuery, "'taken' is registered already", ["a", "taken"], {"price": (1, 2)}),
    (wl.DuplicateQuery, "'box' is registered already", ["box"], {"price": (1, 2)}),
    (wl.UnknownAttribute, "no attribute 'prise'; did you mean 'price'", ["a"], {"prise": (1, 2)}),
]


@pytest.mark.parametrize(("error", "message", "ids", "bounds"), BAD, ids=[b[1] for b in BAD])
def test_mistakes_change_nothing(error: Any, message: str, ids: Any, bounds: Any) -> None:
    catalog = Catalog.of([TICKS, "CREATE QUERY taken AS SELECT * FROM ticks WHERE price < 3"])
    catalog.register_boxes("ticks", ["box"], {"price": (1, 2)})
    with pytest.raises(error, match=re.escape(message)):
        catalog.register_boxes("ticks", ids, bounds)
    assert catalog.version == 3
    assert len(catalog.queries()) == 2


def test_unknown_stream_and_emit(catalog: Catalog) -> None:
    with pytest.raises(wl.UnknownStream, match="did you mean 'ticks'"):
        catalog.register_boxes("tick", ["a"], {"price": (1, 2)})
    with pytest.raises(wl.InvalidQuery, match="'changes' or 'matches', not 'all'"):
        catalog.register_boxes("ticks", ["a"], {"price": (1, 2)}, emit="all")
    assert catalog.version == 1


@pytest.mark.slow
def test_a_hundred_thousand(catalog: Catalog) -> None:
    n = 100_000
    lo = np.arange(n) / 7
    catalog.register_boxes("ticks", [f"b{i}" for i in range(n)], {"price": (lo, lo + 1)})
    catalog.execute("; ".join(f"DROP QUERY b{i}" for i in range(0, 1000, 2)))
    queries = catalog.queries()
    assert len(queries) == n - 500
    assert "b998" not in queries
    assert queries["b999"].where[0].atoms[0].range.lo == 999 / 7  # type: ignore[union-attr]
    [block] = queries.blocks
    assert block.lo.shape == (n - 500, 1)
    assert block.ids[0].as_py() == "b1"
    with pytest.raises(wl.DuplicateQuery, match="'b999'"):
        catalog.execute("CREATE QUERY b999 AS SELECT * FROM ticks")


def test_boxes_are_dropped_while_others_read() -> None:
    """Dropped boxes are taken out by whoever reads next, in any thread."""
    catalog = Catalog.of([TICKS])
    ids = [f"box {i}" for i in range(2_000)]
    catalog.register_boxes("ticks", ids, {"price": (0.0, 1.0)})
    short: list[int] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            short.append(len(catalog.queries()))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for name in ids[:50]:
            catalog.drop(name)
            assert name not in catalog.queries()
    finally:
        ended.set()
        for reader in readers:
            reader.join()
    assert sorted(catalog.queries().ids()) == sorted(ids[50:])
    assert min(short) >= 1_950
    with pytest.raises(UnknownQuery):
        catalog.drop(ids[0])

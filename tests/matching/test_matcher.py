"""`wl.Matcher`: Arrow in, Arrow out, without Spark."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import watchline as wl
from watchline.catalog import Catalog

TICKS = (
    "CREATE STREAM ticks (symbol STRING, price DOUBLE, n BIGINT, ts TIMESTAMP)"
    " OBJECT symbol TIME ts"
)
CHEAP = "CREATE QUERY cheap AS SELECT * FROM ticks WHERE price < 40"
IBM = "CREATE QUERY ibm AS SELECT * FROM ticks WHERE symbol = 'IBM'"
SCHEMA = pa.schema(
    [
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("n", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)


def table(*rows: tuple[Any, ...]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def found(out: pa.Table) -> list[tuple[str, Any]]:
    return sorted(zip(out["query_id"].to_pylist(), out["n"].to_pylist(), strict=True))


ROWS = table(("IBM", 39.0, 1, 0), ("IBM", 41.0, 2, 1), ("ACME", 5.0, 3, 2), ("ACME", 50.0, 4, 3))


def test_rows_come_out_once_for_each_query() -> None:
    matcher = wl.Matcher([TICKS, CHEAP, IBM], "ticks")
    out = matcher.match(ROWS)
    assert out.schema.names == ["query_id", *SCHEMA.names]
    assert [out.schema.field(f.name).type for f in SCHEMA] == [f.type for f in SCHEMA]
    assert found(out) == [("cheap", 1), ("cheap", 3), ("ibm", 1), ("ibm", 2)]
    for row in out.to_pylist():
        assert {**row, "query_id": None} in [{**r, "query_id": None} for r in ROWS.to_pylist()]
    counts = {"queries": 2, "unanswered": 0, "rows": 4, "matches": 4}
    assert matcher.stats() == {"version": 3, **counts}


def test_record_batches_and_chunked_tables() -> None:
    matcher = wl.Matcher([TICKS, CHEAP, IBM], "ticks")
    whole = found(matcher.match(ROWS))
    assert found(matcher.match(ROWS.to_batches()[0])) == whole
    assert found(matcher.match(pa.concat_tables([ROWS.slice(0, 1), ROWS.slice(1)]))) == whole
    one_by_one = [pair for i in range(4) for pair in found(matcher.match(ROWS.slice(i, 1)))]
    assert sorted(one_by_one) == whole


def test_own_columns_of_the_rows_come_out_too() -> None:
    rows = ROWS.append_column("extra", pa.array([[1], [2], [3], None]))
    out = wl.Matcher([TICKS, CHEAP], "ticks").match(rows)
    assert out.schema.names == ["query_id", *SCHEMA.names, "extra"]
    assert out["extra"].to_pylist() == [[1], [3]]


def test_nothing_in_nothing_out() -> None:
    matcher = wl.Matcher([TICKS, CHEAP], "ticks")
    for rows in (table(), pa.RecordBatch.from_pylist([], SCHEMA), ROWS.slice(3)):
        out = matcher.match(rows)
        assert (out.num_rows, out.schema.names) == (0, ["query_id", *SCHEMA.names])
        assert out.schema.field("query_id").type == pa.string()


def test_a_stream_without_queries() -> None:
    matcher = wl.Matcher([TICKS, CHEAP + " EMIT CHANGES"], "ticks")
    assert matcher.match(ROWS).num_rows == 0
    assert matcher.stats()["queries"] == 0


def test_null_and_nan_fail_the_conditions_on_them() -> None:
    never = "CREATE QUERY never AS SELECT * FROM ticks WHERE NOT price < 40"
    gone = "CREATE QUERY gone AS SELECT * FROM ticks WHERE price IS NULL"
    rows = table(
        (None, None, 1, None),
        ("IBM", math.nan, 2, 0),
        ("IBM", math.inf, 3, 0),
        ("IBM", -math.inf, 4, 0),
        ("IBM", -0.0, 5, 0),
    )
    out = wl.Matcher([TICKS, CHEAP, never, gone], "ticks").match(rows)
    assert found(out) == [("cheap", 5), ("gone", 1), ("gone", 2)]


def test_select_lists_are_honoured_where_all_agree() -> None:
    some = "CREATE QUERY {} AS SELECT n, price FROM ticks WHERE price < {}"
    agreeing = [TICKS, some.format("a", 40), some.format("b", 6)]
    out = wl.Matcher(agreeing, "ticks").match(ROWS)
    assert out.schema.names == ["query_id", "n", "price"]
    assert found(out) == [("a", 1), ("a", 3), ("b", 3)]
    other = "CREATE QUERY c AS SELECT n FROM ticks WHERE price < 1"
    out = wl.Matcher([*agreeing, other], "ticks").match(ROWS)
    assert out.schema.names == ["query_id", *SCHEMA.names]


def test_following_the_catalog(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog")
    catalog.execute(f"{TICKS}; {CHEAP}")
    matcher = wl.Matcher(tmp_path / "catalog", "ticks")
    catalog.execute(IBM)
    catalog.drop("cheap")
    assert found(matcher.match(ROWS)) == [("cheap", 1), ("cheap", 3)]
    for version, names in ((2, {"cheap", "ibm"}), (3, {"ibm"}), (1, {"cheap"}), (3, {"ibm"})):
        matcher.advance_to(version)
        assert matcher.version == matcher.stats()["version"] == version
        assert set(matcher.match(ROWS)["query_id"].to_pylist()) == names
    for wrong in (4, -1, "3", 1.0, True, None):
        with pytest.raises(wl.UnknownVersion):
            matcher.advance_to(wrong)  # type: ignore[arg-type]
        assert matcher.version == 3
    assert set(wl.Matcher(catalog, "ticks", 1).match(ROWS)["query_id"].to_pylist()) == {"cheap"}


def test_a_stream_that_was_declared_anew() -> None:
    catalog = Catalog.of([TICKS, CHEAP])
    matcher = wl.Matcher(catalog, "ticks")
    matcher.match(ROWS)
    catalog.execute(
        "DROP QUERY cheap; DROP STREAM ticks;"
        "CREATE STREAM ticks (symbol STRING, size DOUBLE, ts TIMESTAMP) OBJECT symbol TIME ts"
    )
    matcher.advance_to(catalog.version)
    with pytest.raises(wl.SchemaMismatch, match=r"column 'size' .DOUBLE. is missing"):
        matcher.match(ROWS)


def test_a_selected_attribute_that_is_declared_no_more() -> None:
    catalog = Catalog.of([TICKS, CHEAP.replace("*", "symbol, price")])
    matcher = wl.Matcher(catalog, "ticks")
    assert matcher.match(ROWS).column_names == ["query_id", "symbol", "price"]
    catalog.execute(
        "DROP QUERY cheap; DROP STREAM ticks;"
        "CREATE STREAM ticks (symbol STRING, size DOUBLE, ts TIMESTAMP) OBJECT symbol TIME ts;"
        "CREATE QUERY large AS SELECT size FROM ticks WHERE size > 1"
    )
    matcher.advance_to(catalog.version)
    rows = ROWS.rename_columns(["size" if n == "price" else n for n in ROWS.column_names])
    assert matcher.match(rows).column_names == ["query_id", "size"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ROWS.drop_columns(["price"]),
            r"the rows do not fit .*: column 'price' .DOUBLE. is missing",
        ),
        (
            ROWS.set_column(1, "price", pa.array(["a"] * 4)),
            "'price' is string, not DOUBLE: cast it",
        ),
        (ROWS.append_column("query_id", pa.array([1] * 4)), "'query_id' is in the way of the"),
        (ROWS.append_column("extra", ROWS["n"]).append_column("extra", ROWS["n"]), "same name"),
        (ROWS.append_column("price", ROWS["price"]), "two columns have the same name"),
        (ROWS.to_pylist(), "rows come as a pyarrow Table or RecordBatch, not as list"),
        (None, "not as NoneType"),
    ],
)
def test_rows_that_do_not_fit(rows: Any, message: str) -> None:
    matcher = wl.Matcher([TICKS, CHEAP], "ticks")
    with pytest.raises(wl.SchemaMismatch, match=message):
        matcher.match(rows)
    assert matcher.stats()["rows"] == 0
    assert matcher.match(ROWS).num_rows == 2


def test_types_that_fit_are_taken() -> None:
    rows = ROWS.set_column(0, "symbol", ROWS["symbol"].dictionary_encode()).set_column(
        1, "price", pa.array([39, 41, 5, None], pa.int32())
    )
    out = wl.Matcher([TICKS, CHEAP], "ticks").match(rows)
    assert found(out) == [("cheap", 1), ("cheap", 3)]


def test_statements_are_taken_wherever_a_catalog_is(tmp_path: Path) -> None:
    texts = [TICKS, CHEAP + " EMIT CHANGES"]
    tracker = wl.Tracker(texts, "ticks")
    told = tracker.process(ROWS.slice(0, 1))
    assert told["reason"].to_pylist() == ["enter"]
    again = wl.Tracker.restore(texts, "ticks", tracker.snapshot())
    assert again.process(ROWS.slice(1, 1))["reason"].to_pylist() == ["exit"]
    other = TICKS.replace("ticks", "others")
    pair = (
        "CREATE QUERY pair AS SELECT * FROM ticks [ROWS 5], others [ROWS 5]"
        " WHERE ticks.symbol = others.symbol"
    )
    joiner = wl.Joiner([TICKS, other, pair], ["ticks", "others"])
    assert joiner.stats()["queries"] == 1
    wl.Joiner.restore([TICKS, other, pair], ["ticks", "others"], joiner.snapshot())
    Catalog(tmp_path / "catalog").execute("; ".join(texts))
    assert wl.Tracker(tmp_path / "catalog", "ticks").version == 1
    for wrong in (None, 3):
        with pytest.raises(wl.InvalidQuery, match="a catalog is a Catalog, its path, or a list"):
            wl.Matcher(wrong, "ticks")  # type: ignore[arg-type]
    with pytest.raises(wl.CatalogError, match="there is no catalog at"):
        wl.Matcher(tmp_path / "none", "ticks")
    with pytest.raises(wl.UnknownStream):
        wl.Matcher(texts, "tocks")


@pytest.mark.parametrize("count", [0, 1, 2, 5, 6, 7, 40])
def test_a_row_comes_out_for_any_number_of_queries(count: int) -> None:
    """From a table, a batch, a part of one, or beside another row; with columns of any type."""
    texts = (
        f"CREATE QUERY q{i} AS SELECT * FROM ticks WHERE price < 2 EMIT MATCHES"
        for i in range(count)
    )
    matcher = wl.Matcher([TICKS, *texts], "ticks")
    rows = table(("ä", 9.0, 0, 0), ("IBM", 1.0, 1, 1), (None, 2.0, 2, 2))
    rows = rows.append_column("notes", pa.array([["a"], None, []]))
    rows = rows.append_column("kind", pa.array(["x", "y", None]).dictionary_encode())
    one = rows.slice(1, 1)
    alone = pa.table([column.combine_chunks() for column in one.columns], one.schema.names)
    pieces = pa.concat_tables([alone.slice(0, 0), alone, rows.slice(2)])
    batch = alone.to_batches()[0]
    for given in (rows, one, alone, pieces, batch, one.to_batches()[0], rows.to_batches()[0]):
        out = matcher.match(given)
        out.validate(full=True)
        assert sorted(out["query_id"].to_pylist()) == sorted(f"q{i}" for i in range(count))
        assert out.drop(["query_id"]).to_pylist() == one.to_pylist() * count
        assert [f.type for f in out.schema] == [pa.string(), *(f.type for f in rows.schema)]


@pytest.mark.parametrize("pick", ["*", "n, symbol"])
def test_the_result_has_one_schema_however_many_match(pick: str) -> None:
    """Calls with no pair, one and several make tables that can stand below one another."""
    texts = (f"CREATE QUERY q{i} AS SELECT {pick} FROM ticks WHERE price < {i}" for i in (1, 2))
    matcher = wl.Matcher([TICKS, *(text + " EMIT MATCHES" for text in texts)], "ticks")
    marked = pa.schema(
        [f.with_metadata({"unit": "?"}).with_nullable(f.name != "n") for f in SCHEMA],
        metadata={"from": "here"},
    )
    names = SCHEMA.names if pick == "*" else ["n", "symbol"]
    for schema in (SCHEMA, marked):
        rows = pa.Table.from_arrays([c.chunk(0) for c in ROWS.columns], schema=schema)
        rows = rows.set_column(1, schema.field(1), pa.array([0.5, 1.5, 2.5, 0.25]))
        given = (rows.slice(2, 1), rows.slice(1, 1), rows.slice(0, 1), rows, rows.slice(0, 0))
        results = [matcher.match(part) for part in given]
        assert [len(out) for out in results] == [0, 1, 2, 5, 0]
        for out in results:
            out.validate(full=True)
            wanted = pa.schema(
                [("query_id", pa.string()), *((name, SCHEMA.field(name).type) for name in names)]
            )
            assert out.schema.equals(wanted, check_metadata=True)
        assert results[1].to_pylist()[0]["n"] == 2
        assert found(pa.concat_tables(results[:3])) == [("q1", 1), ("q2", 1), ("q2", 2)]

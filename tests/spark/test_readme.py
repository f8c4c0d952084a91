"""The Python blocks of README.md run as they stand, in one namespace, and do what is said there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

README = Path(__file__).parents[2] / "README.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def names(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is defined after all blocks, which may go on from one another."""
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        for block in blocks():
            exec(compile(block, str(README), "exec"), found)
    return found


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_a_price_alert(names: dict[str, Any]) -> None:
    told = names["alerts"].orderBy("time").select("sign", "price", "reason")
    assert rows(told) == [(1, 39.5, "enter"), (-1, 40.5, "exit")]


def test_a_matcher(names: dict[str, Any]) -> None:
    [row] = names["hot"].to_pylist()
    assert (row["query_id"], row["id"], row["heat"]) == ("hot", "a", 95.0)


def test_a_query_that_moves(names: dict[str, Any]) -> None:
    """ann at 0, then at 5; t1 at 1; t2 at 4, then at 10."""
    told = names["moves"].selectExpr(
        "unix_timestamp(time)", "query_id", "sign", "object_id", "reason", "distance"
    )
    assert sorted(rows(told)) == [
        (1, "around", 1, "t1", "registered", None),
        (1, "nearest", 1, "t1", "registered", 1.0),
        (2, "around", -1, "t1", "exit", None),
        (2, "around", 1, "t2", "enter", None),
        (2, "nearest", -1, "t1", "exit", 4.0),
        (2, "nearest", 1, "t2", "enter", 1.0),
        (3, "around", -1, "t2", "exit", None),
        (3, "nearest", -1, "t2", "exit", 5.0),
        (3, "nearest", 1, "t1", "enter", 4.0),
    ]


def test_changes_as_a_pipeline(names: dict[str, Any]) -> None:
    assert sorted(rows(names["now"])) == [("around", "Ann", 0), ("nearest", "Bob", 1)]
    assert sorted(rows(names["seen"])) == [("t1",), ("t2",)]
    assert {row["owner"] for row in names["for_bob"].collect()} == {"Bob"}
    assert names["for_bob"].count() == 5


def test_a_join_of_two_streams(names: dict[str, Any]) -> None:
    """IBM's bid of 41 meets the ask of 40.5, and the last ask comes too late for both."""
    found = names["deals"].select("query_id", "bids_symbol", "bids_price", "asks_price")
    assert rows(found) == [("deal", "IBM", 41.0, 40.5)]
    assert names["deals"].columns[4:] == ["asks_symbol", "asks_price", "asks_ts"]


def test_every_match(names: dict[str, Any]) -> None:
    assert sorted(rows(names["out"])) == [("cheap", "IBM", 39.5), ("odd", "ACME", 950.0)]


def test_the_catalog(names: dict[str, Any]) -> None:
    assert len(names["cat"].queries()) == 1_000_001


def test_the_indexes(names: dict[str, Any]) -> None:
    assert len(names["idx"]) == 99_999
    assert names["c"].signs.tolist() == [1, 1, -1, -1]

"""A query of many kilobytes is shortened for people; what is stored and exchanged stays whole."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

import watchline as wl
from watchline import sql
from watchline.catalog import codec
from watchline.cli.main import cli
from watchline.model import shortened

STREAM = (
    "CREATE STREAM cabs (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (x, y)"
)


def ring(corners: int) -> str:
    turns = [2 * math.pi * i / corners for i in range(corners)]
    points = [f"{math.cos(turn)!r} {math.sin(turn)!r}" for turn in [*turns, 0.0]]
    return f"POLYGON (({', '.join(points)}))"


@pytest.fixture
def catalog(tmp_path: Path) -> wl.Catalog:
    made = wl.Catalog(str(tmp_path / "catalog"))
    made.execute(STREAM)
    made.execute(f"CREATE QUERY round AS SELECT * FROM cabs INSIDE POLYGON '{ring(5_000)}'")
    return made


def test_repr_is_short_and_has_both_ends(catalog: wl.Catalog) -> None:
    query = catalog.queries()["round"]
    assert len(query.sql) > 150_000
    assert len(repr(query)) < 1_200
    assert repr(query).startswith("CREATE QUERY round AS SELECT * FROM cabs INSIDE POLYGON")
    assert repr(query).endswith("EMIT CHANGES")
    assert len(repr(query.region)) < 1_200


def test_the_whole_text_reads_back(catalog: wl.Catalog) -> None:
    query = catalog.queries()["round"]
    again = sql.statement(query.sql, catalog.streams())
    assert isinstance(again, sql.CreateQuery)
    assert again.query == query
    assert codec.loads(codec.dumps(query)) == query
    assert wl.Catalog.of(catalog.statements()).queries()["round"] == query


def test_show_and_explain_are_short_and_json_is_whole(catalog: wl.Catalog, tmp_path: Path) -> None:
    assert len(catalog.explain("round")) < 10_000
    place = str(tmp_path / "catalog")
    shown = CliRunner().invoke(cli, ["query", "list", "--catalog", place])
    assert shown.exit_code == 0, shown.output
    assert len(shown.output) < 1_000
    record = json.loads(
        CliRunner().invoke(cli, ["query", "list", "--catalog", place, "--json"]).output
    )[0]
    assert record["sql"] == catalog.queries()["round"].sql


def test_a_text_at_the_limit_is_left_alone() -> None:
    assert shortened("a" * 100, 100) == "a" * 100
    assert shortened("a" * 80 + "b" * 25, 100) == f"{'a' * 75}… (5 characters more) …{'b' * 25}"

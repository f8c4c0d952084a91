"""The pool of queries that histories draw from.

Parsing a statement costs as much as a batch, so each text is parsed once in a process, and a
history gives the parsed query a name of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tests import reference
from tests.support.ledgers import (
    NOON,
    QUERIES,
    SECOND,
    Asked,
    attr,
    compared,
    declaration,
    moving,
)
from tests.support.strategies import constant_sql, life_sql
from watchline.catalog import Catalog
from watchline.model import Query, Stream


@dataclass(frozen=True)
class Question:
    """A query as a version registers it: for the product, and for the oracle."""

    query: Query
    spec: reference.QuerySpec
    text: str

    def named(self, name: str) -> Question:
        return Question(replace(self.query, id=name), replace(self.spec, id=name), self.text)


def focal_ids(kind: str) -> list[Any]:
    """The objects that some query of the pool moves with; the last of them never reports."""
    return [2**63 - 1, -(2**63), 99] if kind == "BIGINT" else ["it's", "🚕", "nobody"]


@lru_cache
def pool(kind: str) -> dict[str, list[Question]]:
    """The queries by their group, for streams with such object ids."""
    groups = {
        "ranges": [*QUERIES[:8], *_ranges(kind)],
        "regions": QUERIES[8:],
        "moving": [a for a in (*moving(kind), *_moving(kind)) if a.knn is None],
        "nearest": [a for a in (*moving(kind), *_moving(kind)) if a.knn is not None],
    }
    catalog = Catalog.of([declaration(kind), *(a.text for group in groups.values() for a in group)])
    queries = catalog.queries()
    return {
        name: [Question(queries[asked.id], asked.spec, _text(asked)) for asked in group]
        for name, group in groups.items()
    }


def _text(asked: Asked) -> str:
    return f"{asked.sql}{life_sql(asked.lifetime, asked.until)}"


def _ranges(kind: str) -> list[Asked]:
    first = focal_ids(kind)[0]
    return [
        Asked("left", "WHERE x < 40", compared("x", "<", 40.0), lifetime=20 * SECOND),
        Asked("right", "WHERE x >= 30", compared("x", ">=", 30.0), until=NOON + 60 * SECOND),
        Asked(
            "middle",
            "WHERE x BETWEEN 20 AND 70 AND speed < 70",
            (
                "and",
                ("between", attr("x"), ("const", 20.0), ("const", 70.0)),
                compared("speed", "<", 70.0),
            ),
        ),
        Asked("one", f"WHERE id = {constant_sql(first, False)}", compared("id", "=", first)),
    ]


def _moving(kind: str) -> list[Asked]:
    first, _, nobody = focal_ids(kind)
    a, n = constant_sql(first, False), constant_sql(nobody, False)
    return [
        Asked("lone", f"INSIDE ('M', {n}, 50, 50)", region=("mbox", nobody, 50.0, 50.0)),
        Asked("brief", f"INSIDE ('M', {a}, 70, 70)", region=("mbox", first, 70.0, 70.0),
              until=NOON + 80 * SECOND),
        Asked("single", "kNN (1, 20, 80)", knn=("knn", 1, 20.0, 80.0), lifetime=40 * SECOND),
        Asked("mates", f"kNN ('M', 2, {a})", knn=("mknn", 2, first)),
        Asked("last", "kNN (2, 60, 40)", knn=("knn", 2, 60.0, 40.0), until=NOON + 90 * SECOND),
    ]  # fmt: skip


@lru_cache
def stream_of(kind: str, timeout: int | None, ahead: int | None) -> Stream:
    """The declared stream; `ahead` is its MAX AHEAD."""
    text = declaration(kind, timeout)
    if ahead is not None:
        text = text.replace("UNLIMITED", f"INTERVAL {ahead} MICROSECONDS")
    return Catalog.of(text).stream("cars")

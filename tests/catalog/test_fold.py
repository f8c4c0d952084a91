"""Any sequence of commands: every version is what a plain dict of the commands says it is."""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import TICKS
from tests.support.effort import examples
from watchline.catalog import Catalog
from watchline.errors import DuplicateQuery, UnknownQuery

names = st.sampled_from("abcde")
number = st.integers(0, 9)
create = st.tuples(st.just("create"), names, number)
replace = st.tuples(st.just("replace"), names, number)
drop = st.tuples(st.just("drop"), names)
script = st.tuples(
    st.just("script"), st.lists(st.one_of(create, replace, drop), min_size=1, max_size=4)
)
boxes = st.tuples(st.just("boxes"), st.lists(names, min_size=1, max_size=3, unique=True), number)
regions = st.tuples(
    st.just("regions"), st.lists(names, min_size=1, max_size=3, unique=True), number, st.booleans()
)
compact = st.tuples(st.just("compact"), st.booleans())
commands = st.lists(st.one_of(script, boxes, boxes, regions, regions, compact), max_size=12)

World = dict[str, str]  # query id -> its condition


def sql_of(command: tuple[Any, ...]) -> str:
    if command[0] == "drop":
        return f"DROP QUERY {command[1]}"
    verb = "CREATE OR REPLACE QUERY" if command[0] == "replace" else "CREATE QUERY"
    return f"{verb} {command[1]} AS SELECT * FROM ticks WHERE price < {command[2]}"


def after(world: World, command: tuple[Any, ...]) -> World | None:
    """The world after the command; None if it must be refused."""
    if command[0] in ("boxes", "regions"):
        replaces = command[0] == "regions" and command[3]
        if not replaces and world.keys() & set(command[1]):
            return None
        return {**world, **dict.fromkeys(command[1], f"price < {command[2]}")}
    new = dict(world)
    for part in command[1]:
        known = part[1] in new
        if (part[0] == "create" and known) or (part[0] == "drop" and not known):
            return None
        if part[0] == "drop":
            del new[part[1]]
        else:
            new[part[1]] = f"price < {part[2]}"
    return new


def run(catalog: Catalog, command: tuple[Any, ...]) -> None:
    if command[0] == "boxes":
        catalog.register_boxes("ticks", command[1], {"price": (float("-inf"), command[2])})
    elif command[0] == "regions":
        shapes = [shapely.box(0, 0, 1, 1)] * len(command[1])
        where = f"price < {command[2]}"
        catalog.register_regions("ticks", command[1], shapes, where, replace=command[3])
    else:
        catalog.execute("; ".join(map(sql_of, command[1])))


def world_of(catalog: Catalog, version: int) -> World:
    return {q.id: repr(q.where[0]) for q in catalog.queries(version)}


def check(catalog: Catalog, done: list[tuple[Any, ...]]) -> None:
    catalog.execute(f"{TICKS} POINT (price, volume)")
    worlds: list[World] = [{}, {}]
    oldest = 0
    for command in done:
        if command[0] == "compact":
            oldest = catalog.version // 2 if command[1] else oldest
            catalog.compact(oldest if command[1] else None)
            continue
        expected = after(worlds[-1], command)
        try:
            run(catalog, command)
        except (DuplicateQuery, UnknownQuery):
            assert expected is None, command
            continue
        assert expected is not None, command
        worlds.append(expected)
    assert catalog.version == len(worlds) - 1
    for version in range(oldest, len(worlds)):
        assert world_of(catalog, version) == worlds[version]
    for change in catalog.changes(oldest):
        before, now = worlds[change.version - 1], worlds[change.version]
        left = {i: c for i, c in before.items() if i not in change.dropped}
        assert change.dropped <= before.keys()
        added = {q.id: repr(q.where[0]) for q in change.added}
        assert not left.keys() & added.keys()
        assert {**left, **added} == now


@settings(max_examples=examples(200), deadline=None)
@given(commands)
def test_in_memory(done: list[tuple[Any, ...]]) -> None:
    check(Catalog.of(), done)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(commands)
def test_on_delta(done: list[tuple[Any, ...]]) -> None:
    folder = tempfile.mkdtemp()
    try:
        check(Catalog(folder), done)
        assert len(Catalog(folder).queries()) == len(Catalog(folder, create=False).queries())
    finally:
        shutil.rmtree(folder)

"""A joiner's tuples are the oracle's after every call, by every method and however cut (I1, I2)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests.joining import ATTRIBUTES, METHODS, Asked, Row, Rows, Twin, same, tables, told
from tests.reference_joins import JoinSource
from tests.strategies import MAX, OPS
from watchline.tracking import joiner as joining

# Few values of each type in an example, so that rows meet; but any of these.
VALUES: dict[str, list[Any]] = {
    "DOUBLE": [
        0.0, -0.0, 1.0, math.nextafter(1.0, 2.0), -1.0, 0.1, 5e-324, -5e-324, 2.0**53, 2.0**53 + 2,
        2.0**63, -(2.0**63), 1e300, MAX, -MAX,
    ],
    "BIGINT": [0, 1, 2, -1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, -(2**63), -(2**63) + 1],
    "STRING": ["", "a", "A", "it's", "🚕", "\ue000", "\U00010000"],
    "BOOLEAN": [True, False],
}  # fmt: skip
ODD: dict[str, list[Any]] = {"DOUBLE": [None, math.nan, math.inf, -math.inf]}
IDS: dict[str, list[Any]] = {"r": [1, 2, -(2**63)], "s": ["", "a", "🚕"], "t": [0, 2**63 - 1]}
FIRST = [0, 0, 1_772_366_400_000_000, -(2**63) + 1, 2**63 - 200]
WINDOWS = [
    *(("range", n) for n in (1, 2, 5, 30, 10**15)),
    *(("rows", n) for n in (1, 2, 5, 2**31 - 1)),
]
Palette = dict[str, list[Any]]


@st.composite
def palettes(draw: st.DrawFn) -> Palette:
    return {
        of: draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
        for of, values in VALUES.items()
    }


# --- rows


def values(stream: str, palette: Palette) -> st.SearchStrategy[Row]:
    columns: dict[str, st.SearchStrategy[Any]] = {}
    for name, of in ATTRIBUTES[stream]:
        if name not in ("id", "ts"):
            usual = st.sampled_from(palette[of])
            odd = st.sampled_from([*ODD.get(of, [None]), *palette[of]])
            columns[name] = st.one_of(usual, usual, usual, odd)
    columns["id"] = st.sampled_from(IDS[stream] * 8 + [None])
    return st.fixed_dictionaries(columns)


@st.composite
def batches(
    draw: st.DrawFn, streams: list[str], palette: Palette, steps: st.SearchStrategy[Any]
) -> list[tuple[str, Row, Any]]:
    """Rows, each with the step of its stream's clock; the streams are of very different rates."""
    busy = draw(st.sampled_from([*streams, None]))
    names = st.sampled_from(streams if busy is None else streams + [busy] * 5)
    some = draw(st.lists(names, max_size=8))
    return [(name, draw(values(name, palette)), draw(steps)) for name in some]


class Clocks:
    """Each stream has its own time, and its own pace."""

    def __init__(self, first: int, paces: dict[str, int]):
        self.now = dict.fromkeys(paces, first)
        self.paces = paces

    def rows(self, batch: list[tuple[str, Row, int | None]]) -> Rows:
        made: dict[str, list[Row]] = {}
        for name, row, step in batch:
            if step is not None:
                moved = self.now[name] + step * self.paces[name]
                self.now[name] = min(max(moved, -(2**63) + 1), 2**63 - 1)
            moment = None if step is None else self.now[name]
            made.setdefault(name, []).append({**row, "ts": moment})
        return made


def clocks(streams: list[str]) -> st.SearchStrategy[Clocks]:
    paces = st.fixed_dictionaries({name: st.sampled_from([1, 1, 4, 25]) for name in streams})
    return st.builds(Clocks, st.sampled_from(FIRST), paces)


# --- queries


def attributes(source: JoinSource, among: set[str]) -> list[tuple[str, str]]:
    return [(f"{source.alias}.{a}", of) for a, of in ATTRIBUTES[source.stream] if of in among]


@st.composite
def links(draw: st.DrawFn, sources: list[JoinSource]) -> tuple[Any, ...]:
    """A comparison of attributes of two positions; doubles may meet integers."""
    one, two = draw(st.permutations(sources))[:2]
    name, of = draw(st.sampled_from(attributes(one, {*VALUES, "TIMESTAMP"})))
    numbers = {"DOUBLE", "BIGINT"}
    partners = attributes(two, numbers if of in numbers else {of})
    if not partners:
        # t has no BOOLEAN.
        name, partners = f"{one.alias}.d", attributes(two, numbers)
        of = "DOUBLE"
    ordered = of in (*numbers, "TIMESTAMP")
    op = draw(st.sampled_from(["=", *OPS] if ordered else OPS[:2]))
    return ("cmp", op, ("attr", name), ("attr", draw(st.sampled_from(partners))[0]))


@st.composite
def selections(draw: st.DrawFn, sources: list[JoinSource], palette: Palette) -> tuple[Any, ...]:
    source = draw(st.sampled_from(sources))
    name, of = draw(st.sampled_from(attributes(source, set(VALUES))))
    attribute, constant = ("attr", name), st.sampled_from(palette[of])
    form = draw(st.sampled_from(["cmp", "cmp", "in", "isnull", "two"]))
    if form == "isnull":
        return ("isnull", attribute)
    if form == "in":
        return ("in", attribute, [("const", draw(constant)), ("const", draw(constant))])
    op = draw(st.sampled_from(OPS if of in ("DOUBLE", "BIGINT") else OPS[:2]))
    if form == "two":
        return ("cmp", op, attribute, ("attr", draw(st.sampled_from(attributes(source, {of})))[0]))
    return ("cmp", op, attribute, ("const", draw(constant)))


@st.composite
def wheres(draw: st.DrawFn, sources: list[JoinSource], palette: Palette) -> tuple[Any, ...]:
    """Mostly links and selections; sometimes any tree of them."""
    if draw(st.integers(0, 9)) == 0:
        return ("true",)
    leaf = st.one_of(links(sources), links(sources), selections(sources, palette))
    if draw(st.booleans()):
        parts = draw(st.lists(leaf, max_size=2))
        alternative = ("and", draw(links(sources)), *parts)
        other = ("and", draw(links(sources)), *draw(st.lists(leaf, max_size=1)))
        return draw(st.sampled_from([alternative, ("or", alternative, other)]))
    several = st.lists(leaf, min_size=2, max_size=3)
    inner = leaf | several.map(lambda p: ("and", *p)) | several.map(lambda p: ("or", *p))
    return draw(
        inner
        | st.tuples(st.just("not"), inner)
        | st.lists(inner, min_size=2, max_size=2).map(lambda p: ("and", *p))
    )


@st.composite
def queries(
    draw: st.DrawFn, streams: list[str], palette: Palette, name: str, windows: list[Any]
) -> Asked:
    aliases = draw(st.permutations("abc"))[: draw(st.sampled_from([2, 2, 2, 3]))]
    sources = [
        JoinSource(alias, draw(st.sampled_from(streams)), draw(st.sampled_from(windows)))
        for alias in aliases
    ]
    where = draw(wheres(sources, palette))
    return Asked(name, sources, where, draw(st.sampled_from([None, None, None, 1, 12])))


@st.composite
def registered(draw: st.DrawFn, streams: list[str], palette: Palette, windows: Any) -> list[Asked]:
    names = draw(st.lists(st.sampled_from("pqvwxyz"), min_size=1, max_size=4, unique=True))
    return [draw(queries(streams, palette, name, windows)) for name in names]


# --- I1


@st.composite
def scripts(draw: st.DrawFn) -> tuple[list[str], list[Asked], dict[str, int], Clocks, list[Any]]:
    streams = draw(st.sampled_from([["r", "s"], ["s", "r"], ["r"], ["t", "r", "s"], ["s", "t"]]))
    palette = draw(palettes())
    # Of the queries from the beginning, some read streams that are not given.
    first = draw(registered([*streams, *streams, "t"], palette, WINDOWS))
    steps = st.integers(-1, 3) | st.none()
    batch = batches(streams, palette, steps)
    rows = st.tuples(st.just("rows"), batch)
    event = st.one_of(
        rows,
        rows,
        rows,
        st.tuples(
            st.just("ask"), queries(streams, palette, draw(st.sampled_from("pqvw")), WINDOWS)
        ),
        st.tuples(st.just("drop"), st.sampled_from("pqvw")),
        st.sampled_from([("bytes",), ("bytes",), ("finish",)]),
    )
    times = draw(st.sampled_from([{}, {streams[0]: 2}]))
    return streams, first, times, draw(clocks(streams)), draw(st.lists(event, max_size=9))


@pytest.fixture(params=["in slices", "whole"])
def slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is worked off in slices: here also in very small ones."""
    if request.param == "in slices":
        monkeypatch.setattr(joining, "FIRST_SLICE", 2)
        monkeypatch.setattr(joining, "MOST_ROWS", 3)


@pytest.mark.usefixtures("slices")
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_tuples_equal_the_oracle(script: Any) -> None:
    streams, first, times, clock, events = script
    twin = Twin(streams, first, times=times)
    for what, *parts in events:
        if what == "rows":
            twin.process(clock.rows(*parts))
        elif what == "ask":
            twin.register(*parts)
        elif what == "drop":
            twin.drop(*parts)
        elif what == "bytes":
            twin.through_bytes()
        else:
            twin.finish()
    twin.finish()


# --- I2


def cut(rows: list[Row], ties: bool, draw: Any) -> list[list[Row]]:
    """Pieces of a stream in order; rows of one moment stay together unless ties may be cut."""
    pieces: list[list[Row]] = []
    for row in rows:
        together = pieces and not ties and pieces[-1][-1]["ts"] == row["ts"]
        if pieces and (together or draw(st.integers(0, 2))):
            pieces[-1].append(row)
        else:
            pieces.append([row])
    return pieces


def interleaved(rows: Rows, ties: bool, draw: Any) -> list[Rows]:
    """Calls that give the pieces of the streams, each at its own pace."""
    left = {name: cut(given, ties, draw) for name, given in rows.items()}
    calls = []
    while left := {name: pieces for name, pieces in left.items() if pieces}:
        names = draw(st.lists(st.sampled_from(sorted(left)), min_size=1, unique=True))
        calls.append({name: left[name].pop(0) for name in names})
    return calls


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_cuts_and_parts_change_nothing(data: st.DataObject) -> None:
    """All at once, as a batch; or call by call, in parts, through bytes."""
    draw = data.draw
    streams = draw(st.sampled_from([["r", "s"], ["r", "s", "t"], ["s"]]))
    palette = draw(palettes())
    ties = draw(st.booleans())
    windows = WINDOWS[:5] if ties else WINDOWS
    asked = draw(registered(streams, palette, windows))
    batch = draw(st.lists(batches(streams, palette, st.integers(0, 2)), max_size=4))
    rows = draw(clocks(streams)).rows([row for some in batch for row in some])
    twin = Twin(streams, asked, methods=draw(st.permutations(METHODS))[:1])
    wanted = twin.process(rows) + twin.finish()

    method, parts = draw(st.sampled_from(METHODS)), draw(st.integers(1, 3))
    found = []
    calls = interleaved(rows, ties, draw)
    for k in range(parts):
        joiner = wl.Joiner(twin.catalog, streams, part=k, parts=parts, method=method)
        for call in calls:
            found += told(joiner.process(tables(call)))
            if draw(st.booleans()):
                blob = joiner.snapshot()
                joiner = wl.Joiner.restore(
                    twin.catalog, streams, blob, part=k, parts=parts, method=method
                )
        found += told(joiner.finish())
    same(found, wanted)

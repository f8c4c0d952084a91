"""A joiner's tuples are the oracle's after every call, by every method and however cut (I1, I2)."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import watchline as wl
from tests.reference_joins import JoinSource
from tests.support.effort import examples
from tests.support.joins import ATTRIBUTES, METHODS, Asked, Row, Rows, Twin, same, tables, told
from tests.support.strategies import MAX, OPS
from watchline.joining import joiner as joining

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
# A stream, a row of it, and how far the stream's clock goes before it; None: it has no time.
Step = tuple[str, Row, "int | None"]


@st.composite
def palettes(draw: st.DrawFn) -> Palette:
    return {
        of: draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
        for of, values in VALUES.items()
    }


# --- rows


def value(of: str, palette: Palette, chance: random.Random) -> Any:
    odd = chance.random() < 0.15
    return chance.choice(ODD.get(of, [None]) if odd else palette[of])


def batch(
    seed: int, size: int, streams: list[str], palette: Palette, steps: list[int | None]
) -> list[Step]:
    """Rows, each with the step of its stream's clock; sometimes one stream has most of them."""
    chance = random.Random(seed)
    busy = chance.choice([*streams, None])
    names = streams if busy is None else streams + [busy] * 5
    made: list[Step] = []
    for _ in range(size):
        name = chance.choice(names)
        row = {
            attribute: value(of, palette, chance)
            for attribute, of in ATTRIBUTES[name]
            if attribute not in ("id", "ts")
        }
        row["id"] = chance.choice(IDS[name] * 8 + [None])
        made.append((name, row, chance.choice(steps)))
    return made


def batches(
    streams: list[str], palette: Palette, steps: list[int | None], sizes: list[int]
) -> st.SearchStrategy[list[Step]]:
    """Many values from one seed: queries are what is looked for, rows are only many."""
    return st.builds(
        lambda seed, size: batch(seed, size, streams, palette, steps),
        st.integers(0, 2**32),
        st.sampled_from(sizes),
    )


class Clocks:
    """Each stream has its own time, and its own pace."""

    def __init__(self, first: int, paces: dict[str, int]):
        self.now = dict.fromkeys(paces, first)
        self.paces = paces

    def rows(self, batch: list[Step]) -> Rows:
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
    life = draw(st.sampled_from([None, None, None, 1, 12]))
    until = draw(st.sampled_from([None, None, None, 0, 5, 20]))
    return Asked(name, sources, where, life, until=until)


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
    steps = [-2, -1, 0, 0, 0, 1, 1, 1, 2, 3, None]
    name = st.sampled_from("pqvw")
    action = st.one_of(
        st.tuples(st.just("ask"), name.flatmap(lambda n: queries(streams, palette, n, WINDOWS))),
        st.tuples(st.just("drop"), name),
        st.sampled_from([("bytes",), ("bytes",), ("finish",), ("nothing",)]),
    )
    events = st.tuples(batches(streams, palette, steps, [1, 4, 8, 12]), action)
    times = draw(st.sampled_from([{}, {streams[0]: 2}]))
    script = draw(st.lists(events, min_size=3, max_size=6))
    return streams, first, times, draw(clocks(streams)), script


@pytest.fixture(params=["in slices", "whole"])
def slices(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is worked off in slices: here also in very small ones."""
    if request.param == "in slices":
        monkeypatch.setattr(joining, "FIRST_SLICE", 2)
        monkeypatch.setattr(joining, "MOST_ROWS", 3)


@pytest.mark.usefixtures("slices")
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts())
def test_tuples_equal_the_oracle(script: Any) -> None:
    streams, first, times, clock, events = script
    twin = Twin(streams, first, times=times)
    for steps, (what, *parts) in events:
        twin.process(clock.rows(steps))
        play = {
            "ask": twin.register,
            "drop": twin.drop,
            "bytes": twin.through_bytes,
            "finish": twin.finish,
            "nothing": twin.follow,
        }
        play[what](*parts)
    twin.finish()


# --- I2


def cut(rows: list[Row], ties: bool, chance: random.Random) -> list[list[Row]]:
    """Pieces of a stream in order; rows of one moment stay together unless ties may be cut."""
    pieces: list[list[Row]] = []
    for row in rows:
        together = pieces and not ties and pieces[-1][-1]["ts"] == row["ts"]
        if pieces and (together or chance.random() < 0.6):
            pieces[-1].append(row)
        else:
            pieces.append([row])
    return pieces


def interleaved(rows: Rows, ties: bool, chance: random.Random) -> list[Rows]:
    """Calls that give the pieces of the streams, each at its own pace."""
    left = {name: cut(given, ties, chance) for name, given in rows.items()}
    calls = []
    while left := {name: pieces for name, pieces in left.items() if pieces}:
        names = chance.sample(sorted(left), chance.randint(1, len(left)))
        calls.append({name: left[name].pop(0) for name in names})
    return calls


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[list[str], list[Asked], Rows, bool]:
    streams = draw(st.sampled_from([["r", "s"], ["r", "s", "t"], ["s"]]))
    palette = draw(palettes())
    # Which row goes first in a moment is nothing to RANGE windows.
    ties = draw(st.booleans())
    windows = WINDOWS[:5] if ties else WINDOWS
    asked = draw(registered(streams, palette, windows))
    steps = draw(batches(streams, palette, [0, 0, 1, 2], [36, 24, 8, 1]))
    return streams, asked, draw(clocks(streams)).rows(steps), ties


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    cuttings(),
    st.sampled_from(METHODS),
    st.sampled_from(METHODS),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_cuts_and_parts_change_nothing(
    cutting: Any, method: str, other: str, parts: int, chance: random.Random
) -> None:
    """All at once, as a batch; or call by call, in parts, through bytes."""
    streams, asked, rows, ties = cutting
    twin = Twin(streams, asked, methods=[method])
    wanted = twin.process(rows) + twin.finish()
    calls, found = interleaved(rows, ties, chance), []
    for k in range(parts):
        joiner = wl.Joiner(twin.catalog, streams, part=k, parts=parts, method=other)
        for call in calls:
            found += told(joiner.process(tables(call)))
            if chance.random() < 0.3:
                blob = joiner.snapshot()
                joiner = wl.Joiner.restore(
                    twin.catalog, streams, blob, part=k, parts=parts, method=other
                )
        found += told(joiner.finish())
    same(found, wanted)

"""What the papers claim, beside what was measured here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from bench.indexes.sweeps import Measure, Sweep


def claims(sweeps: dict[str, Sweep]) -> Iterator[list[str]]:
    yield from interval_claims(sweeps)
    yield from square_claims(sweeps)


def interval_claims(sweeps: dict[str, Sweep]) -> Iterator[list[str]]:
    for name in ("cei-15", "cei-16"):
        s = sweeps[name]
        sizes = [m.bytes / 2**20 for (m,) in s.both("cei")]
        text = f"{yes(falling(sizes))}: {sizes[0]:.1f} MiB at L = 2, {sizes[-1]:.1f} at {s.xs[-1]}"
        yield [s.figure, "`cei`'s storage falls as L grows", text]
        yield [
            s.figure,
            "`cei`'s time grows far slower with L than `lci`'s",
            growth(s, "cei", "lci"),
        ]
        better = all(
            c.bytes <= m.bytes and c.nanoseconds <= m.nanoseconds for c, m in s.both("cei", "lci")
        )
        yield [s.figure, "`cei` is better than `lci` in storage and time at each L", yes(better)]
    s = sweeps["cei-17"]
    narrow = s.at("cei", 10).nanoseconds / s.at("islist", 10).nanoseconds
    yield [s.figure, "`cei` needs 1/20 of `islist`'s time at W = 10", f"1/{1 / narrow:.1f}"]
    yield [s.figure, "`ui`, `lci`, `cei` are faster than `islist`", faster(s)]
    larger = [i.bytes / c.bytes for i, c in s.both("islist", "cei")]
    yield [s.figure, "`islist` takes more storage than `cei`", span(larger)]
    for name in ("cei-18", "cei-19"):
        s = sweeps[name]
        pairs = list(s.both("cei", "ui"))
        yield [s.figure, "`cei`'s time is very close to `ui`'s", span(time_ratios(pairs))]
        yield [
            s.figure,
            "at a small fraction of its storage",
            span(c.bytes / u.bytes for c, u in pairs),
        ]
        yield [
            s.figure,
            "`cei` is faster than `lci` and `islist`",
            span_of(s, "cei", "lci", "islist"),
        ]
    s = sweeps["cei-18"]
    ratios = [i.bytes / c.bytes for i, c in s.both("islist", "cei")]
    text = f"{ratios[0]:.2f} of `cei`'s at n = {s.xs[0]:,}, {ratios[-1]:.2f} at {s.xs[-1]:,}"
    yield [s.figure, "`islist` takes less at small n, more at large n", text]


def square_claims(sweeps: dict[str, Sweep]) -> Iterator[list[str]]:
    for name, share in (("ces-10", 14), ("ces-11", 24)):
        s = sweeps[name]
        measured = s.at("ces", 16).bytes / s.at("ugc", 16).bytes
        by_formula = (s.at("ces", 16).formula or 0) / (s.at("ugc", 16).formula or 1)
        text = f"{measured:.1%} ({by_formula:.1%} by the formula)"
        yield [s.figure, f"`ces` takes less than {share} % of `ugc`'s storage at L = 16", text]
        ratios = time_ratios(s.both("ces", "ugc"))
        yield [s.figure, "its time is comparable with `ugc`'s from L = 2 to 32", span(ratios)]
        yield [
            s.figure,
            "its time grows far slower with L than `cells`'",
            growth(s, "ces", "cells"),
        ]
        yield [s.figure, "and than `vcs`'s", growth(s, "ces", "vcs")]
        yield [
            s.figure,
            "`ces` is faster than `cells` and `vcs`",
            span_of(s, "ces", "cells", "vcs"),
        ]
    s = sweeps["ces-13"]
    ratios = [v.bytes / c.bytes for v, c in s.both("vcs", "ces")]
    text = f"{ratios[0]:.2f} of `ces`'s at R = {s.xs[0]}, {ratios[-1]:.2f} at {s.xs[-1]:,}"
    yield [s.figure, "`vcs` takes more storage than `ces` once R is large", text]
    for name in ("ces-13", "ces-14"):
        s = sweeps[name]
        least = all(c.bytes <= min(v.bytes, e.bytes) for c, v, e in s.both("cells", "vcs", "ces"))
        yield [s.figure, "`cells` takes the least storage", yes(least)]
        yield [s.figure, "`ces` is the fastest", span_of(s, "ces", "cells", "vcs")]


def yes(holds: bool) -> str:
    return "yes" if holds else "no"


def falling(values: Sequence[float]) -> bool:
    return all(b <= a for a, b in pairwise(values))


def growth(s: Sweep, one: str, other: str) -> str:
    """Time at the largest x over time at the smallest."""
    ends = [[s.at(k, x).nanoseconds for x in (s.xs[0], s.xs[-1])] for k in (one, other)]
    first, second = (b / a for a, b in ends)
    return f"×{first:.2f} against ×{second:.2f}"


def time_ratios(
    pairs: Iterable[tuple[Measure, ...]],
) -> list[float]:
    return [a.nanoseconds / b.nanoseconds for a, b in pairs]


def faster(s: Sweep) -> str:
    return ", ".join(
        f"`{k}` {span(time_ratios(s.both(k, 'islist')))}" for k in ("ui", "lci", "cei")
    )


def span_of(s: Sweep, one: str, *others: str) -> str:
    return ", ".join(f"{span(time_ratios(s.both(one, k)))} of `{k}`'s time" for k in others)


def span(ratios: Iterable[float]) -> str:
    found = list(ratios)
    return f"{min(found):.2f} … {max(found):.2f}"

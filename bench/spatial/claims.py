"""The targets for selection queries, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from bench.common.report import table
from bench.indexes.claims import yes
from bench.spatial import databases
from bench.spatial.figures import Figure, by_mentioned, by_queries, by_skew
from bench.spatial.race import Outcome, scale_of

STRONG = "ibs or counting, the faster"
# By attributes, over the strongest rival at 100,000 queries.
BATCH_MUST = 15.0
BATCH_AIM = {4: 28.5, 8: 36.2}
IMMEDIATE = {4: 3.2, 8: 2.1}
# Or: at most so many times as long as writing the pairs into fresh memory.
FLOOR = 2.0
DATABASES = 30.0
# Over `scan` and `counting` at eight attributes.
OTHERS = 10.0


def claims(quick: bool, _: Path) -> Iterator[str]:
    yield "## Targets"
    yield table(["target", "wanted", "measured", "met"], lines(quick))
    yield (
        "At the most queries of Figure 15. `batch`, `immediate`: ways to search `spatialjoin`. A"
        " gain grows if it is larger at the end of the figure than at its beginning."
    )


def lines(quick: bool) -> Iterator[list[str]]:
    most = scale_of(quick).queries(100_000)
    for attributes in (4, 8):
        found = by_queries(attributes, quick).at(most)
        yield from batch(attributes, found)
        yield from immediate(attributes, found)
    eight = by_queries(8, quick).at(most)
    for rival in ("scan", "counting"):
        yield at_least(f"{rival} / batch, 8 attributes", OTHERS, eight.times(rival, "batch"))
    for attributes, (n, rows) in product((4, 8), databases.QUICK if quick else databases.SIZES):
        found_peers = databases.measured(attributes, n, rows)
        for rival in databases.RIVALS:
            what = f"{rival} / batch, 1 thread, {attributes} attributes, {n:,} × {rows:,} rows"
            yield at_least(what, DATABASES, found_peers.times(rival))
    yield growing("R_pred", by_mentioned(quick))
    yield growing("skew", by_skew(quick))


def batch(attributes: int, found: Outcome) -> Iterator[list[str]]:
    gain, of_floor = found.strongest("batch"), found.times("batch", "floor")
    near = of_floor <= FLOOR
    measured = f"{gain:.1f}, {of_floor:.2f} of the floor"
    for word, least in (("must", BATCH_MUST), ("aim", BATCH_AIM[attributes])):
        wanted = f"≥ {least:g} ({word}), or ≤ {FLOOR:g} of the floor"
        yield [
            f"{STRONG} / batch, {attributes} attributes",
            wanted,
            measured,
            yes(near or gain >= least),
        ]


def immediate(attributes: int, found: Outcome) -> Iterator[list[str]]:
    """Like with like, and beside rivals that are spared the calls."""
    least, what = IMMEDIATE[attributes], f"immediate, {attributes} attributes"
    single = "ibs, row by row"
    yield at_least(f"{single} / {what}", least, found.times(single, "immediate"))
    yield at_least(f"{STRONG} / {what}", least, found.strongest("immediate"))


def at_least(what: str, least: float, measured: float) -> list[str]:
    return [what, f"≥ {least:g}", f"{measured:.1f}", yes(measured >= least)]


def growing(what: str, figure: Figure) -> list[str]:
    gains = figure.gains("batch")
    shown = ", ".join(f"{gain:.1f}" for gain in gains)
    return [f"{STRONG} / batch grows with {what}", "growing", shown, yes(gains[-1] > gains[0])]

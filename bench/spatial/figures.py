"""Figures 15 to 17 of the Spatial Join CQ paper: by queries, by attributes mentioned, by skew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.common import plots
from bench.common.plots import Line, Panel
from bench.common.report import number, once_a_run, publish, table
from bench.common.workloads import Workload
from bench.indexes.sweeps import Measure, Sweep
from bench.spatial.race import STRONGEST, Outcome, Scale, raced, scale_of
from bench.spatial.selections import workload

QUERIES = (10_000, 25_000, 50_000, 75_000, 100_000)
EIGHTHS = tuple(range(1, 9))
SKEWS = (0, 20, 40, 60, 80, 100)

# By attributes and queries: how many times as fast as IBS the paper's batch and immediate
# processing are (section 7.3).
PAPER = {
    (4, 10_000): (15.0, 1.7),
    (4, 100_000): (28.5, 3.2),
    (8, 10_000): (15.9, 1.4),
    (8, 100_000): (36.2, 2.1),
}


@dataclass(frozen=True)
class Figure:
    """A sweep, and the outcome at each x."""

    sweep: Sweep
    outcomes: list[Outcome]

    def at(self, x: int) -> Outcome:
        return self.outcomes[self.sweep.xs.index(x)]

    def lines(self) -> dict[str, Line]:
        """Microseconds of a row; the rival that is searched row by row is in the table only."""
        return {
            name: [outcome.measures[name].nanoseconds / 1e3 for outcome in self.outcomes]
            for name in self.sweep.series
            if name != "ibs, row by row"
        }

    def gains(self, one: str) -> list[float]:
        """Over the strongest rival."""
        return [outcome.strongest(one) for outcome in self.outcomes]


def swept(
    name: str,
    title: str,
    axis: str,
    xs: Sequence[int],
    case: Callable[[int], Workload],
    scale: Scale,
) -> Figure:
    outcomes = [raced(case(x), scale) for x in xs]
    series: dict[str, list[Measure | None]] = {
        who: [outcome.measures[who] for outcome in outcomes] for who in outcomes[0].measures
    }
    return Figure(Sweep(name, title, axis, list(xs), series), outcomes)


@once_a_run
def by_queries(attributes: int, quick: bool) -> Figure:
    scale = scale_of(quick)
    return swept(
        f"sj-15-{attributes}",
        f"SJ, Fig. 15: N_query; N_attr = {attributes}, N_batch = {scale.batch:,}",
        "N_query",
        [scale.queries(n) for n in (QUERIES[::4] if quick else QUERIES)],
        lambda n: workload(n, attributes, scale.batch),
        scale,
    )


@once_a_run
def by_mentioned(quick: bool) -> Figure:
    scale = scale_of(quick)
    n = scale.queries(50_000)
    return swept(
        "sj-16",
        f"SJ, Fig. 16: R_pred; N_attr = 8, N_query = {n:,}, N_batch = {scale.batch:,}",
        "eighths of the attributes mentioned",
        EIGHTHS[::7] if quick else EIGHTHS,
        lambda mentioned: workload(n, 8, scale.batch, mentioned),
        scale,
    )


@once_a_run
def by_skew(quick: bool) -> Figure:
    scale = scale_of(quick)
    n = scale.queries(100_000)
    return swept(
        "sj-17",
        f"SJ, Fig. 17: R_skew; N_attr = 4, N_query = {n:,}, N_batch = {scale.batch:,}",
        "% of the rows in a tenth of the domain",
        SKEWS[::5] if quick else SKEWS,
        lambda percent: workload(n, 4, scale.batch, percent=percent),
        scale,
    )


# --- parts


def figure15(quick: bool, figures: Path) -> Iterator[str]:
    scale = scale_of(quick)
    yield "## Figure 15: time of a row by the number of queries"
    found = {attributes: by_queries(attributes, quick) for attributes in (4, 8)}
    title = f"SJ, Fig. 15: N_query; N_batch = {scale.batch:,}"
    panels = [Panel(f"{a} attributes", "µs a row", f.lines(), {}) for a, f in found.items()]
    plots.draw(figures / "sj-15.svg", title, "N_query", found[4].sweep.xs, panels)
    yield f"![{title}]({figures.name}/sj-15.svg)"
    for attributes, figure in found.items():
        for one in ("batch", "immediate"):
            what = f"{one}, {attributes} attributes, {figure.sweep.xs[-1]:,} queries"
            publish(f"ibs or counting, the faster / {what}", figure.gains(one)[-1])
        yield f"### {attributes} attributes"
        yield numbers(figure)
        yield table(
            [
                "N_query",
                "ibs / batch",
                "paper",
                "ibs, row by row / immediate",
                "ibs / immediate",
                "paper",
                *(f"{rival} / batch" for rival in ("counting", "twophase", "scan")),
                "batch / floor",
            ],
            [ratios(figure, attributes, n) for n in figure.sweep.xs],
        )
    yield told(scale)


def ratios(figure: Figure, attributes: int, n: int) -> list[str]:
    found = figure.at(n)
    paper = PAPER.get((attributes, n))
    batch, immediate = (f"{x:g}" for x in paper) if paper else ("", "")
    rivals = (found.times(rival, "batch") for rival in ("counting", "twophase", "scan"))
    return [
        f"{n:,}",
        number(found.times("ibs", "batch")),
        batch,
        number(found.times("ibs, row by row", "immediate")),
        number(found.times("ibs", "immediate")),
        immediate,
        *(number(x) for x in rivals),
        number(found.times("batch", "floor"), ".2f"),
    ]


def figure16(quick: bool, figures: Path) -> Iterator[str]:
    yield "## Figure 16: time of a row by the attributes that a query mentions"
    yield from drawn(by_mentioned(quick), figures, scale_of(quick))


def figure17(quick: bool, figures: Path) -> Iterator[str]:
    yield "## Figure 17: time of a row by skew"
    yield from drawn(by_skew(quick), figures, scale_of(quick))


def drawn(figure: Figure, figures: Path, scale: Scale) -> Iterator[str]:
    sweep = figure.sweep
    gains: dict[str, Line] = {who: figure.gains(who) for who in ("batch", "immediate")}
    panels = [
        Panel("time", "µs a row", figure.lines(), {}),
        Panel("times as fast as ibs or counting", "the faster rival / this", gains, {}),
    ]
    path = figures / f"{sweep.name}.svg"
    plots.draw(path, sweep.title, sweep.axis, sweep.xs, panels, doubling=False)
    yield f"![{sweep.title}]({figures.name}/{sweep.name}.svg)"
    yield numbers(figure)
    header = ["ibs / batch", "counting / batch", "ibs / immediate", "counting / immediate"]
    header += ["batch / floor"]
    rows = [
        [
            f"{x:,}",
            *_gains(o),
            number(o.times("batch", "floor"), ".2f"),
        ]
        for x, o in zip(sweep.xs, figure.outcomes, strict=True)
    ]
    yield table([sweep.axis, *header], rows)
    yield told(scale)


def _gains(found: Outcome) -> Iterator[str]:
    for one in ("batch", "immediate"):
        for rival in STRONGEST:
            yield number(found.times(rival, one))


def numbers(figure: Figure) -> str:
    """Times of all contestants, best / median."""
    sweep = figure.sweep
    header = [sweep.axis, "matches a row", *(f"{who}, µs" for who in sweep.series)]
    rows = []
    for x, outcome in zip(sweep.xs, figure.outcomes, strict=True):
        times = (
            f"{number(m.nanoseconds / 1e3, ',.2f')} / {number((m.median or 0) / 1e3, ',.2f')}"
            for m in outcome.measures.values()
        )
        rows.append([f"{x:,}", f"{outcome.matches:,.1f}", *times])
    return table(header, rows)


def told(scale: Scale) -> str:
    return (
        f"Of a row: best / median of {scale.rounds} rounds, one thread. batch: {scale.batch:,} rows"
        f" in one search; immediate and ibs, row by row: {scale.single:,} searches of one row; the"
        f" others: one search of the first {scale.sample:,} rows. The batch is the scan's answer,"
        " and all found the same pairs on the rows they got. Ratios are of the best."
    )

"""What the terminal shows of the burst: memory and accuracy as they fall and recover."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from examples.audit import Moment
from examples.board import Board
from examples.standing import Ask

MEMORY_ROWS, ACCURACY_ROWS = 7, 4
# The accuracy at the bottom of its chart.
BOTTOM = 0.5
# Side by side where there is room.
WIDE = 104


class Load:
    """The bound, and what would be kept in each tick if there were none: objects and bytes."""

    def __init__(self, bound: int, objects: list[int], size: list[int]):
        self.bound, self.objects, self.bytes = bound, objects, size


class Gauges(Board):
    """The board of the city with two charts: objects under their bound, and accuracy."""

    shown_changes = 4

    def __init__(self, console: Console, asks: dict[str, Ask], moments: list[Moment], load: Load):
        super().__init__(console, asks, len(load.objects))
        self._moments, self._load = moments, load
        self._guarded = [ask for ask in asks.values() if ask.accuracy]

    def _line(self) -> str:
        now, load = self._moments[-1], self._load
        line = (
            f"tick {now.tick + 1:>3}/{self._ticks}  {now.vehicles:>6,} vehicles"
            f"  {now.kept:>5,} kept of {load.objects[now.tick]:>5,}"
            f"  {_kilobytes(now.bytes)} of {_kilobytes(load.bytes[now.tick])}"
            f"  accuracy {_percent(now.stated)}"
        )
        if now.counted is not None:
            line += f", by brute force {_percent(now.counted)}"
        if now.guarded:
            tight = min(self._guarded, key=lambda ask: now.guarded[ask.id] - (ask.accuracy or 0))
            has = _percent(now.guarded[tight.id])
            line += f"; {tight.name} demands {_least(tight)} and has {has}"
        return line

    def _body(self) -> list[Any]:
        bound = f"objects kept, at most {self._load.bound:,}"
        charts = Group(
            Panel(self._memory(), title=bound, box=box.ROUNDED),
            Panel(
                self._accuracy(),
                title=f"accuracy, from {100 * BOTTOM:.0f} to 100 %",
                box=box.ROUNDED,
            ),
        )
        if self._console.width < WIDE:
            return [charts, Text(self._line() if self._moments else "the first batch")]
        body = Table.grid(padding=(0, 1), expand=True)
        body.add_column(width=self._ticks + 4)
        body.add_column(ratio=1)
        body.add_row(charts, Group(self._figures(), self._changes()))
        return [body]

    # --- the charts

    def _memory(self) -> Text:
        """What is kept, what was given up on top of it, and the bound as a line."""
        load = self._load
        step = max(load.objects) / MEMORY_ROWS
        chart = Text()
        for row in reversed(range(MEMORY_ROWS)):
            line = row * step < load.bound <= (row + 1) * step
            for tick in range(self._ticks):
                chart.append(*self._cell(tick, (row + 0.5) * step, line))
            chart.append("\n")
        chart.append("█ kept  ", "blue").append("░ given up  ", "red").append("─ the bound", "bold")
        return chart

    def _cell(self, tick: int, level: float, line: bool) -> tuple[str, str]:
        done = tick < len(self._moments)
        if done and self._moments[tick].kept >= level:
            return "█", "blue"
        if done and self._load.objects[tick] >= level:
            return "░", "red"
        return ("─", "bold") if line else (" ", "")

    def _accuracy(self) -> Text:
        step = (1 - BOTTOM) / ACCURACY_ROWS
        rows = []
        for row in reversed(range(ACCURACY_ROWS)):
            line = Text()
            for moment in self._moments:
                full = moment.stated >= BOTTOM + (row + 0.5) * step
                line.append("█" if full else " ", "green" if moment.stated == 1 else "yellow")
            rows.append(line)
        return Text("\n").join(rows)

    # --- the figures

    def _figures(self) -> Panel:
        figures = Table(box=None, show_header=False, expand=True)
        figures.add_column(no_wrap=True)
        figures.add_column(justify="right", style="bold", no_wrap=True)
        if self._moments:
            for name, value in self._facts(self._moments[-1]):
                figures.add_row(name, value)
        title = f"tick {len(self._moments)}" if self._moments else "the first batch"
        return Panel(figures, title=title, box=box.ROUNDED)

    def _facts(self, now: Moment) -> list[tuple[str, str]]:
        load = self._load
        counted = "not compared" if now.counted is None else _percent(now.counted)
        of = f"{_kilobytes(now.bytes)} of {_kilobytes(load.bytes[now.tick])}"
        return [
            ("vehicles", f"{now.vehicles:,}"),
            ("kept, of what queries look at", f"{now.kept:,} of {load.objects[now.tick]:,}"),
            ("memory, and without a bound", of),
            ("accuracy, as it is stated", _percent(now.stated)),
            ("accuracy, by brute force", counted),
            *(
                (f"{ask.name} demands {_least(ask)}", _percent(now.guarded.get(ask.id, 1.0)))
                for ask in self._guarded
            ),
        ]


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _least(ask: Ask) -> str:
    return f"{100 * (ask.accuracy or 0):.0f} %"


def _kilobytes(size: int) -> str:
    return f"{size / 1e3:,.0f} kB"

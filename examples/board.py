"""What the terminal shows of the city while it runs, and plain lines where there is none."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from examples.standing import Ask

# Rates are of the last few batches.
FEW = 5


class Board:
    """Figures of the batches, the newest changes in words, and queries that came and went."""

    # So many of the newest changes.
    shown_changes = 9

    def __init__(self, console: Console, asks: dict[str, Ask], ticks: int):
        self._console, self._asks, self._ticks = console, asks, ticks
        self.tick = 0
        self.batches: list[Any] = []
        self._news: deque[tuple[int, str]] = deque(maxlen=self.shown_changes)
        self._notes: deque[str] = deque(maxlen=4)
        self._known: dict[str, Ask] = {}
        # Queries of a second terminal, and what is in their answers.
        self._yours: dict[str, set[str]] = {}

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self._console.is_terminal:
            yield
            return
        with Live(self, console=self._console, refresh_per_second=5):
            yield

    # --- what happened

    @property
    def last(self) -> int:
        return self.batches[-1].batch if self.batches else -1

    @property
    def rows(self) -> int:
        return sum(p.rows for p in self.batches)

    def add(self, batches: list[Any]) -> None:
        for progress in batches:
            self.batches.append(progress)
            if not self._console.is_terminal:
                self._say(self._line())

    def note(self, text: str) -> None:
        self._notes.append(text)
        if not self._console.is_terminal:
            self._say(f"  {text}")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)

    def tell(self, changes: pa.Table) -> None:
        """Show one change of each sort, and all that happens to queries of a second terminal."""
        if not changes.num_rows:
            return
        # Dropped queries stay known: their last changes come after they are gone.
        self._known |= self._asks
        known = pc.is_in(changes["query_id"], value_set=pa.array(list(self._known), pa.string()))
        self._tell_yours(changes.filter(pc.invert(known)).to_pylist())
        sorts: dict[tuple[str, bool], tuple[int, str]] = {}
        ours = changes.filter(known)
        some = np.unique(np.linspace(0, max(len(ours) - 1, 0), 2_000).astype(np.int64))
        for change in ours.take(pa.array(some[: len(ours)])).to_pylist():
            ask = self._known[change["query_id"]]
            sorts[ask.form, ask.focal is None] = change["sign"], ask.words(change)
        self._news.extend(sorts.values())
        if self._news and not self._console.is_terminal:
            self._say(f"  {self._news[-1][1]}")

    def _tell_yours(self, changes: list[dict[str, Any]]) -> None:
        for change in changes:
            answer = self._yours.setdefault(change["query_id"], set())
            who = f"{change['kind']} {change['object_id']}"
            (answer.add if change["sign"] > 0 else answer.discard)(who)

    # --- what is shown

    def _rate(self, name: str) -> float:
        few = self.batches[-FEW:]
        seconds = sum(p.seconds for p in few)
        return sum(getattr(p, name) for p in few) / seconds if seconds else 0.0

    def _now(self, name: str) -> int:
        return int(self.batches[-1].metrics.get(name) or 0) if self.batches else 0

    def _sum(self, name: str) -> int:
        return sum(int(p.metrics.get(name) or 0) for p in self.batches)

    def _line(self) -> str:
        p = self.batches[-1]
        return (
            f"tick {self.tick:>3}/{self._ticks}  batch {p.batch:>3}  {p.rows:>7,} rows"
            f"  {p.results:>7,} changes  {p.seconds * 1e3:>6,.0f} ms"
            f"  {self._now('objects'):,} vehicles  {self._now('answers'):,} in answers"
            f"  {self._sum('late')} late  {self._sum('rejected')} rejected"
        )

    def __rich__(self) -> Group:
        # A bar alone does not end its line.
        bar = Padding(ProgressBar(total=self._ticks, completed=self.tick), 0)
        parts: list[Any] = [bar, *self._body()]
        if self._notes:
            parts.append(Text("\n".join(self._notes), style="cyan"))
        parts += [Text(line, style="bold magenta") for line in self._yours_lines()]
        return Group(*parts)

    def _body(self) -> list[Any]:
        body = Table.grid(padding=(0, 2), expand=True)
        body.add_column(ratio=2)
        body.add_column(ratio=3)
        body.add_row(self._figures(), self._changes())
        return [body]

    def _figures(self) -> Panel:
        latency = self.batches[-1].seconds * 1e3 if self.batches else 0.0
        figures = Table(box=None, show_header=False, expand=True)
        figures.add_column()
        figures.add_column(justify="right", style="bold")
        for name, value in (
            ("rows a second", f"{self._rate('rows'):,.0f}"),
            ("changes a second", f"{self._rate('found'):,.0f}"),
            ("batch latency", f"{latency:,.0f} ms"),
            ("vehicles", f"{self._now('objects'):,}"),
            ("standing queries", f"{len(self._asks) + len(self._yours):,}"),
            ("vehicles in answers", f"{self._now('answers'):,}"),
            ("rows so far", f"{self.rows:,}"),
            ("changes so far", f"{sum(p.results for p in self.batches):,}"),
            ("late, rejected rows", f"{self._sum('late'):,}, {self._sum('rejected'):,}"),
        ):
            figures.add_row(name, value)
        title = f"batch {self.batches[-1].batch}" if self.batches else "the first batch"
        return Panel(figures, title=title, box=box.ROUNDED)

    def _changes(self) -> Panel:
        lines = Table.grid(padding=(0, 1))
        lines.add_column()
        lines.add_column(no_wrap=True)
        for sign, words in self._news:
            lines.add_row(Text("+", "green") if sign > 0 else Text("-", "red"), words)
        return Panel(lines, title="newest changes", box=box.ROUNDED, height=self.shown_changes + 2)

    def _yours_lines(self) -> Iterator[str]:
        for query, answer in self._yours.items():
            some = sorted(answer)[:6]
            more = f" and {len(answer) - len(some)} more" if len(answer) > len(some) else ""
            yield f"yours: {query} has {len(answer)}: {', '.join(some) or 'nobody'}{more}"

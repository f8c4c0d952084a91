"""Kernels compiled before Spark's workers need them, in other processes, while Spark starts.

The first job on a machine needs some hundred kernels, a minute or two of compilation. Without this
module each worker would compile them in its first batch, all of them the same. `warm_up` starts
a rehearsal (`rehearsal.py`) in two processes: one has the job's queries that move or rank,
the other those that stay. They run beside the JVM's start; `Warming.wait` shows how far they are.
A job of kinds of queries that were rehearsed before, with the same code, starts no process.

A rehearsal that fails costs only time: the workers compile what is missing.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from watchline import rehearsal
from watchline.catalog import Catalog
from watchline.config import EMITS
from watchline.errors import InvalidQuery
from watchline.model import Keep
from watchline.proximity import run_events as a_kernel
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.share import code_of, digest


@dataclass(frozen=True)
class RehearsalPart:
    """What one process rehearses: with the queries `ids` and those that came in bulk, or of them
    those that move or rank (`moving`), or the others."""

    ref: CatalogRef
    streams: tuple[str, ...]
    emit: str
    ids: tuple[str, ...]
    moving: bool
    rows: pa.Table | None
    keep: Keep

    def rehearse(self) -> None:
        catalog = self.ref.open()
        if self.emit == "joins":
            rehearsal.rehearse_joins(catalog, self.streams)
            return
        [name] = self.streams
        queries, stream = rehearsal.some_of(catalog.queries(), self.ids), catalog.stream(name)
        if self.emit == "matches":
            rehearsal.rehearse_matches(queries, stream, self.rows)
        else:
            part = rehearsal.part_of(queries, self.moving)
            rehearsal.rehearse_changes(part, stream, self.rows, self.keep)


def warm_up(
    catalog: Catalog | str | os.PathLike[str],
    streams: str | Sequence[str],
    emit: str = "changes",
    rows: pa.Table | None = None,
    **keep: Any,
) -> Warming:
    """Start to compile what a job over this catalog and these streams needs, and return at once.

    Call it before `wl.session()`, and `wait` before the job starts. `rows` are typical rows of the
    stream; without them rows are made up that meet the queries. `keep` is as for `wl.changes`.
    """
    names = (streams,) if isinstance(streams, str) else tuple(streams)
    if emit not in EMITS:
        raise InvalidQuery(f"emit must be one of {', '.join(EMITS)}, not {emit!r}")
    if emit != "joins" and len(names) != 1:
        raise InvalidQuery(f"a job that emits {emit} has one stream, not {len(names)}")
    opened = catalog if isinstance(catalog, Catalog) else Catalog(catalog, create=False)
    declared = [opened.stream(name) for name in names]
    kept = Keep.from_arguments(keep, "warm_up")
    if not hasattr(a_kernel, "stats"):
        return Warming([], Path())  # NUMBA_DISABLE_JIT: nothing is ever compiled
    kinds, ids = rehearsal.kinds(opened.queries())
    stamp = _stamp(repr((emit, declared, kept, kinds)))
    if stamp.exists():
        return Warming([], stamp)
    # Queries that move or rank have changes only.
    both = (False, True) if emit == "changes" else (False,)
    parts = [
        RehearsalPart(CatalogRef.of(opened), names, emit, ids, moving, rows, kept)
        for moving in both
    ]
    return Warming([_Process(part) for part in parts], stamp)


@contextmanager
def warmed(
    console: Console, *job: Any, until: threading.Event | None = None, **more: Any
) -> Iterator[None]:
    """While the block starts Spark, compile what a job needs, given as to `warm_up`; then wait for
    the end of that, or until the event."""
    warming = warm_up(*job, **more)
    try:
        yield
        warming.wait(console, until)
    finally:
        warming.stop()


class Warming:
    """Processes that compile. They end by themselves, and with this one."""

    def __init__(self, processes: list[_Process], stamp: Path):
        self._processes, self._stamp = processes, stamp

    @property
    def compiled(self) -> int:
        """How many kernels have been compiled so far."""
        return sum(len(process.kernels) for process in self._processes)

    @property
    def now(self) -> str:
        """The kernel that is compiled now, or an empty string."""
        last = [process.kernels[-1] for process in self._processes if process.kernels]
        return last[-1] if last else ""

    @property
    def is_done(self) -> bool:
        return not any(process.is_running for process in self._processes)

    def wait(self, console: Console | None = None, until: threading.Event | None = None) -> None:
        """Wait for the end, with a bar on a terminal; say what was done, or why it was not.

        It is said on stderr unless another console is given. With `until` set nobody needs the
        kernels any more: the wait is over, and nothing is said.
        """
        console = console or Console(stderr=True)
        began = time.monotonic()
        self._show_until_done(console, until or threading.Event())
        if self.is_done and (said := self._outcome(time.monotonic() - began)):
            console.print(said, highlight=False, markup=False)

    def _show_until_done(self, console: Console, until: threading.Event) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        plain = not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=plain) as progress:
            task = progress.add_task("compiling kernels", total=None)
            while not self.is_done and not until.is_set():
                if self.compiled:
                    text = f"compiling kernels, the first time only: {self.compiled}, {self.now}"
                    progress.update(task, description=text)
                time.sleep(0.1)

    def _outcome(self, waited: float) -> str:
        """What to say at the end: nothing where nothing was compiled."""
        for process in self._processes:
            if process.failure:
                return f"kernels compile in the first batch instead: {process.failure}"
        if self._processes:
            _mark(self._stamp)
        if not self.compiled:
            return ""
        return f"compiled {self.compiled} kernels; waited {waited:.1f} s for them"

    def stop(self) -> None:
        for process in self._processes:
            process.stop()


class _Process:
    """One part in a process of its own, and the kernels that it says it compiles."""

    def __init__(self, part: RehearsalPart):
        self.kernels: list[str] = []
        self._errors: list[str] = []
        # It is no part of the terminal's group: Ctrl-C is for the job, which stops this process.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "watchline.spark.warming"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        self._threads = [
            threading.Thread(target=self._feed, args=(pickle.dumps(part),), daemon=True),
            self._reader(self._process.stdout, self.kernels),
            self._reader(self._process.stderr, self._errors),
        ]
        for thread in self._threads:
            thread.start()

    def _feed(self, task: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(task)
            self._process.stdin.flush()
        except OSError:
            pass  # it ended before it began; its exit code says so

    @staticmethod
    def _reader(pipe: Any, lines: list[str]) -> threading.Thread:
        def read() -> None:
            lines.extend(line.decode(errors="replace").rstrip() for line in pipe)

        return threading.Thread(target=read, daemon=True)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def failure(self) -> str:
        if self.is_running or not self._process.returncode:
            return ""
        for thread in self._threads[1:]:
            thread.join(1)
        return self._errors[-1] if self._errors else f"exit code {self._process.returncode}"

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


# --- what was rehearsed before


def _stamp(job: str) -> Path:
    """The file that says that this was rehearsed, beside the machine code: both go together."""
    key = digest(repr((code_of(), numba.__version__, job)))
    return Path(a_kernel.stats.cache_path) / f"rehearsal-{key}.nbi"


def _mark(stamp: Path) -> None:
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    except OSError:  # then the next job rehearses again, in a moment
        pass


# --- in the process


def rehearse_from_stdin() -> None:
    """Rehearse the part that comes through stdin; say the name of each kernel as it is compiled."""
    from numba.core import event

    class Names(event.Listener):  # type: ignore[misc]
        def on_start(self, started: Any) -> None:
            function = started.data["dispatcher"].py_func
            if function.__module__.startswith("watchline."):
                print(f"{function.__module__[10:]}.{function.__name__}", flush=True)

        def on_end(self, ended: Any) -> None:
            pass

    event.register("numba:compile", Names())
    part = pickle.load(sys.stdin.buffer)
    # The parent keeps the pipe open as long as it lives: without it nobody needs this.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    part.rehearse()


def _end_with_parent() -> None:
    # Not through the buffered file, whose lock a process that ends may not find held.
    while os.read(0, 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    # Pickled by the name under which the parent knows it.
    from watchline.spark import warming

    warming.rehearse_from_stdin()

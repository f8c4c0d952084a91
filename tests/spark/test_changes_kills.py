"""`watchline run` is killed at every moment, again and again, while queries come and go (I3).

Most kills of the first round are of a run in this process (tests/support/kills.py says how). The
others, and all of further rounds, kill a program and all that it has started.
"""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import reference
from tests.spark.test_changes_run import (
    EVERY,
    FOREVER,
    KIND,
    TIMEOUT,
    prepared,
    put,
    written,
)
from tests.support.kills import (
    LATER,
    MOMENTS,
    PROGRAMS_ONLY,
    SOON,
    kill_in_process,
    kill_program,
)
from tests.support.ledgers import (
    SECOND,
    Asked,
    Told,
    attributes,
    compared,
    expected,
    fleet,
    replayed,
    same,
    spec,
    table,
    told,
)
from tests.support.programs import InProcess
from watchline import Tracker
from watchline.catalog import Catalog

pytestmark = [pytest.mark.spark, pytest.mark.kills]


class Writer(threading.Thread):
    """Registers, replaces and drops queries at random moments, and knows what each version did."""

    def __init__(self, folder: Path, draw: random.Random):
        super().__init__(daemon=True)
        self._catalog, self._draw = Catalog(folder / "catalog"), draw
        self._over = threading.Event()
        # Held while a version is written.
        self.writing = threading.Lock()
        # Version -> what was dropped, what was added.
        self.history: dict[int, tuple[list[str], list[reference.QuerySpec]]] = {}
        self._living = {asked.id for asked in EVERY}

    def run(self) -> None:
        while not self._over.wait(self._draw.uniform(1, 6)):
            with self.writing:
                self.step()

    def step(self) -> None:
        draw = self._draw
        if draw.random() < 0.3 and len(self._living) > 3:
            name = draw.choice(sorted(self._living))
            self._living.discard(name)
            self.history[self._catalog.drop(name)] = ([name], [])
            return
        low = float(draw.randint(0, 80))
        where = ("and", compared("x", ">=", low), compared("x", "<", low + 25))
        life = draw.choice([None, None, 40 * SECOND])
        fresh = Asked(f"q{draw.randint(0, 5)}", f"WHERE x >= {low} AND x < {low + 25}", where)
        fresh = Asked(fresh.id, fresh.sql, where, lifetime=life)
        asked = draw.choice([fresh] * 4 + EVERY)
        known = [asked.id] if asked.id in self._living else []
        self._living.add(asked.id)
        self.history[self._catalog.execute(asked.replacement)] = (known, [asked.spec])

    def end(self) -> None:
        self._over.set()
        self.join(30)
        assert not self.is_alive()


def batches(folder: Path) -> list[tuple[int, list[str]]]:
    """The version and the files of each batch, from Spark's logs and ours."""
    return [(version, files) for version, [files] in batches_of(folder, [0])]


def batches_of(folder: Path, sources: list[int]) -> list[tuple[int, list[list[str]]]]:
    """The version of each batch, and the files of each of these sources."""
    checkpoint = folder / "checkpoint"
    logs = {number: _log_of(checkpoint / "sources" / str(number)) for number in sources}
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    made, seen = [], dict.fromkeys(sources, -1)
    numbers = sorted(int(p.name) for p in (checkpoint / "offsets").iterdir() if p.name.isdigit())
    assert numbers == list(range(len(numbers)))
    for number in numbers:
        assert (checkpoint / "commits" / str(number)).exists()
        # After the version of the format and a line of settings, a line for each source.
        offsets = (checkpoint / "offsets" / str(number)).read_text().splitlines()[2:]
        files = []
        for source in sources:
            offset = seen[source]
            if offsets[source] != "-":
                offset = json.loads(offsets[source])["logOffset"]
            files.append(
                [f for k in range(seen[source] + 1, offset + 1) for f in logs[source].get(k, [])]
            )
            seen[source] = offset
        pin = (folder / "catalog" / "_runs" / query_id / str(number)).read_text()
        version = int(pin.split()[0])  # beside it stands the wall clock
        made.append((version, files))
    return made


def _log_of(folder: Path) -> dict[int, list[str]]:
    """The files of each offset of a source."""
    found: dict[int, list[str]] = {}
    for entry in folder.iterdir() if folder.exists() else ():
        if entry.name.partition(".")[0].isdigit():
            for line in entry.read_text().splitlines()[1:]:
                told = json.loads(line)
                path = unquote(urlparse(told["path"]).path)
                names = found.setdefault(told["batchId"], [])
                names += [path] if path not in names else []
    return found


def ledger_of(folder: Path, writer: Writer) -> tuple[list[Told], reference.Ledger]:
    """What an undisturbed run with these versions in these batches writes, by the oracle."""
    ledger = reference.Ledger(spec(KIND, TIMEOUT))
    ledger.version(adds=[asked.spec for asked in EVERY])
    names = [name for name, _ in attributes(KIND)]
    at, changes = 1, []
    for version, files in batches(folder):
        for step in range(at + 1, version + 1):
            changes += ledger.version(*writer.history[step])
        at = max(at, version)
        rows = [row for file in files for row in _rows(file)]
        changes += ledger.process(rows)
    return expected(changes, names), ledger


def _rows(file: str) -> list[dict[str, Any]]:
    read = pq.read_table(file)
    times = read["ts"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return read.set_column(read.column_names.index("ts"), "ts", times).to_pylist()


@pytest.mark.slow
def test_killed_at_every_moment(tmp_path: Path, jobs: InProcess) -> None:
    """SIGKILL again and again, while queries come and go: nothing is lost, nothing comes twice."""
    seed = int(os.environ.get("WATCHLINE_SEED", "7"))
    draw = random.Random(seed)
    print(f"seed {seed}")
    folder = prepared(tmp_path)
    for path in (folder / "in").iterdir():
        path.unlink()
    rows = fleet(600, KIND, objects=16, seed=seed)
    for i in range(24):
        put(folder, i, rows[25 * i : 25 * (i + 1)])
    text = FOREVER.replace("maxFilesPerTrigger = 2", "maxFilesPerTrigger = 1")
    text += '"spark.python.daemon.module" = "tests.support.small_states"\n'
    # What was in which batch is read from Spark's logs: all of them are to be there.
    text += '"spark.sql.streaming.minBatchesToRetain" = "1000"\n'
    (folder / "job.toml").write_text(text)
    writer = Writer(folder, random.Random(seed + 1))
    writer.start()
    # Most kills wait for the moment they aim at; one comes while the job still starts.
    aims = [*((moment, SOON) for moment in MOMENTS), ("commit", LATER)]
    aims += [("", (draw.uniform(0.5, 6),))]
    met, rounds = 0, int(os.environ.get("WATCHLINE_ROUNDS", "1"))
    for turn in range(rounds):
        draw.shuffle(aims)
        for moment, after in aims:
            if turn or moment in PROGRAMS_ONLY or after is LATER:
                met += kill_program(folder, moment, draw.choice(after), draw)
            else:
                met += kill_in_process(folder, moment, draw.choice(after), jobs, writer.writing)
    writer.end()
    assert met >= rounds * len(aims) - 2
    (folder / "job.toml").write_text(
        text.replace("stream =", 'trigger = "available now"\nstream =', 1)
    )
    done = jobs.finish(folder, "run")
    assert done.code == 0, done.stderr
    wanted, ledger = ledger_of(folder, writer)
    assert ledger.counters["rejected"] + 1 < 600
    assert {"registered", "dropped", "enter", "exit", "expired"} <= {c[4] for c in wanted}
    found = written(folder)
    same(found, wanted)
    # In the order of the batches each object enters before it leaves, and the end is the truth.
    assert replayed(found) == {name: who for name, who in ledger.answers.items() if who}
    used = {file for _, files in batches(folder) for file in files}
    assert len(used) == 24


@pytest.mark.slow
def test_killed_while_load_is_shed(tmp_path: Path, jobs: InProcess) -> None:
    """What is given up and what comes back is the same as if nothing had happened."""
    draw = random.Random(int(os.environ.get("WATCHLINE_SEED", "7")))
    folder = prepared(tmp_path)
    text = FOREVER.replace("maxFilesPerTrigger = 2", "maxFilesPerTrigger = 1")
    text = text.replace("shards = 2", "shards = 1")
    text += '"spark.python.daemon.module" = "tests.support.small_states"\n'
    text += '"spark.sql.streaming.minBatchesToRetain" = "1000"\n'
    keep = {"retain": "significant", "cache": 0.5, "max_objects": 6}
    text += "[keep]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in keep.items())
    (folder / "job.toml").write_text(text)
    kill_program(folder, "tasks", draw.choice(SOON), draw)
    for moment in draw.sample(sorted(MOMENTS.keys() - PROGRAMS_ONLY), 2):
        kill_in_process(folder, moment, draw.choice(SOON), jobs)
    (folder / "job.toml").write_text(
        text.replace("stream =", 'trigger = "available now"\nstream =', 1)
    )
    done = jobs.finish(folder, "run")
    assert done.code == 0, done.stderr
    tracker = Tracker(Catalog(folder / "catalog"), "cars", 1, **keep)
    wanted: list[Told] = []
    for _, files in batches(folder):
        wanted += told(tracker.process(table([row for file in files for row in _rows(file)], KIND)))
    same(written(folder), wanted)
    replayed(written(folder))
    assert {"shed", "enter", "exit"} <= {change[4] for change in wanted}

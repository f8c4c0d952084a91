"""`watchline run` and `replay` with emit = "changes" as programs: files in, files out, kills."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests import reference
from tests.ledgers import (
    QUERIES,
    SECOND,
    Asked,
    Told,
    attributes,
    compared,
    declaration,
    expected,
    fleet,
    replayed,
    same,
    spec,
    table,
    told,
)
from watchline.catalog import Catalog
from watchline.config import load
from watchline.errors import InvalidState
from watchline.spark.job import claim_checkpoint
from watchline.spark.settings import _LOG
from watchline.spark.sink import committed_files

ROOT = Path(__file__).parents[2]
KIND, TIMEOUT = "STRING", 20 * SECOND
FILES, ROWS = 10, 40
# A JVM that starts soon matters more here than one that becomes fast.
JOB = f"""
catalog = "catalog"
stream = "cars"
emit = "changes"
shards = 2
checkpoint = "checkpoint"
trigger = "available now"
[source]
format = "parquet"
path = "in"
options = {{ maxFilesPerTrigger = 2 }}
[sink]
format = "parquet"
path = "out"
[spark]
"spark.master" = "local[1]"
"spark.driver.memory" = "512m"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile=file:{_LOG}"
"""  # noqa: E501
FOREVER = JOB.replace('trigger = "available now"\n', "")


def put(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    """One file of rows; Spark takes files in the order of their times."""
    new, path = folder / "new.parquet", folder / "in" / f"{number:03}.parquet"
    pq.write_table(table(rows, KIND), new)
    os.utime(new, (1_000 * number + 1_000,) * 2)
    new.rename(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A catalog, a job file, and ten files of forty rows."""
    texts = [declaration(KIND, TIMEOUT), *(asked.text for asked in QUERIES)]
    Catalog(tmp_path / "catalog").execute("; ".join(texts))
    (tmp_path / "in").mkdir()
    rows = fleet(FILES * ROWS, KIND)
    for i in range(FILES):
        put(tmp_path, i, rows[ROWS * i : ROWS * (i + 1)])
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def command(folder: Path, verb: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "watchline", verb, str(folder / "job.toml"), *more]


def environment() -> dict[str, str]:
    """Workers find the modules of these tests, too."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def finish(folder: Path, verb: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, verb, *more),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=environment(),
    )


def written(folder: Path) -> list[Told]:
    """What the sink holds, by Spark's own list of committed files, in order."""
    files = committed_files(str(folder / "out"))
    return told(pa.concat_tables([pq.read_table(file) for file in files]))


def right(rows: list[dict[str, Any]]) -> list[Told]:
    ledger = reference.Ledger(spec(KIND, TIMEOUT))
    ledger.version(adds=[asked.spec for asked in QUERIES])
    return expected(ledger.process(rows), [name for name, _ in attributes(KIND)])


def refused(folder: Path, text: str, message: str) -> None:
    (folder / "job.toml").write_text(text)
    done = finish(folder, "run")
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_run_and_replay(folder: Path) -> None:
    """A live run in small batches and a replay in one write the same; then others are refused."""
    wanted = right(fleet(FILES * ROWS, KIND))
    done = finish(folder, "run", "--json")
    assert done.returncode == 0, done.stderr
    batches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [b["rows"] for b in batches] == [2 * ROWS] * (FILES // 2)
    assert sum(b["changes"] for b in batches) == len(wanted)
    assert sum(b["rejected"] for b in batches) > 5
    assert f"400 rows, {len(wanted):,} changes, 5 batches" in done.stderr
    same(written(folder), wanted)
    text = JOB.replace('"out"', '"again"').replace("maxFilesPerTrigger = 2", "")
    (folder / "job.toml").write_text(text.replace("shards = 2", "shards = 3"))
    done = finish(folder, "replay", "--json")
    assert done.returncode == 0, done.stderr
    assert f'"changes": {len(wanted)}' in done.stdout
    same(told(ds.dataset(folder / "again", format="parquet").to_table()), wanted)
    # The checkpoint belongs to what it was made for.
    anew = "or start with a new checkpoint"
    made = "was made with 2 shards, not 3: use shards = 2, " + anew
    refused(folder, JOB.replace("shards = 2", "shards = 3"), made)
    matches = JOB.replace('emit = "changes"\nshards = 2\n', "")
    refused(folder, matches, "is of a job that emits changes, " + anew)
    other = Catalog(folder / "other")
    other.execute(declaration(KIND, TIMEOUT))
    text = JOB.replace('catalog = "catalog"', 'catalog = "other"')
    refused(folder, text, "belongs to another catalog")
    # Without a number the checkpoint's own is taken.
    put(folder, FILES, fleet(FILES * ROWS + 9, KIND)[FILES * ROWS :])
    (folder / "job.toml").write_text(JOB.replace("shards = 2\n", ""))
    done = finish(folder, "run")
    assert done.returncode == 0, done.stderr
    same(written(folder), right(fleet(FILES * ROWS + 9, KIND)))


def test_a_checkpoint_of_matches(folder: Path) -> None:
    (folder / "job.toml").write_text(JOB.replace('emit = "changes"\nshards = 2\n', ""))
    assert finish(folder, "run").returncode == 0
    refused(folder, JOB, "is of a job that emits matches, or start with a new checkpoint")


def test_interrupt_stops_cleanly_and_the_catalog_is_followed(folder: Path) -> None:
    """A registration alone starts a batch; Ctrl-C ends the run, and the next one goes on."""
    (folder / "job.toml").write_text(FOREVER.replace("maxFilesPerTrigger = 2", ""))
    process = subprocess.Popen(
        command(folder, "run", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    rows = fleet(FILES * ROWS, KIND)
    ledger = reference.Ledger(spec(KIND, TIMEOUT))
    ledger.version(adds=[asked.spec for asked in QUERIES])
    names = [name for name, _ in attributes(KIND)]
    wanted = expected(ledger.process(rows), names)
    assert json.loads(process.stdout.readline())["changes"] == len(wanted)
    new = Asked("new", "WHERE x < 90", compared("x", "<", 90.0))
    Catalog(folder / "catalog").execute(f"{new.text}; DROP QUERY steep")
    opened = expected(ledger.version(["steep"], [new.spec]), names)
    told_of = json.loads(process.stdout.readline())
    assert (told_of["rows"], told_of["changes"]) == (0, len(opened))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"stopped: 400 rows, {len(wanted) + len(opened):,} changes, 2 batches" in errors
    same(written(folder), wanted + opened)


MISTAKES = [
    ('emit = "changes"', 'emit = "chnages"', "must be \"matches\" or \"changes\", not 'chnages'"),
    ('emit = "changes"', "emit = true", "'emit' must be a string, not True"),
    ("shards = 2", 'shards = "2"', "'shards' must be a whole number, not '2'"),
    ("shards = 2", "shards = true", "'shards' must be a whole number, not True"),
    ("shards = 2", "shards = -1", "'shards' must be above zero"),
    ("shards = 2", "shards = 1.5", "'shards' must be a whole number, not 1.5"),
    ("shards = 2", "shards = 100000", "shards must be a whole number from 1 to 4096"),
    ('emit = "changes"', 'emit = "matches"', "goes with emit = \"changes\""),
    ('emit = "changes"', 'emits = "changes"', "unknown key 'emits'; did you mean 'emit'?"),
    ('checkpoint = "checkpoint"\n', "", "'checkpoint' is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[m[1][:20] for m in MISTAKES])
def test_mistakes_in_the_file(folder: Path, old: str, new: str, message: str) -> None:
    assert old in JOB
    refused(folder, JOB.replace(old, new, 1), message)


def test_a_mark_that_a_crash_left_empty(folder: Path) -> None:
    """The job that was to write it had not begun."""
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "watchline-catalog").touch()
    job, catalog = load(str(folder / "job.toml")), Catalog(folder / "catalog")
    assert claim_checkpoint(job, catalog, 5) == 2
    # Now it is written: without a number of its own the job takes the checkpoint's.
    assert claim_checkpoint(replace(job, shards=0), catalog, 5) == 2
    with pytest.raises(InvalidState, match="made with 2 shards, not 3"):
        claim_checkpoint(replace(job, shards=3), catalog, 5)


# --- kills


class Writer(threading.Thread):
    """Registers, replaces and drops queries at random moments, and knows what each version did."""

    def __init__(self, folder: Path, draw: random.Random):
        super().__init__(daemon=True)
        self._catalog, self._draw = Catalog(folder / "catalog"), draw
        self._over = threading.Event()
        # Version -> what was dropped, what was added.
        self.history: dict[int, tuple[list[str], list[reference.QuerySpec]]] = {}
        self._living = {asked.id for asked in QUERIES}

    def run(self) -> None:
        while not self._over.wait(self._draw.uniform(1, 6)):
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
        asked = draw.choice([fresh, fresh, *QUERIES])
        known = [asked.id] if asked.id in self._living else []
        self._living.add(asked.id)
        self.history[self._catalog.execute(asked.replacement)] = (known, [asked.spec])

    def end(self) -> None:
        self._over.set()
        self.join(30)
        assert not self.is_alive()


def of_session(leader: int) -> list[int]:
    """The processes that a program started, and theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == leader:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


class Run:
    """`watchline run` in a session of its own, to be killed with all its processes."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.process = subprocess.Popen(
            command(folder, "run"),
            stdout=subprocess.DEVNULL,
            stderr=(folder / "errors").open("ab"),
            start_new_session=True,
            env=environment(),
        )

    def wait_for(self, places: list[str], seconds: float) -> bool:
        """Until a new file appears in one of these places of the folder."""
        before = self._files(places)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, (self._folder / "errors").read_text()[-3_000:]
            if self._files(places) - before:
                return True
            time.sleep(0.002)
        return False

    def _files(self, places: list[str]) -> set[str]:
        return {str(path) for place in places for path in self._folder.glob(place)}

    def kill(self, driver_first: bool) -> None:
        if driver_first:
            # The JVM goes on for a moment, and its workers with it.
            self.process.kill()
            time.sleep(0.3)
        while left := of_session(self.process.pid):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.02)
        self.process.wait()


# Where something new is written at each moment of a batch's life.
MOMENTS = {
    "planning": ["checkpoint/offsets/*"],
    "version": ["catalog/_runs/*/*"],
    "tasks": ["checkpoint/watchline-state/*/*.state"],
    "state": ["checkpoint/state/0/*/*"],
    "files": ["out/*.parquet", "out/_temporary/**"],
    "sink": ["out/_spark_metadata/*"],
    "commit": ["checkpoint/commits/*"],
}


def batches(folder: Path) -> list[tuple[int, list[str]]]:
    """The version and the files of each batch, from Spark's logs and ours."""
    checkpoint = folder / "checkpoint"
    of_log: dict[int, list[str]] = {}
    for entry in (checkpoint / "sources" / "0").iterdir():
        if entry.name.partition(".")[0].isdigit():
            for line in entry.read_text().splitlines()[1:]:
                found = json.loads(line)
                path = unquote(urlparse(found["path"]).path)
                names = of_log.setdefault(found["batchId"], [])
                names += [path] if path not in names else []
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    made, seen = [], -1
    numbers = sorted(int(p.name) for p in (checkpoint / "offsets").iterdir() if p.name.isdigit())
    assert numbers == list(range(len(numbers)))
    for number in numbers:
        assert (checkpoint / "commits" / str(number)).exists()
        lines = (checkpoint / "offsets" / str(number)).read_text().splitlines()
        [offset] = [json.loads(x)["logOffset"] for x in lines if x.startswith('{"logOffset"')]
        files = [f for k in range(seen + 1, offset + 1) for f in of_log.get(k, [])]
        seen = offset
        version = int((folder / "catalog" / "_runs" / query_id / str(number)).read_text())
        made.append((version, files))
    return made


def ledger_of(folder: Path, writer: Writer) -> tuple[list[Told], reference.Ledger]:
    """What an undisturbed run with these versions in these batches writes, by the oracle."""
    ledger = reference.Ledger(spec(KIND, TIMEOUT))
    ledger.version(adds=[asked.spec for asked in QUERIES])
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
def test_killed_at_every_moment(folder: Path) -> None:
    """SIGKILL twenty times, while queries come and go: nothing is lost, nothing comes twice."""
    seed = int(os.environ.get("WATCHLINE_SEED", "7"))
    draw = random.Random(seed)
    print(f"seed {seed}")
    for path in (folder / "in").iterdir():
        path.unlink()
    rows = fleet(600, KIND, objects=16, seed=seed)
    for i in range(24):
        put(folder, i, rows[25 * i : 25 * (i + 1)])
    text = FOREVER.replace("maxFilesPerTrigger = 2", "maxFilesPerTrigger = 1")
    text += '"spark.python.daemon.module" = "tests.spark.small_states"\n'
    (folder / "job.toml").write_text(text)
    writer = Writer(folder, random.Random(seed + 1))
    writer.start()
    aims: list[str | float] = [*MOMENTS, "state", "tasks", "sink", "commit"]
    aims += [draw.uniform(0.5, 9) for _ in range(9)]
    draw.shuffle(aims)
    met = sum(_kill_at(Run(folder), aim, draw) for aim in aims)
    writer.end()
    assert met > 15
    (folder / "job.toml").write_text(
        text.replace("stream =", 'trigger = "available now"\nstream =', 1)
    )
    done = finish(folder, "run")
    assert done.returncode == 0, done.stderr
    wanted, ledger = ledger_of(folder, writer)
    assert ledger.counters["rejected"] + 1 < 600
    assert {"registered", "dropped", "enter", "exit", "expired"} <= {c[4] for c in wanted}
    found = written(folder)
    same(found, wanted)
    # In the order of the batches each object enters before it leaves, and the end is the truth.
    assert replayed(found) == {name: who for name, who in ledger.answers.items() if who}
    used = {file for _, files in batches(folder) for file in files}
    assert len(used) == 24


def _kill_at(run: Run, aim: str | float, draw: random.Random) -> bool:
    """Whether the moment came."""
    come = True
    if isinstance(aim, float):
        time.sleep(aim)
    else:
        come = run.wait_for(MOMENTS[aim], 60)
        time.sleep(draw.choice([0, 0, 0.005, 0.05]))
    run.kill(driver_first=draw.random() < 0.3)
    return come

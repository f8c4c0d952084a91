"""`watchline run` and `replay` with emit = "changes": files in, files out, mistakes."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests import reference
from tests.support.ledgers import (
    QUERIES,
    SECOND,
    Asked,
    Told,
    attributes,
    compared,
    declaration,
    expected,
    fleet,
    moving,
    same,
    spec,
    table,
    told,
)
from tests.support.programs import QUICK_JVM, InProcess, finish, wait_for
from watchline.catalog import Catalog
from watchline.config import load
from watchline.errors import InvalidState
from watchline.spark.job import claim_checkpoint
from watchline.spark.sessions import _LOG
from watchline.spark.sink import committed_files

pytestmark = pytest.mark.spark

KIND, TIMEOUT = "STRING", 20 * SECOND
FILES, ROWS = 10, 40
# Also what moves, and nearest neighbours: of those the shards know only a part each.
EVERY = [*QUERIES, *moving(KIND)]
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
"spark.driver.extraJavaOptions" = "{QUICK_JVM} -Dlog4j2.configurationFile=file:{_LOG}"
"""
FOREVER = JOB.replace('trigger = "available now"\n', "")


def put(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    """One file of rows; Spark takes files in the order of their times."""
    new, path = folder / "new.parquet", folder / "in" / f"{number:03}.parquet"
    pq.write_table(table(rows, KIND), new)
    os.utime(new, (1_000 * number + 1_000,) * 2)
    new.rename(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def prepared(tmp_path: Path) -> Path:
    """A catalog, a job file, and ten files of forty rows."""
    texts = [declaration(KIND, TIMEOUT), *(asked.text for asked in EVERY)]
    Catalog(tmp_path / "catalog").execute("; ".join(texts))
    (tmp_path / "in").mkdir()
    rows = fleet(FILES * ROWS, KIND)
    for i in range(FILES):
        put(tmp_path, i, rows[ROWS * i : ROWS * (i + 1)])
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def written(folder: Path) -> list[Told]:
    """What the sink holds, by Spark's own list of committed files, in order."""
    files = committed_files(str(folder / "out"))
    return told(pa.concat_tables([pq.read_table(file) for file in files]))


def right(rows: list[dict[str, Any]]) -> list[Told]:
    ledger = reference.Ledger(spec(KIND, TIMEOUT))
    ledger.version(adds=[asked.spec for asked in EVERY])
    return expected(ledger.process(rows), [name for name, _ in attributes(KIND)])


def refused(folder: Path, text: str, message: str) -> None:
    (folder / "job.toml").write_text(text)
    done = finish(folder, "run")
    assert done.code == 2, done.stderr
    assert message in done.stderr


def test_run_and_replay(folder: Path, jobs: InProcess) -> None:
    """A live run in small batches and a replay in one write the same; then others are refused."""
    wanted = right(fleet(FILES * ROWS, KIND))
    Catalog(folder / "catalog").execute("CREATE QUERY plain AS SELECT * FROM cars WHERE x < 50")
    unanswered = "warning: 1 query is not answered by wl.changes: 'plain' (EMIT MATCHES: use"
    (folder / "job.toml").write_text(JOB + '"spark.sql.shuffle.partitions" = 200\n')
    done = jobs.finish(folder, "run", "--json")
    assert done.code == 0, done.stderr
    assert next(line for line in done.stderr.splitlines() if "plain" in line).startswith(unanswered)
    batches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [b["rows"] for b in batches] == [2 * ROWS] * (FILES // 2)
    assert sum(b["changes"] for b in batches) == len(wanted)
    assert sum(b["rejected"] for b in batches) > 5
    assert {b["unanswered"] for b in batches} == {1}
    reasons = sum((Counter(b["rejected_by"]) for b in batches), Counter())
    assert reasons.total() == sum(b["rejected"] for b in batches)
    assert {"no object id", "no time"} < set(reasons)
    assert f"400 rows, {len(wanted):,} changes, 5 batches" in done.stderr
    assert f"{reasons.total()} rejected ({reasons.most_common(1)[0][1]} " in done.stderr
    # As many tasks as shards, whatever the session says.
    assert '"spark.sql.shuffle.partitions":"2"' in (folder / "checkpoint/offsets/0").read_text()
    same(written(folder), wanted)
    text = JOB.replace('"out"', '"again"').replace("maxFilesPerTrigger = 2", "")
    (folder / "job.toml").write_text(text.replace("shards = 2", "shards = 3"))
    done = jobs.finish(folder, "replay", "--json")
    assert done.code == 0, done.stderr
    assert unanswered in done.stderr
    counts = json.loads(done.stdout)
    assert (counts["rows"], counts["changes"], counts["late"]) == (400, len(wanted), 0)
    assert (counts["unanswered"], counts["rejected_by"]) == (1, reasons)
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
    done = jobs.finish(folder, "run")
    assert done.code == 0, done.stderr
    same(written(folder), right(fleet(FILES * ROWS + 9, KIND)))


def test_a_checkpoint_of_matches(folder: Path, jobs: InProcess) -> None:
    (folder / "job.toml").write_text(JOB.replace('emit = "changes"\nshards = 2\n', ""))
    assert jobs.finish(folder, "run").code == 0
    refused(folder, JOB, "is of a job that emits matches, or start with a new checkpoint")


def test_interrupt_stops_cleanly_and_the_catalog_is_followed(folder: Path, jobs: InProcess) -> None:
    """A registration alone starts a batch; Ctrl-C ends the run, and the next one goes on."""
    (folder / "job.toml").write_text(FOREVER.replace("maxFilesPerTrigger = 2", ""))
    ledger = reference.Ledger(spec(KIND, TIMEOUT))
    ledger.version(adds=[asked.spec for asked in EVERY])
    names = [name for name, _ in attributes(KIND)]
    wanted = expected(ledger.process(fleet(FILES * ROWS, KIND)), names)
    new = Asked("new", "WHERE x < 90", compared("x", "<", 90.0))
    opened = expected(ledger.version(["steep"], [new.spec]), names)
    commits = folder / "checkpoint" / "commits"

    def register() -> None:
        wait_for((commits / "0").exists)
        Catalog(folder / "catalog").execute(f"{new.text}; DROP QUERY steep")
        wait_for((commits / "1").exists)

    done = jobs.interrupted(folder, register, "--json")
    assert done.code == 0
    batches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [b["changes"] for b in batches] == [len(wanted), len(opened)]
    assert batches[1]["rows"] == 0
    assert f"stopped: 400 rows, {len(wanted) + len(opened):,} changes, 2 batches" in done.stderr
    same(written(folder), wanted + opened)


MISTAKES = [
    ('emit = "changes"', 'emit = "chnages"',
     "must be \"matches\", \"changes\" or \"joins\", not 'chnages'"),
    ('emit = "changes"', "emit = true", "'emit' must be a string, not True"),
    ("shards = 2", 'shards = "2"', "'shards' must be a whole number, not '2'"),
    ("shards = 2", "shards = true", "'shards' must be a whole number, not True"),
    ("shards = 2", "shards = -1", "'shards' must be a whole number from 1 to 4096"),
    ("shards = 2", "shards = 1.5", "'shards' must be a whole number, not 1.5"),
    ("shards = 2", "shards = 100000", "'shards' must be a whole number from 1 to 4096"),
    ('emit = "changes"', 'emit = "matches"', "goes with emit = \"changes\""),
    ('emit = "changes"', 'emits = "changes"', "unknown key 'emits'; did you mean 'emit'?"),
    ('checkpoint = "checkpoint"\n', "", "'checkpoint' is missing"),
    ("[sink]", "[keep]\nretian = 1\n[sink]", "[keep] unknown key 'retian'; did you mean 'retain'?"),
    ("[sink]", '[keep]\nretain = "few"\n[sink]', "retain is 'all' or 'significant', not 'few'"),
    ("[sink]", "[keep]\nmax_objects = 5\n[sink]", "max_objects goes with retain = 'significant'"),
]  # fmt: skip


@pytest.mark.usefixtures("jobs")
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

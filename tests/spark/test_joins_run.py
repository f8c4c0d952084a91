"""`watchline run` and `replay` with emit = "joins": files in, files out, mistakes, kills."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import watchline as wl
from tests.spark.test_changes_kills import batches_of
from tests.support.kills import PROGRAMS_ONLY, SOON, kill_in_process, kill_program
from tests.support.programs import QUICK_JVM, InProcess, finish
from tests.support.spark_joins import (
    DECLARATIONS,
    QUERIES,
    catalog_at,
    end,
    fleet,
    joined,
    put,
    table,
)
from tests.support.streaming import sunk
from watchline.catalog import Catalog
from watchline.config import load
from watchline.errors import InvalidQuery
from watchline.spark.sessions import _LOG

pytestmark = pytest.mark.spark

FILES = {"r": 6, "s": 3}
ROWS = {"r": fleet("r", 150, 4) + end("r"), "s": fleet("s", 90, 4) + end("s")}
JOB = f"""
catalog = "catalog"
emit = "joins"
shards = 2
checkpoint = "checkpoint"
trigger = "available now"
[sources.r]
format = "parquet"
path = "r"
options = {{ maxFilesPerTrigger = 1 }}
[sources.s]
format = "parquet"
path = "s"
options = {{ maxFilesPerTrigger = 1 }}
[sink]
format = "parquet"
path = "out"
[spark]
"spark.master" = "local[1]"
"spark.driver.memory" = "512m"
"spark.driver.extraJavaOptions" = "{QUICK_JVM} -Dlog4j2.configurationFile=file:{_LOG}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A catalog, a job file, six files of one stream and three of another."""
    catalog_at(tmp_path / "catalog")
    for name, count in FILES.items():
        (tmp_path / name).mkdir()
        size = -(-len(ROWS[name]) // count)
        for i in range(count):
            put(tmp_path, name, i, ROWS[name][size * i : size * (i + 1)])
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def refused(folder: Path, text: str, message: str) -> None:
    """Before Spark is started."""
    (folder / "job.toml").write_text(text)
    done = finish(folder, "run")
    assert done.code == 2, done.stderr
    assert message in done.stderr


def test_run_and_replay(folder: Path, jobs: InProcess) -> None:
    """A live run in small batches and a replay in one write the same; then others are refused."""
    joiner = wl.Joiner(Catalog(folder / "catalog"), ["r", "s"])
    right = joined(joiner.process({name: table(name, rows) for name, rows in ROWS.items()}))
    done = jobs.finish(folder, "run", "--json")
    assert done.code == 0, done.stderr
    batches = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(batches) == 6
    assert sum(b["rows"] for b in batches) == 242
    assert sum(b["pairs"] for b in batches) == right.total()
    assert sum(b["rejected"] for b in batches) == joiner.stats()["rejected"] > 5
    assert max(b["waiting"] for b in batches) > 10
    assert "running r, s from" in done.stderr
    assert f"242 rows, {right.total():,} pairs, 6 batches" in done.stderr
    assert joined(sunk(folder)) == right
    text = JOB.replace('"out"', '"again"').replace("shards = 2", "shards = 3")
    (folder / "job.toml").write_text(text.replace("{ maxFilesPerTrigger = 1 }", "{}"))
    done = jobs.finish(folder, "replay")
    assert done.code == 0, done.stderr
    assert f"{right.total():,} pairs in" in done.stdout
    assert f" from 242 rows, {joiner.stats()['rejected']} rejected (" in done.stdout
    assert joined(ds.dataset(folder / "again", format="parquet").to_table()) == right
    # The checkpoint belongs to what it was made for.
    (folder / "job.toml").write_text(JOB.replace("sources.s", "sources.t"))
    Catalog(folder / "catalog").execute(DECLARATIONS[1].replace("STREAM s", "STREAM t"))
    done = jobs.finish(folder, "run")
    assert done.code == 2
    assert "is of a join of r, s, or start with a new checkpoint" in done.stderr


MISTAKES = [
    ('emit = "joins"', 'emit = "joints"',
     "'emit' must be \"matches\", \"changes\" or \"joins\", not 'joints'"),
    ('emit = "joins"', 'emit = "changes"', "[sources] goes with emit = \"joins\""),
    ('emit = "joins"', 'emit = "joins"\nstream = "r"', "'stream' does not go with emit"),
    ("[sources.s]", "[source]", "'source' does not go with emit = \"joins\": name each stream"),
    ("[sources.s]", "[surces.s]", "unknown key 'surces'; did you mean 'source"),
    ("[sources.s]", "[sources.ss]", "there is no stream 'ss'; did you mean 's'"),
    ("[sources.s]\nformat", "[sources.s]\nfromat", "[sources.s] unknown key 'fromat'; did"),
    ('path = "s"', 'path = "t"', "[sources.s] there is nothing at"),
    ('path = "s"\n', "", "[sources.s] 'path' is missing: format 'parquet' needs one"),
    ('[sources.s]\nformat = "parquet"\n', "[sources.s]\n", "[sources.s] 'format' is missing"),
    ("[sources.r]", '[sources]\ns2 = "in"\n[sources.r]', "[sources] 's2' must be a table, not"),
    ("shards = 2", "shards = -2", "'shards' must be a whole number from 1 to 4096"),
    ("[sink]", "[keep]\ncache = 0.5\n[sink]", "[keep] goes with emit = \"changes\""),
    ("[sink]", "[times]\nt = 2\n[sink]", "[times] there is no source 't'"),
    ("[sink]", "[times]\nr = 0\n[sink]", "[times] 'r' must be a whole number above zero"),
    ('checkpoint = "checkpoint"\n', "", "'checkpoint' is missing"),
]  # fmt: skip


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[m[2][:30] for m in MISTAKES])
def test_mistakes_in_the_file(folder: Path, old: str, new: str, message: str) -> None:
    assert old in JOB
    refused(folder, JOB.replace(old, new, 1), message)


def test_other_mistakes(folder: Path) -> None:
    start = JOB.index("[sources.r]")
    bare = JOB[:start] + JOB[JOB.index("[sink]") :]
    refused(folder, bare, "'sources' is missing: emit = \"joins\" needs a table for each stream")
    (folder / "job.toml").write_text(JOB.replace("[sink]", "[times]\nr = 3\n[sink]"))
    assert load(str(folder / "job.toml")).times == {"r": 3}
    for emit, message in (("changes", r"\[times\] goes with"), ("matches", "'shards' goes with")):
        text = bare.replace('"joins"', f'"{emit}"\nstream = "r"')
        text += '[source]\nformat = "parquet"\npath = "r"\n[times]\nr = 2\n'
        (folder / "job.toml").write_text(text)
        with pytest.raises(InvalidQuery, match=message):
            load(str(folder / "job.toml"))


@pytest.mark.slow
@pytest.mark.kills
def test_killed_and_restarted(folder: Path, jobs: InProcess) -> None:
    """SIGKILL at moments of a batch's life, while queries come: nothing is lost or comes twice."""
    seed = int(os.environ.get("WATCHLINE_SEED", "7"))
    draw = random.Random(seed)
    print(f"seed {seed}")
    catalog = Catalog(folder / "catalog")
    for query in QUERIES[2:]:
        catalog.execute(f"DROP QUERY {query.split()[2]}")
    for name, count in {"r": 14, "s": 7}.items():
        rows = ROWS[name]
        for path in (folder / name).iterdir():
            path.unlink()
        for i in range(count):
            cuts = [len(rows) * k // count for k in (i, i + 1)]
            put(folder, name, i, rows[cuts[0] : cuts[1]])
    # Every state is a file; and what was in which batch is read from Spark's logs.
    text = JOB + '"spark.python.daemon.module" = "tests.support.small_states"\n'
    text += '"spark.sql.streaming.minBatchesToRetain" = "1000"\n'
    (folder / "job.toml").write_text(
        text.replace('trigger = "available now"\n', "").replace("[sink]", "[times]\nr = 2\n[sink]")
    )
    missed = []
    for moment, query in zip(("tasks", "state", "sink", "commit"), QUERIES[2:], strict=False):
        after = draw.choice(SOON)
        if moment in PROGRAMS_ONLY:
            met = kill_program(folder, moment, after, draw)
        else:
            met = kill_in_process(folder, moment, after, jobs)
        if not met:
            missed.append(moment)
        catalog.execute(query)
    assert not missed
    (folder / "job.toml").write_text(text.replace("[sink]", "[times]\nr = 2\n[sink]"))
    done = jobs.finish(folder, "run")
    assert done.code == 0, done.stderr
    joiner, right = undisturbed(folder)
    found = sunk(folder)
    assert joined(found) == joined(right)
    assert joiner.stats()["waiting"] == 0
    assert len(set(found["query_id"].to_pylist())) >= 4


def undisturbed(folder: Path) -> tuple[wl.Joiner, pa.Table]:
    """What a run with these versions in these batches writes, by a joiner; all files are there."""
    catalog = Catalog(folder / "catalog")
    # The sources are r, the versions, and s.
    made = batches_of(folder, [0, 2])
    joiner = wl.Joiner(catalog, ["r", "s"], made[0][0], times={"r": 2})
    right = []
    for version, files in made:
        joiner.advance_to(version)
        pieces: dict[str, Any] = {
            name: pa.concat_tables(map(pq.read_table, paths))
            for name, paths in zip("rs", files, strict=True)
            if paths
        }
        right.append(joiner.process(pieces))
    for number, name in enumerate("rs"):
        used = [path for _, files in made for path in files[number]]
        assert sorted(used) == sorted(str(path) for path in (folder / name).iterdir())
    return joiner, pa.concat_tables(right)

"""What is wrong with a job is found without Spark, before anything is read or created."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from watchline import preflight
from watchline.catalog import Catalog
from watchline.cli import cli
from watchline.config import load
from watchline.errors import InvalidQuery, InvalidState, SchemaMismatch

FIXES = (
    "CREATE STREAM fixes (id BIGINT, lon DOUBLE, lat DOUBLE, kind STRING, ts TIMESTAMP)"
    " OBJECT id TIME ts POINT (lon, lat)"
)
JOB = """
catalog = "catalog"
stream = "fixes"
emit = "changes"
checkpoint = "checkpoint"
[source]
format = "parquet"
path = "in"
[sink]
format = "parquet"
path = "out"
"""
ROWS = {"id": [1], "lon": [2.5], "lat": [3.5], "kind": ["taxi"], "ts": [datetime(2026, 3, 1)]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Catalog(tmp_path / "catalog").execute(FIXES)
    (tmp_path / "in").mkdir()
    return tmp_path


def checked(folder: Path, text: str = JOB) -> list[str]:
    (folder / "job.toml").write_text(text)
    return preflight.check_run(load(str(folder / "job.toml")), Catalog(folder / "catalog"))


def log(folder: Path, *batches: int | str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for batch in batches:
        (folder / str(batch)).touch()


# --- columns


def renamed(old: str, new: str) -> pa.Table:
    return pa.table({new if name == old else name: values for name, values in ROWS.items()})


def test_columns_that_fit(folder: Path) -> None:
    assert checked(folder) == []  # a folder without files cannot be checked
    small = pa.table({**ROWS, "id": pa.array([1], pa.int32()), "lon": pa.array([1], pa.int8())})
    pq.write_table(small.append_column("more", pa.array([1])), folder / "in" / "a.parquet")
    (folder / "in" / "_SUCCESS").touch()
    assert checked(folder) == []


def test_a_partition_is_a_column(folder: Path) -> None:
    (folder / "in" / "kind=taxi").mkdir()
    pq.write_table(pa.table(ROWS).drop_columns("kind"), folder / "in" / "kind=taxi" / "a.parquet")
    assert checked(folder) == []


def test_a_renamed_column_names_the_near_miss(folder: Path) -> None:
    pq.write_table(renamed("lon", "longitude"), folder / "in" / "a.parquet")
    with pytest.raises(SchemaMismatch, match=r"'lon' \(DOUBLE\) is missing; there is 'longitude'"):
        checked(folder)
    result = CliRunner().invoke(cli, ["run", str(folder / "job.toml")])
    assert result.exit_code == 2
    assert "starting Spark" not in result.stderr
    assert not (folder / "checkpoint").exists()
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("lon", ["2.5"], "column 'lon' is string, not DOUBLE"),
        ("id", [1.0], "column 'id' is double, not BIGINT"),
        ("ts", [5], "column 'ts' is int64, not TIMESTAMP"),
        ("kind", [True], "column 'kind' is bool, not STRING"),
    ],
)
def test_types(folder: Path, column: str, values: list[object], message: str) -> None:
    table = pa.table({**ROWS, column: values})
    pq.write_table(table, folder / "in" / "a.parquet")
    with pytest.raises(SchemaMismatch, match=message):
        checked(folder)
    (folder / "in" / "a.parquet").unlink()
    orc.write_table(table, folder / "in" / "a.orc")
    with pytest.raises(SchemaMismatch, match=message):
        checked(folder, JOB.replace('"parquet"', '"orc"', 1))


def test_the_newest_file_is_compared(folder: Path) -> None:
    """An older file may lack a column that was added since, whatever the names of the files are."""
    files = [folder / "in" / name for name in ("a.parquet", "b.parquet", "c.parquet")]
    old, new = pa.table(ROWS).drop_columns("kind"), pa.table(ROWS)
    for file, table, seconds in zip(files, (old, new, old), (10, 30, 20), strict=True):
        pq.write_table(table, file)
        os.utime(file, (seconds, seconds))
    assert checked(folder) == []
    os.utime(files[2], (40, 40))
    with pytest.raises(SchemaMismatch, match=r"c.parquet does not fit .*: schema = \"id BIGINT, …"):
        checked(folder)
    whole = "id BIGINT, lon DOUBLE, lat DOUBLE, kind STRING, ts TIMESTAMP"
    assert checked(folder, JOB.replace('"in"', f'"in"\nschema = "{whole}"', 1)) == []


def test_of_many_files_the_last_by_name_are_looked_at(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "_SAMPLE_FILES", 2)
    for name, seconds in (("a", 30), ("b", 10), ("c", 20)):
        file = folder / "in" / f"{name}.parquet"
        pq.write_table(renamed("lon", "longitude") if name == "a" else pa.table(ROWS), file)
        os.utime(file, (seconds, seconds))
    assert checked(folder) == []


def test_a_file_of_another_format(folder: Path) -> None:
    (folder / "in" / "a.parquet").write_text("id,lon\n")
    with pytest.raises(SchemaMismatch, match="it is not parquet"):
        checked(folder)


CSV = JOB.replace(
    'format = "parquet"\npath = "in"', 'format = "csv"\npath = "in"\noptions = { header = true }'
)


def test_csv_by_its_header(folder: Path) -> None:
    file = folder / "in" / "a.csv"
    file.write_text("id,lon,lat,kind,ts\n")
    assert checked(folder, CSV) == []
    file.write_text("id,lng,lat,kind,ts\n")
    with pytest.raises(SchemaMismatch, match=r"'lon' .* is missing"):
        checked(folder, CSV)
    file.write_text("id,lat,lon,kind,ts\n")
    with pytest.raises(SchemaMismatch, match="Spark reads them by place"):
        checked(folder, CSV)
    assert checked(folder, CSV.replace("true", "true, enforceSchema = false")) == []
    file.write_text("1,2\n")
    with pytest.raises(SchemaMismatch, match="first row has 2 columns, not 5"):
        checked(folder, CSV.replace("header = true", ""))


def test_json_may_leave_out_what_is_not_needed(folder: Path) -> None:
    file = folder / "in" / "a.json"
    text = JOB.replace('"parquet"', '"json"', 1)
    file.write_text('{"id": 1, "lon": 1, "lat": 2, "ts": "2026-03-01"}\n')
    assert checked(folder, text) == []
    file.write_text('{"id": 1, "lon": 1, "lat": 2, "ts": "2026-03-01", "kinds": "taxi"}\n')
    with pytest.raises(SchemaMismatch, match="has 'kind'; there is 'kinds'"):
        checked(folder, text)
    file.write_text('{"id": 1, "longitude": 1, "lat": 2, "ts": "2026-03-01"}\nno json\n')
    with pytest.raises(SchemaMismatch, match="has 'lon'; there is 'longitude'"):
        checked(folder, text)
    file.write_text("")
    assert checked(folder, text) == []


def test_json_with_a_field_that_only_begins_alike(folder: Path) -> None:
    """Such a field is another one: `v`, left out of all rows, was not renamed to `vehicle`."""
    Catalog(folder / "catalog").execute(
        "DROP STREAM fixes; " + FIXES.replace("kind STRING", "v DOUBLE, temperature DOUBLE")
    )
    row = '{"id": 1, "lon": 1, "lat": 2, "ts": "2026-03-01", "vehicle": "x", "te": 1, "%s": 1}\n'
    file, text = folder / "in" / "a.json", JOB.replace('"parquet"', '"json"', 1)
    file.write_text(row % "other")
    assert checked(folder, text) == []
    file.write_text(row % "temperatur")
    with pytest.raises(SchemaMismatch, match="has 'temperature'; there is 'temperatur'"):
        checked(folder, text)


# --- sink and checkpoint


def test_a_used_sink_with_a_new_checkpoint(folder: Path) -> None:
    log(folder / "out" / "_spark_metadata", 0, 1, "9.compact", 10, ".10.crc")
    with pytest.raises(InvalidState, match=r"has batch 10 of another run.*is new: Spark"):
        checked(folder)
    result = CliRunner().invoke(cli, ["run", str(folder / "job.toml")])
    assert result.exit_code == 2
    assert not (folder / "checkpoint").exists()
    log(folder / "checkpoint" / "offsets", 0, 1)
    with pytest.raises(InvalidState, match="ends with batch 1:"):
        checked(folder)
    # A crash between the sink's commit and the checkpoint's leaves one batch that is begun.
    log(folder / "checkpoint" / "offsets", 10)
    log(folder / "checkpoint" / "commits", 9)
    assert checked(folder) == []


def test_a_file_url_is_a_local_place(folder: Path) -> None:
    log(folder / "out" / "_spark_metadata", 0)
    url = JOB.replace('"checkpoint"', f'"file://{folder}/new"')
    with pytest.raises(InvalidState, match="has batch 0 of another run, and the checkpoint"):
        checked(folder, url)


def test_a_checkpoint_of_another_sink(folder: Path) -> None:
    checked(folder)
    log(folder / "checkpoint" / "offsets", 0)
    preflight.mark_sink(load(str(folder / "job.toml")))
    assert checked(folder) == []
    with pytest.raises(InvalidState, match=r"belongs to the sink .*out, not to .*other"):
        checked(folder, JOB.replace('"out"', '"other"'))
    moved = folder.parent / f"{folder.name}-moved"
    folder.rename(moved)
    assert checked(moved) == []


def test_a_crash_leaves_the_mark_of_a_sink_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_: int) -> None:
        raise OSError("no room")

    checked(folder)
    log(folder / "checkpoint" / "offsets", 0)
    job = load(str(folder / "job.toml"))
    preflight.mark_sink(job)
    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="no room"):
        preflight.mark_sink(replace(job, sink=replace(job.sink, path=str(folder / "other"))))
    assert checked(folder) == []


def test_an_emptied_sink_is_told(folder: Path) -> None:
    log(folder / "checkpoint" / "offsets", 0, 1)
    log(folder / "checkpoint" / "commits", 0, 1)
    [note] = checked(folder)
    assert "batches up to 1 as written, but the sink" in note
    assert "has no batch: it gets later rows only" in note


def test_a_sink_with_files_of_something_else(folder: Path) -> None:
    (folder / "out").mkdir()
    assert checked(folder) == []
    (folder / "out" / "report.csv").touch()
    with pytest.raises(InvalidState, match=r"has files of something else, as report.csv"):
        checked(folder)


def test_replay_into_a_folder_that_is_there(folder: Path) -> None:
    checked(folder)
    (folder / "out").mkdir()
    result = CliRunner().invoke(cli, ["replay", str(folder / "job.toml")])
    assert result.exit_code == 2
    assert "a replay writes a new folder, and there is one at" in result.stderr
    assert "starting Spark" not in result.stderr


# --- words of the file


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("emit =", "shards = 0\nemit =", "'shards' must be a whole number from 1 to 4096"),
        ("emit =", 'trigger = "5 secs"\nemit =', "'trigger' must be \"available now\" or a time"),
        ("emit =", f'trigger = "{10**20} seconds"\nemit =', "'trigger' must be"),
        ("[sink]", "[spark]\nmaster = 1\n[sink]", "begin with 'spark.', not 'master'"),
        ("emit =", 'trigger = "once"\nemit =', "such as \"5 seconds\", not 'once'"),
        ('"parquet"', '"parqet"', "'parqet' by itself: .*did you mean 'parquet'"),
        ('"parquet"', '"kafka"', "a job neither reads nor writes Kafka"),
        (
            'path = "in"',
            'path = "in"\noptions = { maxFilePerTrigger = 1 }',
            "has no option 'maxFilePerTrigger'; did you mean 'maxFilesPerTrigger'",
        ),
    ],
)
def test_words_that_spark_would_not_know(
    folder: Path, old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert old in JOB
    with pytest.raises(InvalidQuery, match=message):
        checked(folder, JOB.replace(old, new, 1))


@pytest.mark.parametrize(
    "trigger", ["available now", "5 seconds", "1 minute 30 seconds", "0 seconds"]
)
def test_triggers(folder: Path, trigger: str) -> None:
    assert checked(folder, f'trigger = "{trigger}"\n{JOB}') == []


def test_a_trigger_in_capitals_is_as_spark_has_it(folder: Path) -> None:
    checked(folder, f'trigger = "Available Now"\n{JOB}')
    assert load(str(folder / "job.toml")).trigger == "available now"


def test_a_pattern_names_files(folder: Path) -> None:
    pattern = JOB.replace('path = "in"', 'path = "in/*.parquet"')
    with pytest.raises(InvalidQuery, match=r"there is nothing at .*parquet"):
        checked(folder, pattern)
    pq.write_table(pa.table(ROWS), folder / "in" / "a.parquet")
    assert checked(folder, pattern) == []
    pq.write_table(renamed("lon", "longitude"), folder / "in" / "b.parquet")
    os.utime(folder / "in" / "a.parquet", (1, 1))
    with pytest.raises(SchemaMismatch, match="'longitude'"):
        checked(folder, pattern)


def test_texts_that_cannot_be_read(folder: Path) -> None:
    csv = JOB.replace('"parquet"', '"csv"', 1)
    options = 'path = "in"\noptions = { header = true, encoding = "utf-99" }'
    (folder / "in" / "a.csv").write_text("id,lon,lat,kind,ts\n")
    with pytest.raises(SchemaMismatch, match="cannot be read: unknown encoding: utf-99"):
        checked(folder, csv.replace('path = "in"', options))
    (folder / "in" / "a.csv").write_text("x" * 200_000)
    with pytest.raises(SchemaMismatch, match="cannot be read: field larger than field limit"):
        checked(folder, csv)
    (folder / "in" / "a.csv").unlink()
    row = '{"id": 1, "lon": 2, "lat": 3, "kind": "a", "ts": "2026-03-01T00:00:00Z"}\n'
    (folder / "in" / "a.json").write_bytes(row.encode("utf-16"))
    json = JOB.replace('"parquet"', '"json"', 1)
    with pytest.raises(SchemaMismatch, match="none of its first lines is a JSON object"):
        checked(folder, json)
    wide = 'path = "in"\noptions = { encoding = "UTF-16", lineSep = "\\n" }'
    assert checked(folder, json.replace('path = "in"', wide)) == []


def test_formats_and_options_that_we_cannot_know(folder: Path) -> None:
    packages = '[spark]\n"spark.jars.packages" = "a:b:1"\n'
    assert checked(folder, JOB.replace('"parquet"', '"strange"', 1) + packages) == []
    assert checked(folder, JOB.replace('"in"', '"in"\noptions = { "parquet.x" = 1 }', 1)) == []


@pytest.mark.parametrize("place", ["in", "in/out", "catalog", "./in/../in"])
def test_a_sink_in_what_the_job_reads(folder: Path, place: str) -> None:
    """Nobody is told to delete it."""
    with pytest.raises(InvalidState, match=r"in the folder of .* name a folder of its own") as told:
        checked(folder, JOB.replace('path = "out"', f'path = "{place}"'))
    assert "delete" not in str(told.value)


def test_a_file_that_is_no_json(folder: Path) -> None:
    pq.write_table(pa.table(ROWS), folder / "in" / "a.parquet")
    with pytest.raises(SchemaMismatch, match="none of its first lines is a JSON object"):
        checked(folder, JOB.replace('"parquet"', '"json"', 1))
    (folder / "in" / "a.parquet").write_text("")
    assert checked(folder, JOB.replace('"parquet"', '"json"', 1)) == []


def test_a_bound_without_what_it_goes_with(folder: Path) -> None:
    with pytest.raises(InvalidQuery, match="max_objects goes with retain = 'significant'"):
        checked(folder, JOB + "[keep]\nmax_objects = 5\n")

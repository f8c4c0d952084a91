"""Files of a catalog that were emptied, cut off or deleted: noticed, refused, and mended."""

from __future__ import annotations

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

import watchline as wl
from tests.catalog.test_storage import race
from tests.conftest import TICKS
from watchline.catalog import Catalog, check, guard, log, mending, repair
from watchline.catalog.guard import RECORD, fault_of, replace_file
from watchline.catalog.log import MERGE_FILES, DeltaLog
from watchline.cli import cli
from watchline.spark.catalog_ref import CatalogRef
from watchline.spark.matching import MatchTask

CREATE = "CREATE QUERY {} AS SELECT * FROM ticks WHERE price < 3"
QUERIES = 4
VERSION = 1 + QUERIES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    catalog = Catalog(folder)
    catalog.execute(TICKS)
    for i in range(QUERIES):
        catalog.execute(CREATE.format(f"q{i}"))
    return folder


def entries(path: Path) -> list[Path]:
    return sorted((path / "_delta_log").glob("*.json"))


def newest(path: Path) -> Path:
    return entries(path)[-1]


def cut(path: Path, size: int) -> None:
    os.truncate(newest(path), size)


def files(path: Path) -> dict[str, bytes]:
    return {str(f): f.read_bytes() for f in path.rglob("*") if f.is_file()}


def refused(path: Path) -> str:
    """Neither opened nor written; and nothing is changed by that."""
    before = files(path)
    with pytest.raises(wl.CatalogDamaged) as caught:
        Catalog(path).execute(CREATE.format("new"))
    assert files(path) == before
    return str(caught.value)


# --- what is noticed


def test_an_emptied_newest_entry_is_refused_and_says_how_to_repair(path: Path) -> None:
    cut(path, 0)
    message = refused(path)
    assert f"entry {VERSION} of its log (_delta_log/{newest(path).name}) is empty" in message
    assert f"`watchline --catalog {path} catalog repair`" in message


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [True, False])
def test_a_cut_at_every_byte_is_noticed(path: Path, recorded: bool) -> None:
    whole = newest(path).read_bytes()
    record = DeltaLog(str(path), create=False)._guard.recorded(None)  # type: ignore[union-attr]
    assert record is not None
    assert record.text.encode() == whole
    for size in range(len(whole)):
        newest(path).write_bytes(whole[:size])
        found = fault_of(str(path), VERSION, record if recorded else None)
        assert found is not None, size
        assert found.recorded == recorded
    newest(path).write_bytes(whole)
    assert fault_of(str(path), VERSION, record if recorded else None) is None


@pytest.mark.parametrize("recorded", [True, False])
def test_catalogs_refuse_wherever_the_newest_entry_is_cut(path: Path, recorded: bool) -> None:
    whole = newest(path).read_bytes()
    lines = [i for i, byte in enumerate(whole) if byte == ord("\n")]
    sizes = {0, 1, len(whole) - 1, *range(0, len(whole), 211)}
    if not recorded:
        (path / RECORD).unlink()
    for size in sorted(sizes | {i + d for i in lines for d in (0, 1, 2)}):
        newest(path).write_bytes(whole[:size])
        with pytest.raises(wl.CatalogDamaged):
            Catalog(path)
    newest(path).write_bytes(whole)
    assert Catalog(path).execute(CREATE.format("new")) == VERSION + 1


def test_a_deleted_newest_entry(path: Path) -> None:
    newest(path).unlink()
    assert f"entry {VERSION} of its log" in refused(path)
    assert "is missing" in refused(path)


def test_a_log_without_any_entry_is_not_begun_anew(path: Path) -> None:
    for entry in (path / "_delta_log").iterdir():
        entry.unlink()
    assert "has lost all entries of its log" in refused(path)
    with pytest.raises(wl.CatalogDamaged):
        Catalog(path, create=False)


def test_several_deleted_entries(path: Path) -> None:
    for entry in entries(path)[-2:]:
        entry.unlink()
    assert "is missing" in refused(path)


def test_an_entry_in_the_middle(path: Path) -> None:
    middle = entries(path)[2]
    whole = middle.read_bytes()
    middle.write_bytes(b"")
    assert "version 2 has lost its commands" in refused(path)
    middle.unlink()
    assert "entry 2 of its log" in refused(path)
    middle.write_bytes(whole)
    assert Catalog(path).version == VERSION


def test_a_damaged_checkpoint(path: Path) -> None:
    catalog = Catalog(path)
    for i in range(QUERIES, MERGE_FILES):
        catalog.execute(CREATE.format(f"q{i}"))
    [checkpoint] = (path / "_delta_log").glob("*.checkpoint.parquet")
    os.truncate(checkpoint, 100)
    with pytest.raises(wl.CatalogError, match="cannot be opened or read"):
        Catalog(path)
    health = check(str(path))
    assert not health.is_sound
    assert health.restorable is None


def test_an_emptied_merge_of_files(path: Path) -> None:
    catalog = Catalog(path)
    for i in range(QUERIES, MERGE_FILES - 1):
        catalog.execute(CREATE.format(f"q{i}"))
    assert catalog.version == MERGE_FILES
    cut(path, 0)
    assert "is empty" in refused(path)
    assert repair(str(path)) == MERGE_FILES
    assert len(Catalog(path).queries()) == MERGE_FILES - 1


def test_a_catalog_that_is_open_notices_before_it_commits(path: Path) -> None:
    writer, reader = Catalog(path), Catalog(path)
    writer.execute(CREATE.format("mine"))  # alone: the next commit would not look
    whole = newest(path).read_bytes()
    cut(path, 0)
    with pytest.raises(wl.CatalogDamaged):
        writer.execute(CREATE.format("next"))
    with pytest.raises(wl.CatalogDamaged):
        _ = reader.version
    assert len(entries(path)) == VERSION + 2
    newest(path).write_bytes(whole)
    assert writer.execute(CREATE.format("next")) == reader.version == VERSION + 2


def test_a_worker_of_a_running_job_says_the_same(path: Path) -> None:
    task = MatchTask(CatalogRef.of(Catalog(path)), "ticks", ("price",), VERSION)
    cut(path, 0)
    with pytest.raises(wl.CatalogDamaged, match="catalog repair"):
        list(task(iter([pa.record_batch({"price": [1.0]})])))
    repair(str(path))
    _begun, out, _counters = task(iter([pa.record_batch({"price": [1.0]})]))
    assert out.num_rows == QUERIES


def test_rows_that_come_twice(path: Path) -> None:
    """As where an entry that merges files has lost what it removes."""
    opened = DeltaLog(str(path), create=False)
    rows = opened.read(1, 2)
    opened._write(rows, "append", {"watchline": VERSION})
    with pytest.raises(wl.CatalogDamaged, match="version 2 has commands twice"):
        Catalog(path)


def test_an_object_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no local files to look at: Delta's history and the rows themselves tell."""
    monkeypatch.setattr(log, "local_folder", lambda uri: None)
    url = f"file://{path}"
    catalog = Catalog(url)
    assert catalog.execute(CREATE.format("new")) == VERSION + 1
    assert Catalog(url).version == VERSION + 1
    middle = entries(path)[3]
    whole = middle.read_bytes()
    middle.write_bytes(b"")
    with pytest.raises(wl.CatalogDamaged, match="version 3 has lost its commands"):
        Catalog(url)
    middle.write_bytes(whole)
    cut(path, 0)
    with pytest.raises(wl.CatalogDamaged, match="is empty"):
        Catalog(url)


# --- what is no damage


def test_a_record_that_lags_or_is_lost_is_no_damage(path: Path) -> None:
    record = (path / RECORD).read_bytes()
    catalog = Catalog(path)
    catalog.execute(CREATE.format("next"))
    torn = (path / RECORD).read_bytes()[:40] + record[40:]
    for text in (record, torn, b"", b"[]", b"{"):
        (path / RECORD).write_bytes(text)
        assert Catalog(path).version == VERSION + 1
    (path / RECORD).unlink()
    assert Catalog(path).execute(CREATE.format("last")) == VERSION + 2
    assert (path / RECORD).exists()


def test_the_record_of_another_catalog_is_no_damage(path: Path, tmp_path: Path) -> None:
    other = Catalog(tmp_path / "other")
    other.execute(TICKS)
    shutil.copy(path / RECORD, tmp_path / "other" / RECORD)
    assert Catalog(tmp_path / "other").version == 1
    assert check(str(tmp_path / "other")).is_sound


@pytest.mark.slow
def test_compaction_and_cleaning_are_no_damage(path: Path) -> None:
    other = Catalog(path)
    for oldest in (None, 3, None):
        Catalog(path).compact(oldest)
        for file in (path / "_delta_log").iterdir():
            os.utime(file, (time.time() - 7200, time.time() - 7200))
        assert Catalog(path).version == other.version == VERSION
    for i in range(2 * MERGE_FILES):
        Catalog(path).execute(CREATE.format(f"more{i}"))
        for file in (path / "_delta_log").iterdir():
            os.utime(file, (time.time() - 7200, time.time() - 7200))
    assert other.version == VERSION + 2 * MERGE_FILES
    assert check(str(path)).is_sound


def test_a_clean_up_during_a_look_for_damage_is_no_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read fails, and while its cause is looked for, others delete old entries."""
    opened, look = DeltaLog(str(path), create=False), guard.fault_of

    def cleaned(folder: str, entry: int, record: Any = None) -> Any:
        if not list((path / "_delta_log").glob("*.checkpoint*")):
            DeltaTable(folder).create_checkpoint()
            for file in entries(path)[:-1]:
                file.unlink()
        return look(folder, entry, record)

    monkeypatch.setattr(guard, "fault_of", cleaned)
    with pytest.raises(wl.CatalogError, match="opened or read: busy") as caught, opened._readable():
        raise OSError("busy")
    assert not isinstance(caught.value, wl.CatalogDamaged)
    assert len(entries(path)) == 1
    assert check(str(path)).is_sound


@pytest.mark.slow
def test_readers_see_no_damage_while_others_write(path: Path) -> None:
    """A writer may be between its commit and its record, or merging and cleaning files."""
    count = 2 * MERGE_FILES
    with ThreadPoolExecutor(1) as pool:
        writers = pool.submit(race, path, ["a", "b"], count)
        open_all_along = Catalog(path)
        last = VERSION
        while not writers.done():
            now = Catalog(path).version
            assert last <= now <= open_all_along.version
            last = now
        assert writers.result() == [list(range(count))] * 2
    assert open_all_along.version == VERSION + 2 * count
    assert check(str(path)).is_sound


# --- repair


@pytest.mark.parametrize("size", [0, 300, None])
def test_repair_puts_the_newest_entry_back(path: Path, size: int | None) -> None:
    whole = newest(path)
    before = whole.read_bytes()
    cut(path, size) if size is not None else whole.unlink()
    health = check(str(path))
    assert (health.newest, health.restorable) == (VERSION - 1, VERSION)
    assert repair(str(path)) == VERSION
    assert whole.read_bytes() == before
    catalog = Catalog(path)
    assert sorted(catalog.queries().ids()) == [f"q{i}" for i in range(QUERIES)]
    assert catalog.execute(CREATE.format("new")) == VERSION + 1
    assert check(str(path)).is_sound


@pytest.mark.parametrize("size", [0, 300, None])
def test_going_back_never_uses_a_number_again(path: Path, size: int | None) -> None:
    """The open reader has seen what was lost; a job's checkpoint may name its version."""
    reader = Catalog(path)
    cut(path, size) if size is not None else newest(path).unlink()
    if size is not None:
        (path / RECORD).unlink()
        with pytest.raises(wl.CatalogDamaged, match="no copy is left"):
            repair(str(path))
    with pytest.raises(wl.UnknownVersion, match=f"versions 0 to {VERSION - 1} can"):
        repair(str(path), VERSION)
    new = repair(str(path), VERSION - 2)
    assert new == VERSION + 2
    for catalog in (Catalog(path), reader):
        assert sorted(catalog.queries().ids()) == [f"q{i}" for i in range(QUERIES - 2)]
        assert catalog.version == new
        with pytest.raises(wl.UnknownVersion, match="was forgotten"):
            catalog.queries(VERSION - 1)
    assert Catalog(path).execute(CREATE.format("new")) == new + 1 == reader.version
    assert check(str(path)).is_sound


def test_going_back_by_as_little_as_possible(path: Path) -> None:
    newest(path).unlink()
    assert repair(str(path), VERSION - 1) == VERSION + 1
    catalog = Catalog(path)
    assert (catalog.version, len(catalog.queries())) == (VERSION + 1, QUERIES - 1)
    assert catalog.execute(CREATE.format("new")) == VERSION + 2
    assert check(str(path)).is_sound


def test_going_back_from_damage_in_the_middle(path: Path) -> None:
    entries(path)[3].write_bytes(b"")
    with pytest.raises(wl.CatalogDamaged, match=r"repair --to 2"):
        repair(str(path))
    assert repair(str(path), 2) == VERSION + 1
    catalog = Catalog(path)
    assert list(catalog.queries().ids()) == ["q0"]
    assert catalog.execute(CREATE.format("q1")) == VERSION + 2
    assert len(list((path / "_damaged").iterdir())) == 3


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_repair_that_was_killed_is_completed(
    path: Path, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each of its steps the catalog is still refused, or repaired."""
    entries(path)[-2].write_bytes(b"")
    done = 0

    def replaced(path: str, content: bytes) -> None:
        nonlocal done
        if done == steps:
            raise KeyboardInterrupt
        done += 1
        replace_file(path, content)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(mending, "replace_file", replaced)
        repair(str(path), VERSION - 2)
    assert done == steps
    if steps < 3:
        with pytest.raises(wl.CatalogDamaged):
            Catalog(path)
        repair(str(path), VERSION - 2)
    catalog = Catalog(path)
    assert catalog.version > VERSION
    assert len(catalog.queries()) == QUERIES - 2
    assert check(str(path)).is_sound


def test_an_entry_is_not_put_back_without_its_data(path: Path) -> None:
    """As in a copy that was made while somebody wrote: the record is newer than the rest."""
    added = json.loads(newest(path).read_text().split("\n")[1])["add"]["path"]
    newest(path).unlink()
    (path / added).unlink()
    assert check(str(path)).restorable is None
    with pytest.raises(wl.CatalogDamaged, match=f"go back to version {VERSION - 1} for good"):
        repair(str(path))
    assert repair(str(path), VERSION - 1) == VERSION + 1


def test_a_sound_catalog_is_left_alone(path: Path) -> None:
    before = files(path)
    assert repair(str(path)) == VERSION
    with pytest.raises(wl.InvalidQuery, match=f"is sound .version {VERSION}."):
        repair(str(path), 2)
    assert files(path) == before


# --- the command


def run(path: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["--catalog", str(path), "catalog", *words])
    return done.exit_code, done.output


def test_check_and_repair_as_commands(path: Path) -> None:
    assert run(path, "check") == (0, f"the catalog at {path} is sound (version {VERSION})\n")
    cut(path, 0)
    code, text = run(path, "check")
    assert code == 1
    assert text.splitlines()[1].endswith("is empty")
    assert f"catalog repair` puts back what was lost (version {VERSION})" in text
    code, text = run(path, "check", "--json")
    found = json.loads(text)
    assert (code, found["sound"], found["restorable_version"]) == (1, False, VERSION)
    assert run(path, "repair") == (0, f"the catalog at {path} is sound (version {VERSION})\n")
    assert run(path, "repair", "--to", "3")[0] == 2


def test_a_check_of_no_catalog_is_a_mistake(tmp_path: Path) -> None:
    code, text = run(tmp_path / "none", "check")
    assert code == 2
    assert "there is no catalog at" in text

"""The catalog's storage: bad paths, several processes, kills, and what a crash leaves behind."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import watchline as wl
from tests.conftest import TICKS
from watchline.catalog import Catalog
from watchline.catalog.log import MERGE_FILES

CREATE = "CREATE QUERY {} AS SELECT * FROM ticks WHERE price < 3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    Catalog(folder).execute(TICKS)
    return folder


# --- paths


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(wl.CatalogError, match="file is a file: a catalog is a folder"):
        Catalog(tmp_path / "file")
    with pytest.raises(wl.CatalogError, match="cannot be opened or read"):
        Catalog(tmp_path / "file" / "below")


def test_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(wl.CatalogError, match="holds other files and no catalog"):
        Catalog(tmp_path)
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_nothing_there_and_not_to_be_created(tmp_path: Path) -> None:
    with pytest.raises(wl.CatalogError, match="there is no catalog at"):
        Catalog(tmp_path / "none", create=False)
    assert os.listdir(tmp_path) == []


def test_another_delta_table(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"a": [1]}))
    with pytest.raises(wl.CatalogError, match="not a Watchline catalog"):
        Catalog(tmp_path / "t")


def test_a_newer_format(path: Path) -> None:
    DeltaTable(path).alter.set_table_description("format 2")
    with pytest.raises(wl.CatalogError, match=r"has format 2; .* upgrade Watchline"):
        Catalog(path)


def test_a_damaged_log(path: Path) -> None:
    (path / "_delta_log" / f"{0:020}.json").write_text("not json")
    with pytest.raises(wl.CatalogDamaged, match=r"entry 0 of its log .* is cut off or overwritten"):
        Catalog(path)


@pytest.mark.parametrize("left", [None, b"junk"])
def test_a_lost_or_damaged_data_file(path: Path, left: bytes | None) -> None:
    for file in path.glob("*.parquet"):
        file.unlink()
        if left:
            file.write_bytes(left)
    with pytest.raises(wl.CatalogError, match="cannot be opened or read"):
        Catalog(path)


def test_url_and_odd_names(tmp_path: Path) -> None:
    with pytest.raises(wl.CatalogError, match="has a '%', which Delta cannot keep"):
        Catalog(tmp_path / "100%20")
    with pytest.raises(wl.CatalogError, match="not valid Unicode"):
        Catalog(str(tmp_path / "new\udcff"))
    assert os.listdir(tmp_path) == []
    folder = tmp_path / "mit Leerzeichen & Umläuten #1"
    Catalog(folder).execute(TICKS)
    assert Catalog(str(folder), create=False).version == 1
    plain = tmp_path / "plain"
    Catalog(f"file://{plain}").execute(TICKS)
    assert Catalog(plain, create=False).version == 1


def without_root_powers() -> None:
    """Root ignores file modes: drop the capabilities (CAP_DAC_…) that let it."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)


def run(code: str, *args: object, before: Callable[[], None] | None = None) -> str:
    command = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, preexec_fn=before, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TRY = """
import sys, watchline as wl
try:
    catalog = wl.Catalog(sys.argv[1])
    print("opened", len(catalog.queries()))
    catalog.execute(sys.argv[2])
except wl.CatalogError as error:
    print(type(error).__name__, error)
"""


def test_a_read_only_catalog_can_be_read(path: Path) -> None:
    folders = [path, path / "_delta_log"]
    for folder in folders:
        folder.chmod(0o555)
    out = run(TRY, path, CREATE.format("a"), before=without_root_powers)
    for folder in folders:
        folder.chmod(0o755)
    assert out.startswith("opened 0\nCatalogError the catalog at")
    assert "cannot be written" in out
    assert Catalog(path).version == 1


def test_an_unreadable_catalog(path: Path) -> None:
    path.chmod(0o000)
    out = run(TRY, path, CREATE.format("a"), before=without_root_powers)
    path.chmod(0o755)
    assert out.startswith("CatalogError")
    assert "cannot be opened or read" in out


def test_a_parent_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    out = run(TRY, tmp_path / "new", TICKS, before=without_root_powers)
    tmp_path.chmod(0o755)
    assert out.startswith("CatalogError")


# --- interrupted commits


def test_what_a_crash_leaves_is_invisible(path: Path) -> None:
    catalog = Catalog(path)
    catalog.execute(CREATE.format("a"))
    # A data file without an entry in the log, and an entry that was never moved into place.
    data = next(path.glob("*.parquet"))
    (path / "part-00000-orphan.parquet").write_bytes(data.read_bytes())
    (path / "part-00001-torn.parquet").write_bytes(data.read_bytes()[:100])
    entry = (path / "_delta_log" / f"{2:020}.json").read_text()
    (path / "_delta_log" / "_commit_0badc0de.json.tmp").write_text(entry[:50])
    again = Catalog(path)
    assert (again.version, len(again.queries())) == (2, 1)
    assert again.execute(CREATE.format("b")) == 3
    assert catalog.version == 3


WRITER = """
import sys, watchline as wl
catalog = wl.Catalog(sys.argv[1])
i = int(sys.argv[2])
while True:
    catalog.execute(f"CREATE QUERY q{i} AS SELECT * FROM ticks WHERE price < {i}")
    print(i, flush=True)
    i += 1
"""


@pytest.mark.slow
def test_killed_writers_lose_nothing_they_confirmed(path: Path) -> None:
    """SIGKILL at random moments: every confirmed query is there, and at most one more."""
    draw = random.Random(17)
    start = 0
    for _ in range(4):
        command = [sys.executable, "-c", WRITER, str(path), str(start)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        confirmed = [int(writer.stdout.readline())]
        time.sleep(draw.uniform(0, 0.4))
        writer.send_signal(signal.SIGKILL)
        confirmed += [int(line) for line in writer.stdout.read().split()]
        writer.wait()
        catalog = Catalog(path)
        found = sorted(int(q.id[1:]) for q in catalog.queries())
        start = len(found)
        assert found == list(range(start))
        assert confirmed[-1] + 1 <= start <= confirmed[-1] + 2
        assert catalog.version == start + 1


@pytest.mark.slow
def test_a_writer_that_slept_does_not_write_into_the_past(path: Path) -> None:
    """Its next place in Delta's log is free again, because the log was cleaned; others went on."""
    sleeper, busy = Catalog(path), Catalog(path)
    for i in range(2 * MERGE_FILES):
        busy.execute(CREATE.format(f"q{i}"))
    log = path / "_delta_log"
    newest = max(int(file.name[:20]) for file in log.glob("*.checkpoint.parquet"))
    for file in log.glob("*.json"):
        if int(file.name[:20]) < newest:
            file.unlink()
    entries = set(log.iterdir())
    sleeper._alone, sleeper._seen = True, time.monotonic()
    assert sleeper.execute(CREATE.format("late")) == 2 * MERGE_FILES + 2
    written = [int(file.name[:20]) for file in set(log.glob("*.json")) - entries]
    assert min(written) > newest
    assert "late" in busy.queries()
    assert len(Catalog(path).queries()) == 2 * MERGE_FILES + 1


def test_a_snapshot_that_moved_unseen_is_no_licence(path: Path) -> None:
    """Merging files can carry a writer's Delta snapshot past commits that its state lacks."""
    one, two = Catalog(path), Catalog(path)
    two.execute(CREATE.format("a"))
    one._log._refresh()  # type: ignore[attr-defined]
    one._alone, one._seen = True, time.monotonic()
    assert one.execute(CREATE.format("b")) == 3
    assert sorted(two.queries().ids()) == ["a", "b"]
    one._log._refresh()  # type: ignore[attr-defined]
    two._alone, two._seen = True, time.monotonic()
    with pytest.raises(wl.DuplicateQuery):
        two.execute(CREATE.format("b"))


def test_compaction_deletes_orphans_and_keeps_what_streams_wrote_down(path: Path) -> None:
    (path / "_runs" / "query").mkdir(parents=True)
    for name in ("_runs/query/0", "part-00000-orphan.parquet"):
        (path / name).write_text("1")
        os.utime(path / name, (time.time() - 7200, time.time() - 7200))
    Catalog(path).compact()
    assert (path / "_runs" / "query" / "0").exists()
    assert not (path / "part-00000-orphan.parquet").exists()


def test_nothing_to_do_is_said_of_the_newest_state(path: Path) -> None:
    one, two = Catalog(path), Catalog(path)
    two.execute(CREATE.format("a"))
    one._alone, one._seen = True, time.monotonic()
    assert [q.id for q in one.execute("SHOW QUERIES")] == ["a"]
    two.execute(CREATE.format("b"))
    one._alone, one._seen = True, time.monotonic()
    assert one.execute("DROP QUERY IF EXISTS b") == 4


# --- several processes

ADD = """
import sys, watchline as wl
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
catalog = wl.Catalog(path)
won = []
for i in range(count):
    try:
        catalog.execute(f"CREATE QUERY {name}{i} AS SELECT * FROM ticks WHERE price < {i}")
        won.append(i)
    except wl.DuplicateQuery:
        pass
print(*won)
"""


def race(path: Path, names: list[str], count: int) -> list[list[int]]:
    commands = [[sys.executable, "-c", ADD, str(path), name, str(count)] for name in names]
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, text=True) for c in commands]
    outputs = [process.communicate(timeout=300)[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    return [[int(word) for word in output.split()] for output in outputs]


@pytest.mark.slow
def test_two_processes_lose_nothing(path: Path) -> None:
    count = 120
    assert race(path, ["a", "b"], count) == [list(range(count))] * 2
    catalog = Catalog(path)
    assert catalog.version == 1 + 2 * count
    assert len(catalog.queries()) == 2 * count
    sizes = [len(c.added) for c in catalog.changes(1)]
    assert sizes == [1] * (2 * count)


@pytest.mark.slow
def test_an_id_is_never_registered_twice(path: Path) -> None:
    count = 40
    won = race(path, ["same"] * 3, count)
    assert sorted(i for each in won for i in each) == list(range(count))
    catalog = Catalog(path)
    assert catalog.version == 1 + count
    assert len(catalog.queries()) == count


@pytest.mark.slow
def test_processes_create_one_catalog_together(tmp_path: Path) -> None:
    code = "import sys, watchline as wl; print(wl.Catalog(sys.argv[1]).version)"
    command = [sys.executable, "-c", code, str(tmp_path / "new")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [p.communicate(timeout=60)[0].strip() for p in running] == ["0"] * 4


def test_the_table_is_open_to_other_delta_readers(path: Path) -> None:
    Catalog(path).execute(CREATE.format("a"))
    rows = pa.table(DeltaTable(path).to_pyarrow_dataset().to_table()).sort_by("version").to_pylist()
    assert [(r["version"], r["op"], r["id"]) for r in rows] == [
        (1, "stream", "ticks"),
        (2, "query", "a"),
    ]
    assert rows[1]["text"] == CREATE.format("a")
    assert json.loads(rows[1]["definition"])["$"] == "Query"


def test_a_relative_path_outlives_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = Catalog("mine")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    catalog.execute(TICKS)
    assert (catalog.version, Catalog(tmp_path / "mine").version) == (1, 1)

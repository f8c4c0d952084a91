"""A tracker goes on from the states that older commits wrote, as those went on themselves."""

from __future__ import annotations

import base64
import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import watchline as wl
from tests import reference
from tests.support.old_files import (
    BOUND,
    FOLDER,
    Row,
    continued,
    execute_later,
    in_order,
    later_tables,
    plain,
    unpack,
)
from watchline.tracking import ChangeQueries, Saved

CHAIN_SCHEMA = pa.schema(
    [("id", pa.string()), ("x", pa.float64()), ("y", pa.float64()), ("kind", pa.string()),
     ("ts", pa.timestamp("us", "UTC"))]
)  # fmt: skip

# One query of the catalog emits matches.
pytestmark = pytest.mark.filterwarnings("ignore::watchline.errors.UnansweredWarning")


def test_a_tracker_goes_on(tmp_path: Path) -> None:
    unpack(tmp_path)
    blob = (tmp_path / "tracker.state").read_bytes()
    catalog = execute_later(tmp_path)
    tracker = wl.Tracker.restore(catalog, "cars", blob)
    changes = [tracker.advance_to(catalog.version)]
    changes += [tracker.process(rows) for rows in later_tables(tmp_path, "cars")]
    for found, wanted in zip(changes, continued()["tracker"], strict=True):
        assert in_order(without_distances(found)) == in_order(wanted)
    stats, before = tracker.stats(), continued()["stats"]
    same = ("version", "newest", "objects", "answers", "rows", "changes", "late", "rejected")
    assert {name: stats[name] for name in same} == {name: before[name] for name in same}


def without_distances(changes: pa.Table) -> list[Row]:
    """Those commits knew none."""
    assert changes["distance"].null_count < max(len(changes), 1)
    return plain(changes.drop_columns(["distance"]))


def test_the_state_is_the_same_when_nothing_came(tmp_path: Path) -> None:
    """Restored and saved, the state has the newest format and gives the same continuation."""
    unpack(tmp_path)
    catalog = wl.Catalog(tmp_path / "catalog", create=False)
    blob = (tmp_path / "tracker.state").read_bytes()
    again = wl.Tracker.restore(catalog, "cars", blob).snapshot()
    tracker = wl.Tracker.restore(catalog, "cars", again)
    assert tracker.snapshot() == again
    execute_later(tmp_path)
    opened = tracker.advance_to(catalog.version)
    assert in_order(without_distances(opened)) == in_order(continued()["tracker"][0])


def test_a_tracker_that_sheds_goes_on(tmp_path: Path) -> None:
    """What was shed before is not counted; answers go on from what they were, and are parts of the
    true ones."""
    unpack(tmp_path)
    blob = (tmp_path / "bounded.state").read_bytes()
    catalog = execute_later(tmp_path)
    tracker = wl.Tracker.restore(catalog, "cars", blob, **BOUND)
    changes = list(continued()["bounded"])
    changes += plain(tracker.advance_to(catalog.version))
    for rows in later_tables(tmp_path, "cars"):
        changes += plain(tracker.process(rows))
        assert tracker.stats()["objects"] <= 6
    answers, exact = members(changes), exact_members()
    ranges = exact.keys() - {"centre", "near", "inmost", "escort", "depot"}
    assert any(answers.get(name) for name in ranges)
    for name in ranges:
        assert answers.get(name, set()) <= exact[name], name


def chain() -> dict[str, Any]:
    """The states of commit 2eb3528, and how it went on (`tests/data/2eb3528/make.py`)."""
    with lzma.open(FOLDER.parent / "2eb3528" / "chain.json.xz", "rt") as file:
        found: dict[str, Any] = json.load(file)
    return found


def resumed(catalog: wl.Catalog, blobs: list[bytes]) -> wl.Tracker:
    state = Saved.of(blobs[0], catalog.identity, "cars", blobs[1:])
    return wl.Tracker.resume(ChangeQueries(catalog, "cars", state.head["version"]), state)


@pytest.mark.parametrize("first", [0, 5, 11])
@pytest.mark.parametrize("is_merged", [False, True])
def test_a_chain_with_all_lives_in_each_delta_goes_on(first: int, is_merged: bool) -> None:
    """Deltas of format 4 are read; those of today follow them, also in the place of some."""
    found = chain()
    catalog = wl.Catalog.of(found["statements"])
    old = [base64.b64decode(text) for text in found["chain"]]
    tracker = resumed(catalog, old)
    tracker.touched()
    notes = tracker.replayed[first:] if is_merged else []
    blobs = old[: first + 1] if is_merged else list(old)
    for rows, wanted in zip(found["later"], found["changes"], strict=True):
        changes = tracker.process(pa.Table.from_pylist(rows, CHAIN_SCHEMA))
        assert told(changes) == wanted
        touched = tracker.touched()
        assert touched is not None
        notes.append(touched)
        if not is_merged:
            blobs.append(tracker.delta([touched]))
        else:
            blobs[first + 1 :] = [tracker.delta(notes)]
        again = resumed(catalog, blobs)
        for name in ("births", "waiting"):
            assert getattr(again._queries.lives, name) == getattr(tracker._queries.lives, name)
        assert again.stats() == {**tracker.stats(), "query_bytes": again.stats()["query_bytes"]}


def told(changes: pa.Table) -> list[list[Any]]:
    names = ["query_id", "sign", "object_id", "time", "reason", "x"]
    columns = [changes[name] for name in names]
    columns[3] = columns[3].cast(pa.int64())
    return sorted(map(list, zip(*(column.to_pylist() for column in columns), strict=True)), key=str)


def members(changes: list[Row]) -> dict[str, set[Any]]:
    """The answers that the changes lead to; each must be a true change."""
    names = ("query_id", "sign", "object_id", "time", "reason")
    return reference.replay(reference.Change(*(row[n] for n in names), row) for row in changes)


def exact_members() -> dict[str, set[Any]]:
    """The true answers in the end, from the sink of the job, which has its changes in any order."""
    signs: Counter[tuple[str, Any]] = Counter()
    for row in continued()["ended"]["cars"]:
        signs[row["query_id"], row["object_id"]] += row["sign"]
    answers: dict[str, set[Any]] = {name: set() for name, _ in signs}
    for (name, who), count in signs.items():
        assert count in (0, 1)
        answers[name] |= {who} if count else set()
    return answers

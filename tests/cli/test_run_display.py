"""What `watchline run` and `watchline replay` show of counters, without Spark."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from watchline.cli.run import _Display, _dropped
from watchline.cli.shared import plain_warnings
from watchline.errors import UnansweredWarning


class Batch:
    """What a batch did, as `spark.job.BatchProgress` has it."""

    def __init__(self, number: int, **metrics: Any):
        self.batch, self.rows, self.results, self.seconds, self.rate = number, 10, 3, 0.5, 20.0
        self.metrics = {"rows": 10, "changes": 3, **metrics}


BATCHES = [
    Batch(0, rejected=3, rejected_by={"no time": 1, "no finite lon": 2}, late=0, unanswered=2),
    Batch(1, rejected=5, rejected_by={"no time": 4, "future": 1}, late=7, unanswered=1),
    Batch(2, rejected=0, rejected_by={}, late=0, unanswered=1),
]


def test_lines_and_the_sum(capsys: pytest.CaptureFixture[str]) -> None:
    show = _Display(False, "changes")
    assert show.batches(BATCHES, -1) == 2
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.endswith("rows/s  3 rejected (2 no finite lon, 1 no time)  2 unanswered")
    assert second.endswith("  5 rejected (4 no time, 1 future)  7 late  1 unanswered")
    assert third.endswith("rows/s  1 unanswered")
    told = "8 rejected (5 no time, 2 no finite lon, 1 future), 7 late, 1 unanswered"
    assert show.summary().startswith("30 rows, 9 changes, 3 batches in ")
    assert show.summary().endswith(f" s, {told}")


def test_json_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    _Display(True, "changes").batches(BATCHES, -1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["rejected_by"] for line in lines] == [b.metrics["rejected_by"] for b in BATCHES]
    assert [line["unanswered"] for line in lines] == [2, 1, 1]


def test_the_live_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    show = _Display(False, "changes")
    monkeypatch.setattr(show, "_live", True)
    show.batches(BATCHES[:1], -1)
    assert "3 rejected (2 no finite lon, 1 no time)" in capsys.readouterr().out


def test_nothing_to_tell() -> None:
    assert _dropped({"rejected": 0, "rejected_by": {}, "late": None}, ", ") == ""


def test_our_warnings_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with plain_warnings():
        for _ in range(2):
            warnings.warn("1 query is not answered", UnansweredWarning, stacklevel=1)
    with pytest.warns(UnansweredWarning):
        warnings.warn("as before", UnansweredWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: 1 query is not answered\n" * 2

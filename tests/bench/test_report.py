"""The runner of the benchmarks: what it prints when, what it survives, and what it returns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.common import report
from bench.common.report import agreed, attempt, failure_row, once_a_run, plain, publish, run, table


def text(words: str) -> report.Part:
    return plain(lambda quick: iter([f"{words}, quick {quick}"]))


def exit_code(parts: dict[str, report.Part], *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        run("bench.test", parts, arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_table_is_printed_before_the_next_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def part(quick: bool) -> Iterator[str]:
        yield "first table"
        seen.append(capsys.readouterr().out)
        yield "second table"

    run("bench.test", {"part": plain(part)}, ["--quick"])
    assert "first table" in seen[0]
    assert "second table" in capsys.readouterr().out


def test_a_part_that_throws_is_told_and_the_next_one_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(quick: bool) -> Iterator[str]:
        yield "a table that is ready"
        raise ValueError("no such index\nand more")

    code = exit_code({"broken": plain(broken), "whole": text("the next part")}, "--quick")
    out, err = capsys.readouterr()
    assert code == 1
    assert "a table that is ready" in out
    assert "the next part, quick True" in out
    assert "| part broken | ValueError: no such index |" in out
    assert "FAILED: part broken: ValueError: no such index" in err


def test_rivals_that_fail_are_rows(capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> int:
        import no_such_library  # type: ignore[import-not-found]

        return int(no_such_library.answer())

    def part(quick: bool) -> Iterator[str]:
        answers = {"ours": 3, "rival": attempt("rival", missing), "other": 4, "third": 3}
        right = agreed(answers, 3)
        rows = [[who, "3"] if who in right else failure_row(who, 2) for who in answers]
        yield table(["who", "found"], rows)

    assert exit_code({"part": plain(part)}, "--quick") == 1
    out, err = capsys.readouterr()
    assert "| ours | 3 |\n| rival | **not installed** |" in out
    assert "| other | **WRONG ANSWER: 4 instead of 3** |\n| third | 3 |" in out
    assert "FAILED: other: WRONG ANSWER: 4 instead of 3" in err


def test_ratios_are_ranges_over_runs(capsys: pytest.CaptureFixture[str]) -> None:
    measured = iter([2.0, 5.0, 3.0])
    plain_runs: list[bool] = []

    def ratio(quick: bool) -> Iterator[str]:
        yield f"{publish('rival / ours', next(measured)):.1f} in this run"

    def other(quick: bool) -> Iterator[str]:
        plain_runs.append(quick)
        yield "no ratio"

    run("bench.test", {"ratio": plain(ratio), "other": plain(other)}, ["--runs", "3"])
    out = capsys.readouterr().out
    assert "| rival / ours | 2.0 to 5.0× | 3 |" in out
    assert out.index("# Run 2 of 3") < out.index("5.0 in this run")
    assert plain_runs == [False], "a part without ratios runs once"


def test_ratios_of_contestants_that_failed_are_not_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def part(quick: bool) -> Iterator[str]:
        yield report.number(publish("lost / ours", float("nan")))

    run("bench.test", {"part": plain(part)}, ["--quick"])
    out = capsys.readouterr().out
    assert "\n–\n" in out
    assert "lost / ours" not in out


def test_what_parts_share_is_measured_once_in_each_run() -> None:
    calls: list[int] = []

    @once_a_run
    def shared(x: int) -> int:
        calls.append(x)
        return x

    def part(quick: bool) -> Iterator[str]:
        publish("shared", float(shared(7)))
        yield ""

    run("bench.test", {"one": plain(part), "two": plain(part)}, ["--runs", "2"])
    assert calls == [7, 7]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nothing"], "there is no part nothing; there is part"), (["--runs", "0"], "1 or more")],
)
def test_bad_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code({"part": text("")}, *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_rival_that_throws_in_the_race_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The peers of setting A: one throws while it races, one finds too little."""
    from bench.common.workloads import setting
    from bench.indexes import race
    from bench.indexes.peers import Contestant, own

    del tmp_path
    calls = iter(range(100))

    def tired() -> object:
        if next(calls) > 2:
            raise MemoryError("no more")
        return good.prepare(index, w.points)()

    w = setting("A", quick=True)
    good = own("cei")
    index = good.build(w)
    tired_one = Contestant(
        "tired", lambda w: None, lambda i, p: tired, lambda i, f: (f.rows(), f.ids)
    )
    wrong_one = Contestant(
        "wrong",
        lambda w: index,
        lambda i, p: lambda: i.stab(p[:-5_000]),
        lambda i, f: (f.rows(), f.ids),
    )
    done = race.raced(w, [good, tired_one, wrong_one, own("scan", "")])
    assert [entry.who.name for entry in done.entries] == [good.name, "`scan`"]
    assert done.lost == ["tired", "wrong"]
    assert all(entry.seconds for entry in done.entries)
    assert failure_row("tired", 2) == ["tired", "**MemoryError: no more**"]
    assert failure_row("wrong", 2)[1].startswith("**WRONG ANSWER: ")

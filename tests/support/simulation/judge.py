"""The verdict: the sink against the oracle's ledger of the batches and versions as they came.

I2 and I3: each batch has exactly the changes that an undisturbed run has, and so has each attempt
at it that reached the sink. I1: replayed in order they alternate, and lead to the true answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests import reference
from tests.support.ledgers import Row, attributes, expected, replayed, same, spec
from tests.support.simulation.history import History, drawn
from tests.support.simulation.job import Job


class Ledger(reference.Ledger):
    """The oracle, which remembers whether a query admits a row (that follows from the query, the
    row and the row of its focal object) and which attributes the queries of a version use."""

    def __init__(self, stream: reference.StreamSpec) -> None:
        super().__init__(stream)
        self._attributes: set[str] = set()
        self._known: dict[tuple[int, Any], tuple[reference.QuerySpec, Row, Row | None, bool]] = {}

    def _admits(self, query: reference.QuerySpec, object_id: Any) -> bool:
        row = self.latest[object_id]
        centre = None
        if query.region and query.region[0] in ("mbox", "mcircle"):
            centre = self.latest[query.region[1]]
        known = self._known.get((id(query), object_id))
        if known is not None and known[1] is row and known[2] is centre:
            return known[3]
        admits = super()._admits(query, object_id)
        self._known[id(query), object_id] = query, row, centre, admits
        return admits

    def version(
        self, drops: Iterable[str] = (), adds: Iterable[reference.QuerySpec] = ()
    ) -> list[reference.Change]:
        changes = super().version(drops, adds)
        self._attributes = super()._used()
        return changes

    def _used(self) -> set[str]:
        return self._attributes


class Wrong(AssertionError):
    """A history whose sink is wrong, with the way there."""

    def __init__(self, history: History, trace: list[str], problem: str):
        self.seed, self.trace, self.problem = history.seed, trace, problem
        super().__init__(
            "\n".join([*trace, f"WRONG: {problem}", f"replay: {COMMAND} --seed {history.seed}"])
        )


COMMAND = "python -m tests.support.simulation --trace"


def judged(seed: int) -> Job:
    """Run the history of a seed; `Wrong` if its sink is."""
    return judged_history(drawn(seed))


def judged_history(
    history: History, oracle: Callable[[reference.StreamSpec], reference.Ledger] = Ledger
) -> Job:
    """Run a history; `Wrong` if its sink is."""
    job = Job(history)
    try:
        job.run()
        compare(job, oracle(spec(history.kind, history.timeout)))
    except Exception as error:
        problem = str(error) if isinstance(error, AssertionError) else repr(error)
        raise Wrong(history, job.scheduler.trace, problem) from error
    return job


def problem_of(seed: int) -> str | None:
    """What is wrong with the history of a seed, if anything is."""
    try:
        judged(seed)
    except Wrong as wrong:
        return wrong.problem
    return None


def compare(job: Job, ledger: reference.Ledger) -> None:
    """Hold every write of the sink against the oracle."""
    history, names = job.history, [name for name, _ in attributes(job.history.kind)]
    at, found = 0, []
    for number, planned in enumerate(job.logs.offsets):
        pin = job.pin(number)
        before, changes = dict(ledger.counters), []
        assert pin.version >= at, f"batch {number} goes back to version {pin.version}"
        for version in history.versions[at : pin.version]:
            changes += ledger.version(version.drops, [question.spec for question in version.adds])
        at = pin.version
        rows = history.rows[planned.start : planned.end]
        near = [row for row in rows if not _is_future(row, pin.now, history.ahead)]
        changes += ledger.process(near)
        wanted = expected(changes, names)
        counts = {
            "rows": len(rows),
            "late": ledger.counters["late"] - before["late"],
            "rejected": ledger.counters["rejected"] - before["rejected"] + len(rows) - len(near),
            "changes": len(wanted),
            "objects": len(ledger.live),
            "answers": sum(map(len, ledger.answers.values())),
        }
        for written in (w for w in job.logs.writes if w.batch == number):
            try:
                same(written.changes, wanted)
            except AssertionError as error:
                raise AssertionError(f"batch {number}: {error}") from None
            mine = {name: written.counts[name] for name in counts}
            assert mine == counts, f"batch {number} counts {mine}, not {counts}"
        found += job.logs.sink[number].changes
    assert at == len(history.versions)
    answers = {name: who for name, who in ledger.answers.items() if who}
    assert replayed(found) == answers, "the changes lead to other answers"


def _is_future(row: Row, now: int | None, ahead: int | None) -> bool:
    if now is None or ahead is None or row["ts"] is None or row["id"] is None:
        return False
    return bool(row["ts"] > now + ahead)

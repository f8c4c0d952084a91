"""What is due at a moment: commits to the catalog, and faults. It also writes the trace."""

from __future__ import annotations

import random
from collections import Counter

from tests.support.simulation.catalog import SimulatedCatalog
from tests.support.simulation.faults import Aim, Effect, Fault, strike
from tests.support.simulation.history import History


class Scheduler:
    """One history's chance, pending faults and versions, and trace.

    All further draws (workers, orders, tears) come from `draw`, whose seed is the history's, in an
    order that nothing outside the simulation has a part in.
    """

    def __init__(self, history: History, catalog: SimulatedCatalog):
        self.draw = random.Random(f"schedule {history.seed}")
        self.trace: list[str] = [str(history)]
        self._catalog = catalog
        self._versions = list(history.versions)
        self._faults = list(history.faults)
        self._batch, self._turns = -1, Counter[str]()
        # Nothing is due while a task runs that is none of the batch's own.
        self.is_quiet = False
        self.deliver(Aim(-1, "plan", 0))

    def note(self, text: str) -> None:
        self.trace.append(text)

    def attempt(self, batch: int) -> None:
        """An attempt at this batch begins. Faults whose moment an earlier batch never came to
        strike in this one."""
        self._batch, self._turns = batch, Counter()
        self._faults = [
            fault if fault.at.batch >= batch else _postponed(fault, batch) for fault in self._faults
        ]

    def deliver(self, now: Aim) -> None:
        """Commit the versions whose moment has come, or was passed over."""
        while self._versions:
            at = self._versions[0].at
            if at.batch >= now.batch and at != now:
                return
            version = self._versions.pop(0)
            number = self._catalog.commit(version)
            self.note(f"  catalog version {number}: {version}")

    def due(self, moment: str) -> Effect | None:
        """Come to a moment; the effect of a fault that strikes there."""
        if self.is_quiet:
            return None
        now = Aim(self._batch, moment, self._turns[moment])
        self._turns[moment] += 1
        self.deliver(now)
        for fault in self._faults:
            if fault.at == now:
                self._faults.remove(fault)
                self.note(f"  FAULT at {moment} {now.turn}: {fault.effect.value}")
                return fault.effect
        return None

    def reach(self, moment: str) -> None:
        """Come to a moment; a fault that is due there strikes."""
        effect = self.due(moment)
        if effect is not None:
            strike(effect)


def _postponed(fault: Fault, batch: int) -> Fault:
    return fault._replace(at=Aim(batch, fault.at.moment, 0))

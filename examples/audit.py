"""Batch by batch: what Watchline says of its accuracy, beside brute force.

A batch is a tick. When it is done the ledger is followed up to its end, each query looks at each
vehicle that is there, and the answers that are told are compared with the true ones: none has a
vehicle that is not in the true one, the accuracy that Watchline states is the one that is counted,
and no query has less of its answer than it demands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from examples import standing, truth
from examples.standing import Ask
from examples.truth import Disagreement, Fleet
from watchline.kernels.arrays import Integers


class Moment(NamedTuple):
    """The end of a tick: what Watchline says, and what is counted."""

    tick: int
    vehicles: int
    # By Watchline: objects kept and given up, bytes, and the accuracy, of its worst shard.
    kept: int
    given_up: int
    bytes: int
    stated: float
    # By brute force: the same accuracy, if no other queries count in it; and of queries that demand
    # one, what they have. In the first ticks nothing.
    counted: float | None
    guarded: dict[str, float]


class Worst(NamedTuple):
    """The moment of the least accuracy: who is there, is told, and is missed."""

    stated: float
    tick: int
    fleet: Fleet
    told: set[int]
    missed: set[int]


class Audit:
    """Follows a stream of changes and compares it with brute force after each tick.

    `shards` gives the shard of each vehicle: where there are several, the accuracy of the worst is
    stated. In the first ticks, up to `settled`, vehicles are unknown that came before the query
    that moves to them began.
    """

    def __init__(
        self,
        asks: Iterable[Ask],
        ticks: list[pa.Table],
        shards: Callable[[Integers], Integers],
        settled: int,
    ):
        self._asks, self._ticks, self._shards = list(asks), ticks, shards
        self._settled = settled
        self._ours = pa.array([ask.id for ask in self._asks], pa.string())
        self._ledger, self._heard = truth.Ledger(), list[pa.Table]()
        self.moments: list[Moment] = []
        self.worst: Worst | None = None
        # How many ticks were compared: as long as no other queries count in what is stated.
        self.compared = self.followed = 0

    def hear(self, changes: pa.Table) -> None:
        """Changes, in their order; of queries that are not ours, nothing."""
        ours = changes.filter(pc.is_in(changes["query_id"], value_set=self._ours))
        self._heard.append(ours.select(["query_id", "object_id", "sign", "time", "reason"]))

    def step(self, metrics: Mapping[str, Any], alone: bool) -> Moment:
        """The next tick is done. `alone`: no queries but ours were there."""
        tick = len(self.moments)
        self._follow(pc.max(self._ticks[tick]["ts"].cast(pa.int64())).as_py())
        # Who was silent for longer than the last few ticks is gone.
        recent = self._ticks[max(0, tick - self._settled) : tick + 1]
        fleet = truth.last_positions(recent, standing.TIMEOUT)
        counted, guarded, told, missed = self._compare(fleet)
        stated = float(metrics["accuracy"])
        kept = (int(metrics[name]) for name in ("objects", "shadow", "bytes"))
        made = Moment(tick, len(fleet.ids), *kept, stated, None, {})
        if tick >= self._settled:
            made = made._replace(counted=counted if alone else None, guarded=guarded)
            self._check(made)
        if self.worst is None or stated < self.worst.stated:
            self.worst = Worst(stated, tick, fleet, told, missed)
        self.moments.append(made)
        return made

    def _follow(self, end: int) -> None:
        """All changes up to this time; an object is gone just after its time-out."""
        heard = pa.concat_tables(self._heard)
        times = heard["time"].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        gone = pc.equal(heard["reason"], "expired").to_numpy()
        now = times + gone <= end
        self._ledger.follow(heard.filter(pa.array(now)))
        self.followed += int(np.count_nonzero(now))
        self._heard = [heard.filter(pa.array(~now))]

    def _compare(self, fleet: Fleet) -> tuple[float, dict[str, float], set[int], set[int]]:
        """The accuracy of the worst shard, that of those who demand one, who is told and missed."""
        shard = dict(zip(fleet.ids.tolist(), self._shards(fleet.ids).tolist(), strict=True))
        have: Counter[int] = Counter()
        want: Counter[int] = Counter()
        guarded: dict[str, float] = {}
        all_told: set[int] = set()
        all_true: set[int] = set()
        for ask in self._asks:
            told, true = self._ledger.answers.get(ask.id, set()), truth.answer(ask, fleet)
            if not told <= true:
                raise Disagreement(f"{ask.statement}\n  not in it: {sorted(told - true)}")
            have.update(shard[vehicle] for vehicle in told)
            want.update(shard[vehicle] for vehicle in true)
            all_told |= told
            all_true |= true
            if ask.accuracy:
                guarded[ask.id] = len(told) / len(true) if true else 1.0
        counted = min((have[part] / want[part] for part in want), default=1.0)
        return counted, guarded, all_told, all_true - all_told

    def _check(self, made: Moment) -> None:
        if made.counted is not None:
            if made.stated != made.counted:
                raise Disagreement(
                    f"tick {made.tick}: the accuracy is said to be {made.stated}, but is"
                    f" {made.counted}"
                )
            self.compared += 1
        for ask in self._asks:
            if ask.accuracy and made.guarded[ask.id] < ask.accuracy:
                raise Disagreement(
                    f"tick {made.tick}: {ask.id} has {made.guarded[ask.id]} of its answer"
                )

    def finish(self) -> str:
        """In words, how it ends: when there is room for all, with the true answers."""
        if self.moments[-1].given_up:
            return f"{self.moments[-1].given_up:,} objects are still given up"
        fleet = truth.last_positions(self._ticks, standing.TIMEOUT)
        total = truth.check(self._asks, self._ledger.answers, fleet)
        return f"all {len(self._asks):,} answers are the true ones ({total:,} vehicles in them)"

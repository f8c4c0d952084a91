"""Drawing histories: a seed gives rows, their cuts into batches, versions and faults."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

from tests.support.ledgers import NOON, SECOND, Row, ids_of
from tests.support.simulation.faults import (
    BY_SHARD,
    IN_FILES,
    MERGED,
    MOMENTS,
    Aim,
    Effect,
    Fault,
)
from tests.support.simulation.queries import Question, focal_ids, pool

ROWS, VERSIONS, FAULTS = 200, 5, 3
STEPS = (0, 0, 0, 1, SECOND // 3, SECOND, 3 * SECOND)
KINDS = ("car", "truck", "bus", "🚕", "", None)
NAMES = ("a", "b", "c", "d", "e", "ü")
YES, NO = True, False
MEMORIES = [(YES,) * 4] * 4 + [(NO, YES, YES, YES), (YES, NO, YES, YES), (NO, NO, YES, NO)]


@dataclass(frozen=True)
class Version:
    """A commit to the catalog, and when it comes."""

    drops: tuple[str, ...]
    adds: tuple[Question, ...]
    at: Aim

    def __str__(self) -> str:
        adds = [f"{question.query.id}: {question.text}" for question in self.adds]
        return "; ".join([*(f"drop {name}" for name in self.drops), *adds])


@dataclass(frozen=True)
class History:
    """What happens to one streaming query, but for the order of its tasks."""

    seed: int
    kind: str
    timeout: int | None
    ahead: int | None
    shards: int
    rows: list[Row]
    # Row numbers at which batches end.
    cuts: list[int]
    versions: list[Version]
    faults: list[Fault]
    # States of more bytes are files; old files are looked for so often.
    inline: int
    tidy: int
    # Deltas of a state that become one.
    fan: int
    # Whether the sink keeps the first result of a batch or overwrites it.
    keeps_first: bool
    # Whether the merge has a place for its state, by batch: as where a job is started again with
    # one, or from the checkpoint of a release whose merge kept nothing.
    remembers: tuple[bool, ...]

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {len(self.rows)} rows, object ids {self.kind}, timeout"
            f" {self.timeout}, max ahead {self.ahead}, {self.shards} shards, batches end at"
            f" {self.cuts}, states inline up to {self.inline} bytes, tidied every {self.tidy},"
            f" {self.fan} deltas become one"
        )


def drawn(seed: int) -> History:
    """The history of a seed."""
    draw = random.Random(seed)
    kind = draw.choice(("BIGINT", "STRING"))
    shards = draw.choice((1, 1, 2, 2, 3))
    # Some batches have no rows: a version woke them.
    cuts = [*sorted(draw.choices(range(ROWS), k=draw.choice((2, 3)))), ROWS]
    inline = draw.choice((0, 0, 1 << 20))
    return History(
        seed=seed,
        kind=kind,
        timeout=draw.choice((None, 8 * SECOND, 25 * SECOND)),
        ahead=draw.choice((None, None, 5 * SECOND)),
        shards=shards,
        rows=_rows(draw, kind),
        cuts=cuts,
        versions=_versions(draw, kind, shards, len(cuts)),
        faults=_faults(draw, shards, len(cuts), inline),
        inline=inline,
        tidy=draw.choice((1, 2, 16)),
        fan=draw.choice((2, 2, 3, 16)),
        keeps_first=draw.random() < 0.5,
        remembers=tuple(draw.choice(MEMORIES)[: len(cuts)]),
    )


def _rows(draw: random.Random, kind: str) -> list[Row]:
    """Rows in the order of their arrival: some late, many of one moment, some unusable."""
    ids = [*focal_ids(kind)[:2], *ids_of(kind, 9)]
    ids = list(dict.fromkeys(ids))[: draw.choice((5, 8))]
    chance, now, made = draw.random, NOON, []
    for _ in range(ROWS):
        now += STEPS[int(chance() * len(STEPS))]
        row: Row = {
            "id": ids[int(chance() * len(ids))],
            "x": float(int(chance() * 21) * 5),
            "y": chance() * 100,
            "speed": float(int(chance() * 11) * 10),
            "n": 2**53 + int(chance() * 6) - 2,
            "kind": KINDS[int(chance() * len(KINDS))],
            "ts": now,
        }
        luck = chance()
        if luck < 0.15:
            _spoil(draw, row, luck)
        made.append(row)
    return made


def _spoil(draw: random.Random, row: Row, luck: float) -> None:
    """Make a row late, or early, or one that is rejected; or let it tie with others."""
    if luck < 0.05:
        row["ts"] -= draw.choice((1, SECOND, 6 * SECOND, 30 * SECOND))
    elif luck < 0.06:
        row["ts"] += draw.choice((2 * SECOND, 9 * SECOND, 15 * SECOND))
    elif luck < 0.10:
        row["x"] = row["y"] = 50.0
    else:
        name = draw.choice(("id", "x", "y", "speed", "n", "ts"))
        bad: tuple[Any, ...] = (None,)
        if name in ("x", "y", "speed"):
            bad = (None, math.nan, math.inf)
        row[name] = draw.choice(bad)


def _versions(draw: random.Random, kind: str, shards: int, batches: int) -> list[Version]:
    """The first version comes before the query starts, each other one at a drawn moment of any
    batch but the last, which answers them all."""
    groups = pool(kind)
    chosen = draw.sample(sorted(groups), draw.choice((1, 2, 2, 3)))
    questions = [question for name in chosen for question in groups[name]]
    aims = sorted(
        (_aim(draw, draw.choice(list(MOMENTS)), shards, batches - 1) for _ in range(VERSIONS - 1)),
        key=lambda aim: aim.batch,
    )
    living: set[str] = set()
    made = []
    for at in (Aim(-1, "plan", 0), *aims):
        drops, adds = [], {}
        for _ in range(3 if at.batch < 0 else draw.choice((1, 1, 2))):
            name = draw.choice(NAMES)
            if name in adds or name in drops:
                continue
            if name in living:
                drops.append(name)
            if name not in living or draw.random() < 0.6:
                adds[name] = draw.choice(questions).named(name)
        living = (living - {*drops}) | {*adds}
        made.append(Version(tuple(drops), tuple(adds.values()), at))
    return made


def _faults(draw: random.Random, shards: int, batches: int, inline: int) -> list[Fault]:
    moments = [
        name
        for name in MOMENTS
        if (inline == 0 or name not in IN_FILES) and (shards > 1 or name not in MERGED)
    ]
    made = []
    for _ in range(FAULTS):
        moment = draw.choice(moments)
        effect: Effect = draw.choice(MOMENTS[moment])
        made.append(Fault(_aim(draw, moment, shards, batches), effect))
    return sorted(made, key=lambda fault: fault.at.batch)


def _aim(draw: random.Random, moment: str, shards: int, batches: int) -> Aim:
    turn = draw.randrange(shards) if moment in BY_SHARD else 0
    return Aim(draw.randrange(batches), moment, turn)

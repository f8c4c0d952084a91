"""What tests of border monitoring share: the truth by brute force, and a ledger to replay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.support.indexes import Held, box, points_near

Pair = tuple[int, int]


class World:
    """Queries, streams and their values, and the pairs that crossings said are inside.

    `check` holds after every call: never a `+` for a member nor a `-` for another, and what is
    replayed is what comparing all gives.
    """

    def __init__(self, dims: int):
        self.dims = dims
        self.held: Held = {}
        self.values: dict[int, tuple[float, ...]] = {}
        self.inside: set[Pair] = set()

    def check(self, crossings: Any) -> None:
        self.replay(crossings)
        assert self.inside == self.truth()

    def replay(self, crossings: Any) -> None:
        columns = crossings.streams, crossings.ids, crossings.signs
        for stream, query, sign in zip(*(column.tolist() for column in columns), strict=True):
            assert sign in (1, -1)
            assert ((stream, query) in self.inside) == (sign < 0), (stream, query, sign)
            (self.inside.add if sign > 0 else self.inside.remove)((stream, query))

    def truth(self) -> set[Pair]:
        return {
            (stream, query)
            for stream, value in self.values.items()
            for query, (lo, hi) in self.held.items()
            if all(
                math.isfinite(x) and low <= x < high
                for low, x, high in zip(lo, value, hi, strict=True)
            )
        }

    def advance(self, border: Any, streams: Any, points: Any) -> None:
        """A batch, replayed row by row: each row's crossings lead to the truth after that row."""
        found = border.advance(streams, points[:, 0] if self.dims == 1 else points)
        assert (np.diff(found.rows) >= 0).all()
        assert (found.streams == np.asarray(streams)[found.rows]).all()
        for row, (stream, point) in enumerate(zip(streams, points, strict=True)):
            self.values[int(stream)] = tuple(float(x) for x in point)
            part = found.rows == row
            self.check(Part(found, part))

    def insert(self, border: Any, new: Held) -> None:
        ids = list(new)
        opened = border.insert(ids, *self.bounds(new))
        assert (opened.rows == -1).all()
        assert (opened.signs == 1).all()
        self.held |= new
        self.check(opened)

    def remove(self, border: Any, gone: Any) -> None:
        closed = border.remove(gone)
        assert (closed.rows == -1).all()
        assert (closed.signs == -1).all()
        for query in gone:
            del self.held[int(query)]
        self.check(closed)

    def forget(self, border: Any, gone: Any) -> None:
        closed = border.forget(gone)
        assert (closed.signs == -1).all()
        for stream in gone:
            del self.values[int(stream)]
        self.check(closed)

    def bounds(self, boxes: Held) -> tuple[Any, Any]:
        lo = np.array([lo for lo, _ in boxes.values()]).reshape(-1, self.dims)
        hi = np.array([hi for _, hi in boxes.values()]).reshape(-1, self.dims)
        return (lo[:, 0], hi[:, 0]) if self.dims == 1 else (lo, hi)


class Part:
    """Some of the crossings of a call."""

    def __init__(self, found: Any, chosen: Any):
        self.streams, self.ids = found.streams[chosen], found.ids[chosen]
        self.signs = found.signs[chosen]


def interleave(border: Any, dims: int, rng: np.random.Generator, steps: int, size: int) -> World:
    """Queries and streams come, go and move, and after every call all is compared."""
    world, number = World(dims), 0
    for _ in range(steps):
        action = rng.integers(0, 8)
        if action <= 1 or not world.held:
            count = 1 if action == 0 else int(rng.integers(1, size))
            new = [box(rng, dims) for _ in range(count)]
            if rng.random() < 0.2:
                new = [new[0]] * count
            world.insert(border, dict(enumerate(new, number)))
            number += count
        elif action <= 3:
            count = 1 if action == 2 else int(rng.integers(1, len(world.held) + 1))
            world.remove(border, rng.choice(sorted(world.held), count, replace=False))
        elif action == 4 and world.values:
            count = int(rng.integers(1, len(world.values) + 1))
            world.forget(border, rng.choice(sorted(world.values), count, replace=False))
        else:
            count = int(rng.integers(1, 24))
            points = points_near(world.held, dims, rng, count)
            world.advance(border, rng.integers(-3, 4, count), points)
        assert len(border) == len(world.held)
        assert border.streams == len(world.values)
    return world

"""A town: streets on an irregular grid, some of them missing, arterials, and a ring road.

Corners of blocks stand a little off the grid. Every fifth line is an arterial, which is faster and
never missing, and ends at the ring around the town. A missing street is put back if there would be
no way around, so that the town is connected. Cost: linear in the number of blocks, but for the
sorting of the ring.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from watchline.errors import InvalidRange
from watchline.kernels.arrays import Doubles, Integers, Mask
from watchline.kernels.compiled import inner, kernel
from watchline.simulate.network import Network

# Blocks between arterials; the first of them is so many from the border of the town.
SPACING, FIRST = 5, 2
# How far a corner is off the grid at most, and the ring from the border of the square: in blocks.
OFF, RING = 0.2, 0.35
# The share of streets that are missing.
MISSING = 0.12


def town(blocks: int = 20, *, seed: int = 0) -> Network:
    """A town of blocks × blocks in the unit square [0, 1)², which stands for 10 km × 10 km."""
    if blocks < FIRST:
        raise InvalidRange(f"a town has at least {FIRST} blocks a side, not {blocks}")
    rng = np.random.default_rng(seed)
    x, y = _corners(blocks, rng)
    src, dst, main = _streets(blocks)
    kept = main | (rng.random(len(src)) >= MISSING)
    _put_back(src, dst, kept, np.arange(len(x)))
    gates, ring_x, ring_y, ring = _ring(x, y, blocks)
    ends = [
        (src[kept & ~main], dst[kept & ~main], "street"),
        (src[main], dst[main], "arterial"),
        (gates, len(x) + np.arange(len(gates)), "arterial"),
        (ring, np.roll(ring, -1), "ring"),
    ]
    xs, ys = np.concatenate([x, ring_x]), np.concatenate([y, ring_y])
    edges = {
        "src": np.concatenate([some for some, _, _ in ends]),
        "dst": np.concatenate([some for _, some, _ in ends]),
        "class": np.concatenate([np.full(len(some), name) for some, _, name in ends]),
    }
    nodes = {"node_id": np.arange(len(xs)), "x": xs, "y": ys}
    return Network.of(pa.table(nodes), pa.table(edges))


def _corners(blocks: int, rng: np.random.Generator) -> tuple[Doubles, Doubles]:
    """The corners of blocks, row by row; a block's width is left free around the town."""
    across, up = np.meshgrid(np.arange(blocks + 1.0), np.arange(blocks + 1.0))
    off = rng.uniform(-OFF, OFF, (2, across.size))
    return (across.ravel() + 1 + off[0]) / (blocks + 2), (up.ravel() + 1 + off[1]) / (blocks + 2)


def _streets(blocks: int) -> tuple[Integers, Integers, Mask]:
    """From each corner to the next on the right, then to the next above; which are arterial."""
    side = blocks + 1
    corner = np.arange(side * side).reshape(side, side)
    line = np.zeros(side, dtype=np.bool_)
    line[FIRST::SPACING] = True
    src = np.concatenate([corner[:, :-1].ravel(), corner[:-1].ravel()])
    dst = np.concatenate([corner[:, 1:].ravel(), corner[1:].ravel()])
    return src, dst, np.concatenate([np.repeat(line, blocks), np.tile(line, blocks)])


def _ring(x: Doubles, y: Doubles, blocks: int) -> tuple[Integers, Doubles, Doubles, Integers]:
    """The ends of arterials, their places on the ring and its four bends, and its nodes in turn."""
    side = blocks + 1
    line = np.arange(FIRST, side, SPACING)
    left, right, below, above = line * side, line * side + blocks, line, blocks * side + line
    near = RING / (blocks + 2)
    far = 1 - near
    at_near, at_far = np.full(len(line), near), np.full(len(line), far)
    ring_x = np.concatenate([at_near, at_far, x[below], x[above], [near, near, far, far]])
    ring_y = np.concatenate([y[left], y[right], at_near, at_far, [near, far, near, far]])
    turn = np.argsort(np.arctan2(ring_y - 0.5, ring_x - 0.5))
    return np.concatenate([left, right, below, above]), ring_x, ring_y, len(x) + turn


@kernel
def _put_back(src: Integers, dst: Integers, kept: Mask, parents: Integers) -> None:
    """Keep what joins parts that would be apart; a part is a tree of parents, each node its own."""
    for again in range(2):
        for edge in range(len(src)):
            if kept[edge] == (again == 0):
                one, other = _root(parents, src[edge]), _root(parents, dst[edge])
                if one != other:
                    parents[one] = other
                    kept[edge] = True


@inner
def _root(parents: Integers, node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node

"""The search of a multilevel grid file (mlgf.py): which pages and boxes may hold some values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.index.codes import CEILING, FLOOR
from watchline.index.mlgf import FANOUT, HEIGHT, ROOT, Tree
from watchline.kernels.arrays import Codes, Int, Integers, Small
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.simd import lowest, ones, reached


class SearchRoom(NamedTuple):
    """What a search of the grid file needs to write to."""

    stack: Integers
    pages: Small


@kernel
def search_room(tree: Tree) -> SearchRoom:
    """The working arrays of one search: a stack of nodes, and the pages it finds."""
    return SearchRoom(
        np.empty(2 * FANOUT * (tree.state[HEIGHT] + 1), np.int64),
        np.empty(len(tree.filled), np.int32),
    )


@leaf()
def pages_within(tree: Tree, low: Codes, high: Codes, room: SearchRoom) -> int:
    """The pages whose boxes may hold values from `low` to `high` in each dimension; how many."""
    stack, pages, found, top = room.stack, room.pages, 0, 1
    one = np.uint64(1)
    stack[0], stack[1] = tree.state[ROOT], tree.state[HEIGHT]
    while top:
        top -= 1
        node, height = stack[2 * top], stack[2 * top + 1]
        bits = reached(tree.window, node, low, high)[0] & first_bits(tree.size[node])
        while bits:
            child = np.int64(tree.child[node, lowest(bits)])
            bits &= bits - one
            if height > 1:
                stack[2 * top], stack[2 * top + 1] = child, height - 1
                top += 1
                continue
            while child >= 0:
                pages[found] = child
                found += 1
                child = np.int64(tree.next[child])
    return found


@leaf(inline="always")
def first_bits(n: int) -> Int:
    """As many ones, 64 at most, from the lowest bit on."""
    return np.uint64(0xFFFF_FFFF_FFFF_FFFF) >> np.uint64(64 - n) if n else np.uint64(0)


@leaf(inline="always")
def boxes_within(tree: Tree, page: Int, low: Codes, high: Codes) -> Int:
    """The boxes of a page that may hold values from `low` to `high` in each dimension, as bits."""
    return reached(tree.codes, page, low, high)[0] & first_bits(tree.filled[page])


@kernel
def look(tree: Tree, codes: Codes, order: Integers, size: int, looks: int) -> tuple[float, float]:
    """The pages and the boxes that clusters of so many rows meet on average, as some of them do."""
    dims, room = codes.shape[1], search_room(tree)
    low, high = np.empty(dims, np.uint16), np.empty(dims, np.uint16)
    clusters = max(1, len(order) // size)
    pages, boxes, looked = 0, 0, min(looks, clusters)
    for i in range(looked):
        start = (2 * i + 1) * clusters // (2 * looked) * size
        low[:], high[:] = CEILING, FLOOR
        for row in order[start : start + size]:
            for d in range(dims):
                if codes[row, d] != CEILING:
                    low[d] = min(low[d], codes[row, d])
                    high[d] = max(high[d], codes[row, d])
        found = pages_within(tree, low, high, room)
        pages += found
        for k in range(found):
            boxes += ones(boxes_within(tree, np.int64(room.pages[k]), low, high))
    return pages / looked, boxes / looked

"""`islist`: the interval skip list of Hanson and Johnson (1996), one dimension, in memory.

A skip list whose nodes are the distinct borders of the intervals. An edge of level i leads from a
node to the next one that is more than i levels high; it stands for the half-open stretch between
their keys and carries markers, the ids of intervals. Invariant: an interval marks an edge if and
only if it contains the edge's stretch and no edge of a higher level over that. So the marked edges
of an interval cut it into pieces, and a search, which meets on its way down the one edge of each
level that contains the point, meets each interval that contains it once. The paper also keeps for
each node the intervals that contain its key (eqMarkers): with half-open stretches these are the
markers of the edges that begin there, and are not kept twice.

When a node comes or goes, the markers of the edges that it splits or joins are raised or lowered
as in the paper. Of many intervals all nodes come first, then all markers, in the order of keys.

Cost for n intervals of random borders, expected: a search is O(log n) and its output; an interval
has O(log n) markers and takes O(log² n) to insert or remove. An edge is 16 bytes, a node has
1 / (1 - p) of them, and a list of markers takes one element more than it has ids.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from watchline.errors import InvalidQuery
from watchline.index.base import Index
from watchline.index.papers.marker_lists import (
    CAPACITY,
    DEAD,
    END,
    SIZE,
    SPARE,
    TOP,
    Edges,
    Markers,
    append_marker,
    copy_markers,
    drop_markers,
    fitting_kind,
    keep_markers,
    remove_marker,
    take_run,
)
from watchline.index.table import hash_place
from watchline.kernels.arrays import Array, Bytes, Doubles, Int, Integers, Small
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.simd import SLACK, move, prefetch

# The header is as high as this and every other node lower, so that its last edge spans all.
LEVELS = 32
# The header is the node of -inf; the tail, of +inf, is only ever pointed at.
HEADER, TAIL = 0, -1

# The key and the node an edge leads to, and its list of markers (0: none). A node is the number of
# its lowest edge and the others follow: `node + level` is an edge. Key and node stand with the edge
# and not in the node, so that a search reads only nodes that it comes to.
EDGE = np.dtype([("key", np.float64), ("next", np.int32), ("list", np.int32)], align=True)

# Points that are answered as one, with room for the lists of each, and how many of them walk side
# by side, so that one waits for memory while the others go on.
GROUP, WIDTH, LANES = 128, LEVELS + 1, 16
# The state of a walk: a level is worth LEVEL, what is below is a place.
LEVEL, LOW = np.int64(2**32), np.int64(2**32 - 1)


class Towers(NamedTuple):
    """The nodes: edges, and by a node's number its height and how many intervals have its key."""

    edges: Edges
    heights: Bytes
    uses: Small
    free: Integers


class Skip(NamedTuple):
    """What kernels change, but the markers, which they may have to replace; and the boxes."""

    edges: Edges
    heights: Bytes
    uses: Small
    free: Integers
    runs: Integers
    hash: Small
    ids: Integers
    lo: Doubles
    hi: Doubles


class IntervalSkipList(Index):
    """A skip list over all borders, whose edges carry the intervals that cover them."""

    kind = "islist"

    def __init__(self, dims: int, *, p: float = 0.25, seed: int = 0):
        if dims != 1:
            raise InvalidQuery(f"index 'islist' has one dimension, not {dims}")
        if not 0 < p < 1:
            raise InvalidQuery(f"index 'islist' takes p between 0 and 1, not {p}")
        super().__init__(dims)
        self.p = p
        self._random = np.random.default_rng(seed)
        self._clear()

    def _clear(self) -> None:
        self._towers = _towers(LEVELS)
        self._towers.edges["key"] = np.inf
        self._towers.edges["next"] = TAIL
        self._towers.heights[HEADER] = LEVELS
        self._towers.free[END], self._towers.free[TOP] = LEVELS, 1
        self._markers, self._runs = _pool(SLACK, np.int32)
        # Intervals that came since nodes and lists were laid out in the order of keys.
        self._loose = 0

    @property
    def _nbytes(self) -> int:
        return sum(a.nbytes for a in (*self._towers, self._markers, self._runs))

    def _add(self, slots: Small) -> None:
        if not len(slots):
            return
        self._widen(self._boxes.id_type)
        slots, keys, counts = self._sorted(slots)
        heights = np.minimum(self._random.geometric(1 - self.p, len(keys)), LEVELS - 1)
        self._reserve(int(heights.sum()))
        self._markers = _insert(self._skip(), self._markers, slots, keys, counts, heights)
        self._loose += len(slots)
        self._tidy(len(self))

    def _discard(self, slots: Small) -> None:
        if len(slots) == len(self):
            self._clear()
        elif len(slots):
            self._markers = _delete(self._skip(), self._markers, *self._sorted(slots))
            self._tidy(len(self) - len(slots))

    def _fill(
        self, points: Doubles, offsets: Integers, found: Array, row: int, at: int
    ) -> tuple[int, int]:
        edges, top = self._towers.edges, self._towers.free[TOP]
        return _stab(edges, self._markers, top, points.reshape(-1), offsets, found, row, at)

    def _skip(self) -> Skip:
        boxes = self._boxes
        lo, hi = boxes.lo.reshape(-1), boxes.hi.reshape(-1)
        return Skip(*self._towers, self._runs, boxes.hash, boxes.ids, lo, hi)

    def _sorted(self, slots: Small) -> tuple[Small, Doubles, Integers]:
        """The slots by their lower borders; the distinct borders and how often each occurs."""
        if len(slots) == 1:
            slot = slots[0]
            return slots, np.array((self._boxes.lo[slot, 0], self._boxes.hi[slot, 0])), _ONCE
        lo, hi = self._boxes.lo[slots, 0], self._boxes.hi[slots, 0]
        keys, counts = np.unique(np.concatenate((lo, hi)), return_counts=True)
        return slots[np.argsort(lo, kind="stable")], keys, counts

    def _widen(self, id_type: type[np.signedinteger]) -> None:
        if self._markers.dtype != id_type:
            self._markers = self._markers.astype(id_type)

    def _reserve(self, count: int) -> None:
        """Room for this many edges."""
        old = self._towers
        size = int(old.free[END]) + count
        if size > len(old.edges):
            towers = _towers(max(size, len(old.edges) + len(old.edges) // 4))
            held = len(old.edges)
            towers.edges[:held], towers.heights[:held], towers.uses[:held] = old[:3]
            self._towers = towers._replace(free=old.free)

    def _tidy(self, count: int) -> None:
        """Lay out anew what has become too loose or too large; costs little per change before."""
        loose = self._loose > SPARE and 2 * self._loose >= count
        nodes = _wasteful(self._towers.edges, self._towers.free)
        if loose or nodes or _wasteful(self._markers, self._runs):
            self._lay_out()

    def _lay_out(self) -> None:
        """Nodes and lists in the order of keys, without gaps: a search stays within few lines."""
        edges, elements = _extent(self._towers, self._markers)
        towers = _towers(edges + edges // 8)
        markers, runs = _pool(elements + elements // 8 + SLACK, self._markers.dtype)
        _copy_all(self._towers, self._markers, towers, markers, runs)
        self._towers, self._markers, self._runs = towers, markers, runs
        self._loose = 0


_ONCE = np.ones(2, dtype=np.int64)


def _towers(size: int) -> Towers:
    return Towers(
        np.zeros(size, dtype=EDGE),
        np.zeros(size, dtype=np.uint8),
        np.zeros(size, dtype=np.int32),
        np.zeros(LEVELS + 3, dtype=np.int64),
    )


def _pool(size: int, id_type: Any) -> tuple[Markers, Integers]:
    runs = np.zeros(len(CAPACITY) + 2, dtype=np.int64)
    runs[END] = 1  # the list 0 is no list
    return np.zeros(size + 1, dtype=id_type), runs


def _wasteful(places: Array, state: Integers) -> bool:
    return len(places) > 2 * int(state[END] - state[DEAD]) + SPARE


# --- search


@kernel
def _stab(
    edges: Edges,
    markers: Markers,
    top: Int,
    points: Doubles,
    offsets: Integers,
    found: Array,
    row: Int,
    at: Int,
) -> tuple[int, int]:
    lists = np.empty(GROUP * WIDTH, dtype=np.int32)
    ends = np.empty(GROUP, dtype=np.int64)
    for first in range(row, len(points), GROUP):
        group = points[first : first + GROUP]
        _walk(edges, markers, top, group, lists, ends)
        for i in range(len(group)):
            begin = at
            if np.isfinite(group[i]):
                for k in range(i * WIDTH, ends[i]):
                    place = np.uint64(lists[k])
                    count = np.int64(markers[place])
                    if at + count + SLACK > len(found):
                        return first + i, begin
                    move(found, np.uint64(at), markers, place + np.uint64(1), np.uint64(count))
                    at += count
            offsets[first + i + 1] = at
    return len(points), at


@inner
def _walk(
    edges: Edges,
    markers: Markers,
    top: Int,
    points: Doubles,
    lists: Small,
    ends: Integers,
) -> None:
    """Note the lists of the edges that contain point i in lists[i * WIDTH : ends[i]].

    Several points walk by turns, one step each: over an edge that ends before the point or at it,
    else down. That is a matter of chance, so the step is computed without a branch. A lane's state
    is the level, and in the lower half the place for the next list; it ends below level 0.
    """
    at = np.empty(LANES, dtype=np.int64)
    state = np.empty(LANES, dtype=np.int64)
    keys = np.empty(LANES)
    rows = np.empty(LANES, dtype=np.int64)
    started = lanes = min(LANES, len(points))
    for k in range(lanes):
        _start(edges, top, points, k, k, at, state, keys, rows, lists)
    while lanes:
        k = 0
        while k < lanes:
            edge = edges[np.uint64(at[k])]
            place = edge["list"]
            lists[np.uint64(state[k] & LOW)] = place
            ahead, down = np.int64(edge["next"]) + (state[k] >> 32), at[k] - 1
            falls = np.int64(edge["key"] <= keys[k]) - 1
            at[k] = ahead + ((down - ahead) & falls)
            state[k] += (np.int64(place != 0) - LEVEL) & falls
            prefetch(edges, at[k])
            if state[k] >= 0:
                k += 1
                continue
            row = rows[k]
            ends[row] = state[k] & LOW
            for i in range(row * WIDTH, ends[row]):
                prefetch(markers, lists[i])
            if started < len(points):
                _start(edges, top, points, started, k, at, state, keys, rows, lists)
                started += 1
            else:
                lanes -= 1
                at[k], state[k] = at[lanes], state[lanes]
                keys[k], rows[k] = keys[lanes], rows[lanes]


@inner
def _start(
    edges: Edges,
    top: Int,
    points: Doubles,
    row: Int,
    k: Int,
    at: Integers,
    state: Integers,
    keys: Doubles,
    rows: Integers,
    lists: Small,
) -> None:
    """Let lane k begin with a row. A point that is not finite walks too, but must not get lost."""
    everywhere = edges[HEADER + LEVELS - 1]["list"]
    lists[row * WIDTH] = everywhere
    at[k] = HEADER + top - 1
    state[k] = (top - 1) * LEVEL + row * WIDTH + np.int64(everywhere != 0)
    keys[k] = points[row] if np.isfinite(points[row]) else 0.0
    rows[k] = row


# --- intervals and their nodes


@kernel
def _insert(
    skip: Skip, markers: Markers, slots: Small, keys: Doubles, counts: Integers, heights: Integers
) -> Markers:
    """Take in intervals whose borders are the keys; new keys become nodes of the given heights."""
    before, borders = np.empty(LEVELS, dtype=np.int64), np.empty(LEVELS)
    for i in range(len(keys)):
        if not np.isfinite(keys[i]):
            continue
        node = _trace(skip, keys[i], before, borders)
        if node == TAIL:
            node = _link(skip, keys[i], heights[i], before)
            for level in range(heights[i] - 1, -1, -1):
                if skip.edges[before[level] + level]["list"]:
                    markers = _split(skip, markers, node, level, before, borders)
        skip.uses[node] += counts[i]
    return _mark(skip, markers, slots, True)


@kernel
def _delete(skip: Skip, markers: Markers, slots: Small, keys: Doubles, counts: Integers) -> Markers:
    """Drop intervals whose borders are the keys, and the nodes that no interval needs now."""
    markers = _mark(skip, markers, slots, False)
    before, borders = np.empty(LEVELS, dtype=np.int64), np.empty(LEVELS)
    for i in range(len(keys)):
        if not np.isfinite(keys[i]):
            continue
        node = _trace(skip, keys[i], before, borders)
        skip.uses[node] -= counts[i]
        if not skip.uses[node]:
            for level in range(1, skip.heights[node]):
                markers = _join_left(skip, markers, node, level, before)
                markers = _join_right(skip, markers, node, level, borders)
            _unlink(skip, markers, node, before)
    return markers


@inner
def _trace(skip: Skip, key: float, before: Integers, borders: Doubles) -> Int:
    """The node of a key, or TAIL; on each level the last node before it, and that node's key."""
    edges, top = skip.edges, skip.free[TOP]
    node, border = np.int64(HEADER), -np.inf
    for level in range(top, LEVELS):
        before[level] = node
        borders[level] = border
    for level in range(top - 1, -1, -1):
        while edges[node + level]["key"] < key:
            border = edges[node + level]["key"]
            node = _next(edges, node + level)
        before[level] = node
        borders[level] = border
    return _next(edges, node) if edges[node]["key"] == key else TAIL


@inner
def _node(skip: Skip, key: float) -> Int:
    """The node of a key that is there; the header for -inf."""
    edges, node = skip.edges, np.int64(HEADER)
    for level in range(skip.free[TOP] - 1, -1, -1):
        while edges[node + level]["key"] <= key:
            node = _next(edges, node + level)
    return node


@inner
def _next(edges: Edges, edge: Int) -> Int:
    return np.int64(edges[edge]["next"])


@inner
def _link(skip: Skip, key: float, height: Int, before: Integers) -> Int:
    """A new node, without markers, in its place."""
    edges, free = skip.edges, skip.free
    node = free[height]
    if node:
        free[height] = edges[node]["next"]
        free[DEAD] -= height
    else:
        node = free[END]
        free[END] += height
    skip.heights[node] = height
    skip.uses[node] = 0
    for level in range(height):
        split, rest = edges[before[level] + level], edges[node + level]
        rest["key"] = split["key"]
        rest["next"] = split["next"]
        rest["list"] = 0
        split["key"] = key
        split["next"] = node
    free[TOP] = max(free[TOP], height)
    return node


@inner
def _unlink(skip: Skip, markers: Markers, node: Int, before: Integers) -> None:
    """Take out a node and what markers its edges still have."""
    edges, free, height = skip.edges, skip.free, np.int64(skip.heights[node])
    for level in range(height):
        drop_markers(edges, markers, skip.runs, node + level)
        joined, rest = edges[before[level] + level], edges[node + level]
        joined["key"] = rest["key"]
        joined["next"] = rest["next"]
    edges[node]["next"] = free[height]
    free[height] = node
    free[DEAD] += height
    while free[TOP] > 1 and edges[HEADER + free[TOP] - 1]["next"] == TAIL:
        free[TOP] -= 1


# --- where markers belong


@inner
def _mark(skip: Skip, markers: Markers, slots: Small, put: bool) -> Markers:
    """Put the markers of intervals on their edges, or take them off.

    From the lower border on, the way climbs as long as a higher edge stays within the interval,
    then comes down: placeMarkers and removeMarkers of the paper.
    """
    edges, heights, runs = skip.edges, skip.heights, skip.runs
    for i in range(len(slots)):
        key, hi, marker = skip.lo[slots[i]], skip.hi[slots[i]], skip.ids[slots[i]]
        node, level = _node(skip, key), 0
        while key < hi:
            while level + 1 < heights[node] and edges[node + level + 1]["key"] <= hi:
                level += 1
            while edges[node + level]["key"] > hi:
                level -= 1
            edge = node + level
            if put:
                markers = append_marker(edges, markers, runs, edge, marker)
            else:
                markers = remove_marker(edges, markers, runs, edge, marker)
            key, node = edges[edge]["key"], _next(edges, edge)
    return markers


@inner
def _split(
    skip: Skip, markers: Markers, node: Int, level: Int, before: Integers, borders: Doubles
) -> Markers:
    """Share out the markers of an edge that a new node has split, from its top level down.

    Both halves get the marker. A half is raised as long as the higher edge that now begins or ends
    at the node is within the interval; what that covers is unmarked. Never are both raised: the
    whole edge would have been marked higher. The paper's adjustMarkersOnInsert.
    """
    edges, runs, last = skip.edges, skip.runs, np.int64(skip.heights[node]) - 1
    left = before[level] + level
    if level == last:
        return copy_markers(edges, markers, runs, left, node + level)
    place, kept = np.int64(edges[left]["list"]), np.int64(0)
    for i in range(1, np.int64(markers[place]) + 1):
        marker = np.int64(markers[place + i])
        slot = _slot(skip, marker)
        up = level
        while up < last and skip.lo[slot] <= borders[up + 1]:
            up += 1
            markers = _unmark(edges, markers, runs, up - 1, before[up], before[up - 1], marker)
        if up > level:
            markers = append_marker(edges, markers, runs, before[up] + up, marker)
        else:
            kept += 1
            markers[place + kept] = marker
        up = level
        while up < last and skip.hi[slot] >= edges[node + up + 1]["key"]:
            start, stop = _next(edges, node + up), _next(edges, node + up + 1)
            markers = _unmark(edges, markers, runs, up, start, stop, marker)
            up += 1
        markers = append_marker(edges, markers, runs, node + up, marker)
    return keep_markers(edges, markers, runs, left, kept)


@inner
def _join_left(skip: Skip, markers: Markers, node: Int, level: Int, before: Integers) -> Markers:
    """Lower the markers on the edge into a node that goes, from the lowest level up.

    It will be joined with the edge out of the node. A marker whose interval does not contain both
    goes down to the first level where it does, and marks what is before that on the way. This and
    `_join_right` are the paper's adjustMarkersOnDelete.
    """
    edges, runs = skip.edges, skip.runs
    left = before[level] + level
    place, kept = np.int64(edges[left]["list"]), np.int64(0)
    if not place:
        return markers
    for i in range(1, np.int64(markers[place]) + 1):
        marker = np.int64(markers[place + i])
        hi, down = skip.hi[_slot(skip, marker)], level
        while hi < edges[node + down]["key"]:
            down -= 1
            start, stop = before[down + 1], before[down]
            markers = _mark_path(edges, markers, runs, down, start, stop, marker)
        if down < level:
            markers = append_marker(edges, markers, runs, before[down] + down, marker)
        else:
            kept += 1
            markers[place + kept] = marker
    return keep_markers(edges, markers, runs, left, kept)


@inner
def _join_right(skip: Skip, markers: Markers, node: Int, level: Int, borders: Doubles) -> Markers:
    """Lower the markers on the edge out of a node that goes.

    Joined edges are marked by `_join_left`: no interval ends at the node now, so whatever contains
    an edge on one side of it contains one on the other.
    """
    edges, runs = skip.edges, skip.runs
    place = np.int64(edges[node + level]["list"])
    if not place:
        return markers
    for i in range(1, np.int64(markers[place]) + 1):
        marker = np.int64(markers[place + i])
        lo, down = skip.lo[_slot(skip, marker)], level
        while lo > borders[down]:
            down -= 1
            start, stop = _next(edges, node + down), _next(edges, node + down + 1)
            markers = _mark_path(edges, markers, runs, down, start, stop, marker)
    return markers


@inner
def _mark_path(
    edges: Edges, markers: Markers, runs: Integers, level: Int, node: Int, stop: Int, marker: Int
) -> Markers:
    while node != stop:
        markers = append_marker(edges, markers, runs, node + level, marker)
        node = _next(edges, node + level)
    return markers


@inner
def _unmark(
    edges: Edges, markers: Markers, runs: Integers, level: Int, node: Int, stop: Int, marker: Int
) -> Markers:
    while node != stop:
        markers = remove_marker(edges, markers, runs, node + level, marker)
        node = _next(edges, node + level)
    return markers


@inner
def _slot(skip: Skip, marker: Int) -> Int:
    """The slot of an id that is in the table."""
    at = hash_place(skip.hash, marker)
    while skip.ids[skip.hash[at]] != marker:
        at = (at + 1) & (len(skip.hash) - 1)
    return skip.hash[at]


# --- layout


@kernel
def _extent(towers: Towers, markers: Markers) -> tuple[int, int]:
    """How many edges there are, and how many elements their lists need."""
    edges, node = towers.edges, np.int64(HEADER)
    count = elements = 0
    while node != TAIL:
        for edge in range(node, node + towers.heights[node]):
            count += 1
            if edges[edge]["list"]:
                elements += SIZE[fitting_kind(np.int64(markers[edges[edge]["list"]]))]
        node = _next(edges, node)
    return count, elements


@kernel
def _copy_all(
    towers: Towers, markers: Markers, into: Towers, lists: Markers, runs: Integers
) -> None:
    """Copy nodes and lists in the order of keys into empty pools that have room for them."""
    edges, node, at = towers.edges, np.int64(HEADER), 0
    moved = np.full(len(edges) + 1, TAIL, dtype=np.int32)  # the last stands for the tail
    while node != TAIL:
        moved[node] = at
        at += towers.heights[node]
        node = _next(edges, node)
    into.free[END], into.free[TOP] = at, towers.free[TOP]
    node = np.int64(HEADER)
    while node != TAIL:
        height, new = np.int64(towers.heights[node]), np.int64(moved[node])
        into.heights[new] = height
        into.uses[new] = towers.uses[node]
        for level in range(height):
            into.edges[new + level]["key"] = edges[node + level]["key"]
            into.edges[new + level]["next"] = moved[edges[node + level]["next"]]
            place = np.int64(edges[node + level]["list"])
            into.edges[new + level]["list"] = _copy_run(markers, place, lists, runs)
        node = _next(edges, node)


@inner
def _copy_run(markers: Markers, place: Int, lists: Markers, runs: Integers) -> Int:
    if not place:
        return 0
    count = np.int64(markers[place])
    _, to = take_run(lists, runs, fitting_kind(count))
    for i in range(count + 1):
        lists[to + i] = markers[place + i]
    return to

"""The lists of markers of an interval skip list: runs of one pool, and an index over long ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from watchline.kernels.arrays import Int, Integers
from watchline.kernels.compiled import inner, kernel
from watchline.kernels.simd import SLACK

Edges = npt.NDArray[np.void]
Markers = Any  # an array of int32 or int64, as the ids are

# A list of markers is a run of the pool: how many there are, then the ids. Runs come in sizes. Up
# to SMALL ids, the count tells the size. A larger run has two elements before its count: its size,
# and the place of its index or, if it has none, minus how often it was searched.
SMALL = 16
CAPACITY = np.array(
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16] + [c << k for k in range(3, 29) for c in (3, 4)]
)
KIND = np.searchsorted(CAPACITY, np.arange(SMALL + 1))
LARGE = int(KIND[SMALL]) + 1
SIZE = CAPACITY + np.where(np.arange(len(CAPACITY)) < LARGE, 1, 3)
# A list this long that was searched for a marker this often gets an index: it costs as much.
INDEXED, SEARCHED = 1_024, 32

# The state of a pool, behind the heads of its free places: what was ever taken, what of it is free,
# and (of nodes) how high the highest is.
END, DEAD, TOP = -1, -2, -3
# What a pool may waste, besides as much as it uses.
SPARE = 1_024


@inner
def append_marker(
    edges: Edges, markers: Markers, runs: Integers, edge: Int, marker: Int
) -> Markers:
    """Put a marker at the end of an edge's list; the array of markers, which may have grown."""
    place = np.int64(edges[edge]["list"])
    if not place:
        markers, place = take_run(markers, runs, KIND[1])
        markers[place] = 0
        edges[edge]["list"] = place
    count = np.int64(markers[place])
    kind = _kind(markers, place) if count else 0
    if count == CAPACITY[kind]:
        markers, place = _moved(markers, runs, place, kind, kind + 1)
        edges[edge]["list"] = place
    count += 1
    markers[place] = count
    markers[place + count] = marker
    if count > SMALL and markers[place - 1] > 0:
        _enter(markers, place, count)
    return markers


@inner
def remove_marker(
    edges: Edges, markers: Markers, runs: Integers, edge: Int, marker: Int
) -> Markers:
    """Take out a marker that is there; the last takes its place."""
    place = np.int64(edges[edge]["list"])
    count = np.int64(markers[place])
    if count <= INDEXED:
        at = _search(markers, place, marker)
    else:
        markers, at = _look_up(markers, runs, place, marker)
    if count > SMALL and markers[place - 1] > 0:
        _leave(markers, place, at, count)
    markers[place + at] = markers[place + count]
    return _shorten(edges, markers, runs, edge, count - 1)


@inner
def keep_markers(edges: Edges, markers: Markers, runs: Integers, edge: Int, count: Int) -> Markers:
    """Drop what is behind the first markers of a list, after the others have been moved up."""
    place = np.int64(edges[edge]["list"])
    if count == markers[place]:
        return markers
    if markers[place] > SMALL:
        _drop_index(markers, runs, place)
    return _shorten(edges, markers, runs, edge, count)


@inner
def _shorten(edges: Edges, markers: Markers, runs: Integers, edge: Int, count: Int) -> Markers:
    """Set the count, and move to a smaller run when that is due."""
    if not count:
        drop_markers(edges, markers, runs, edge)
        return markers
    place = np.int64(edges[edge]["list"])
    kind = _kind(markers, place)
    markers[place] = count
    # A long list moves only when two thirds are empty, so that it does not move back at once.
    if count <= SMALL or 3 * count < CAPACITY[kind]:
        wanted = KIND[count] if count <= SMALL else fitting_kind(count) + 1
        if wanted != kind:
            markers, place = _moved(markers, runs, place, kind, wanted)
            edges[edge]["list"] = place
    return markers


@inner
def copy_markers(edges: Edges, markers: Markers, runs: Integers, edge: Int, to: Int) -> Markers:
    """Give another edge a copy of this edge's list; the array of markers, which may have grown."""
    place = np.int64(edges[edge]["list"])
    markers, copy = take_run(markers, runs, _kind(markers, place))
    for i in range(np.int64(markers[place]) + 1):
        markers[copy + i] = markers[place + i]
    edges[to]["list"] = copy
    return markers


@inner
def drop_markers(edges: Edges, markers: Markers, runs: Integers, edge: Int) -> None:
    """Empty an edge's list, whose run is free again."""
    place = np.int64(edges[edge]["list"])
    if place:
        _give(markers, runs, place, _kind(markers, place))
        edges[edge]["list"] = 0


@inner
def _kind(markers: Markers, place: Int) -> Int:
    count = markers[place]
    return KIND[count] if count <= SMALL else np.int64(markers[place - 2])


@inner
def _moved(
    markers: Markers, runs: Integers, place: Int, kind: Int, wanted: Int
) -> tuple[Markers, Int]:
    """A list in a run of another kind; its index is lost."""
    markers, to = take_run(markers, runs, wanted)
    for i in range(np.int64(markers[place]) + 1):
        markers[to + i] = markers[place + i]
    _give(markers, runs, place, kind)
    return markers, to


@inner
def take_run(markers: Markers, runs: Integers, kind: Int) -> tuple[Markers, Int]:
    """A free run: the place for its count."""
    start = runs[kind]
    if start:
        runs[kind] = markers[start]
        runs[DEAD] -= SIZE[kind]
    else:
        start = runs[END]
        runs[END] += SIZE[kind]
        if runs[END] + SLACK > len(markers):
            markers = _grown(markers, runs[END] + SLACK)
    if kind < LARGE:
        return markers, start
    markers[start] = kind
    markers[start + 1] = 0
    return markers, start + 2


@inner
def _give(markers: Markers, runs: Integers, place: Int, kind: Int) -> None:
    if kind >= LARGE:
        _drop_index(markers, runs, place)
    _free(markers, runs, place, kind)


@inner
def _free(markers: Markers, runs: Integers, place: Int, kind: Int) -> None:
    start = place if kind < LARGE else place - 2
    markers[start] = runs[kind]
    runs[kind] = start
    runs[DEAD] += SIZE[kind]


@inner
def _grown(markers: Markers, size: Int) -> Markers:
    if size >= 2**31:
        raise MemoryError("index 'islist' holds at most 2**31 markers")
    larger = np.zeros(max(size, len(markers) + len(markers) // 4), dtype=markers.dtype)
    for i in range(len(markers)):
        larger[i] = markers[i]
    return larger


# --- places of markers in long lists


@inner
def _search(markers: Markers, place: Int, marker: Int) -> Int:
    """Where in a list a marker is, from 1: block by block, as vector instructions."""
    wanted, count = markers.dtype.type(marker), np.int64(markers[place])
    for first in range(place + 1, place + count + 1, 64):
        end = min(first + 64, place + count + 1)
        hits = 0
        for i in range(first, end):
            hits += markers[i] == wanted
        if hits:
            for i in range(first, end):
                if markers[i] == wanted:
                    return i - place
    raise AssertionError("a marker is not where it must be")


@kernel
def _look_up(markers: Markers, runs: Integers, place: Int, marker: Int) -> tuple[Markers, Int]:
    """`_search` for long lists: by the index, which is built when there were enough searches."""
    if markers[place - 1] <= 0:
        markers[place - 1] -= 1
        if markers[place - 1] > -SEARCHED:
            return markers, _search(markers, place, marker)
        kind = _index_kind(markers, place)
        markers, table = take_run(markers, runs, kind)
        for i in range(table, table + CAPACITY[kind]):
            markers[i] = 0
        markers[place - 1] = table
        for i in range(1, np.int64(markers[place]) + 1):
            _enter(markers, place, i)
    table, mask = np.int64(markers[place - 1]), _mask(markers, place)
    at = _home(marker, mask)
    while markers[place + markers[table + at]] != marker:
        at = (at + 1) & mask
    return markers, np.int64(markers[table + at])


@inner
def _enter(markers: Markers, place: Int, i: Int) -> None:
    """Note in a list's index where its i-th marker is."""
    table, mask = np.int64(markers[place - 1]), _mask(markers, place)
    at = _home(np.int64(markers[place + i]), mask)
    while markers[table + at]:
        at = (at + 1) & mask
    markers[table + at] = i


@inner
def _leave(markers: Markers, place: Int, gone: Int, last: Int) -> None:
    """Note that one marker of a list will be gone and the last in its place."""
    table, mask = np.int64(markers[place - 1]), _mask(markers, place)
    hole = _home(np.int64(markers[place + gone]), mask)
    while markers[table + hole] != gone:
        hole = (hole + 1) & mask
    # What had been pushed past the hole moves up.
    at = (hole + 1) & mask
    while markers[table + at]:
        home = _home(np.int64(markers[place + markers[table + at]]), mask)
        if ((at - home) & mask) >= ((at - hole) & mask):
            markers[table + hole] = markers[table + at]
            hole = at
        at = (at + 1) & mask
    markers[table + hole] = 0
    if gone != last:
        at = _home(np.int64(markers[place + last]), mask)
        while markers[table + at] != last:
            at = (at + 1) & mask
        markers[table + at] = gone


@inner
def _drop_index(markers: Markers, runs: Integers, place: Int) -> None:
    if markers[place - 1] > 0:
        _free(markers, runs, np.int64(markers[place - 1]), _index_kind(markers, place))
    markers[place - 1] = 0


@kernel
def _index_kind(markers: Markers, place: Int) -> Int:
    """The kinds from LARGE on hold 3·2^k and 4·2^k by turns; their indexes 4·2^k and 8·2^k."""
    kind = np.int64(markers[place - 2])
    return kind + 1 + ((kind - LARGE) & 1)


@inner
def _mask(markers: Markers, place: Int) -> Int:
    return CAPACITY[_index_kind(markers, place)] - 1


@inner
def _home(marker: Int, mask: Int) -> Int:
    """Where the search for a marker begins: its bits mixed, without overflow."""
    mixed = ((marker ^ (marker >> 31)) & 0x7FFFFFFF) * 0x9E3779B1
    return (mixed ^ (mixed >> 32)) & mask


@inner
def fitting_kind(count: Int) -> Int:
    """The smallest kind of run for so many markers."""
    if count <= SMALL:
        return KIND[count]
    kind = LARGE
    while CAPACITY[kind] < count:
        kind += 1
    return np.int64(kind)

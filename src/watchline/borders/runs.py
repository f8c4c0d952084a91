"""Region segment lists as sorted arrays (BMQ-Index, sections 3 and 4), and the search between two
values.

A *run* has two entries for each query in one dimension, sorted by (key, tag): the key is a border,
`others` has the query's other border, so that an entry is a lower border if the other is above its
key. An entry whose query has gone has NaN there, with which no comparison holds.

Search. A value that is nowhere (a stream not seen yet, NaN, ±inf) is +inf, which is in no half-open
range. Between an old and a new value the entries with keys in between are visited, and an entry
flips its query exactly if the other border is not in between too: a jump over a whole query is
none (3.3; per query, not per set of queries).

    old          new        [ ) flips at [        other > new: now inside
     |     [      |    )
     |  [     )   |         nothing               both borders are in between
   [ |     )      |         flips at )            other <= old: now outside

A walk costs the entries in between. A long step is answered by two stabs instead: what contains the
old value and not the new one, and the other way round. For that a run has *checkpoints*: at some
positions the lower entries of all queries that are open there. One is set when as many entries
have passed as queries are open, so that all of them together are no longer than the run, and a stab
reads about twice what it would have to, whatever the overlap.

Several dimensions: an entry of dimension k is a candidate. `+` needs the new value inside in all
other dimensions, and the old one inside in those before k, so that it is reported once (4.3, the
cross-check); `-` the same with old and new exchanged.

Several *generations* of runs, one for each dimension, stand one after the other in the same arrays;
generations.py makes and merges them. Cost: 24 bytes an entry, 4 for its bucket, at most 4 for the
checkpoints; a rank is a bucket and the few keys in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from watchline.index import HUGEST, TINIEST
from watchline.kernels.arrays import Doubles, Int, Integers, Small
from watchline.kernels.blocks import LANES
from watchline.kernels.compiled import inner, kernel, leaf, outer_leaf

# Entries of a block: checkpoints are only at the first one of a block.
SHIFT = 6
BLOCK = 1 << SHIFT
# Keys that are compared at once.
FEW = 4


class Borders(NamedTuple):
    """Runs in the order of their generation, then dimension; positions are 32 bits and count from
    the beginning of the run. After the last entry there are `LANES` more, which mean nothing."""

    keys: Doubles
    others: Doubles
    tags: Integers
    # Entries before each bucket of equal width.
    guide: Small
    # For each block: the last one that has a checkpoint, and where its members begin.
    latest: Small
    firsts: Small
    members: Small
    # For each run: where it begins and ends, its guide, buckets, blocks, members.
    runs: Integers
    # For each run: where its buckets begin, and their number in a unit.
    axes: Doubles

    @property
    def entries(self) -> int:
        return int((self.runs[:, END] - self.runs[:, BEGIN]).sum())

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)


BEGIN, END, GUIDE, BUCKETS, BLOCKS, MEMBERS = range(6)


class Steps(NamedTuple):
    """When a step is long: its entries are more than `walk`, and more than `price` times what the
    two stabs read."""

    walk: int
    price: float


AUTO = Steps(BLOCK, 2.0)
WALK = Steps(2**62, 0.0)
STABS = Steps(0, 0.0)


def build_borders(lo: Doubles, hi: Doubles, tags: Integers) -> Borders:
    """One generation of these checked boxes (n, d); zeros have one sign."""
    size = 2 * len(tags)
    entries = room(size * lo.shape[1])
    for k in range(lo.shape[1]):
        part = slice(k * size, (k + 1) * size)
        for column, values in zip(entries, _sorted(lo[:, k], hi[:, k], tags), strict=True):
            column[part] = values
    return finished(*entries, np.arange(lo.shape[1] + 1) * size)


def room(size: int) -> tuple[Doubles, Doubles, Integers]:
    """Keys, others and tags of so many entries, and what is read after the last."""
    size += LANES
    return np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)


def _sorted(lo: Doubles, hi: Doubles, tags: Integers) -> tuple[Doubles, Doubles, Integers]:
    keys, others = np.concatenate([lo, hi]), np.concatenate([hi, lo])
    twice = np.concatenate([tags, tags])
    order = np.lexsort((twice, keys))
    return keys[order], others[order], twice[order]


def finished(keys: Doubles, others: Doubles, tags: Integers, ends: Integers) -> Borders:
    """Sorted entries with guides and checkpoints; dimension k has those before ends[k + 1]."""
    borders, used = _furnished(keys, others, tags, ends)
    return borders._replace(members=borders.members[:used].copy())


@kernel
def _furnished(
    keys: Doubles, others: Doubles, tags: Integers, ends: Integers
) -> tuple[Borders, int]:
    """Borders with room for all members there could be, and how many there are."""
    dims = len(ends) - 1
    runs, axes = np.zeros((dims, 6), dtype=np.int64), np.zeros((dims, 2))
    buckets, blocks = 0, 0
    for k in range(dims):
        size = ends[k + 1] - ends[k]
        runs[k, BEGIN], runs[k, END] = ends[k], ends[k + 1]
        runs[k, GUIDE], runs[k, BUCKETS], runs[k, BLOCKS] = buckets, size + 1, blocks
        axes[k, 0], axes[k, 1] = _axis(keys[ends[k] : ends[k + 1]])
        buckets += size + 2
        blocks += (size >> SHIFT) + 2
    guide = np.empty(buckets, dtype=np.int32)
    latest, firsts = np.zeros(blocks, dtype=np.int32), np.zeros(blocks, dtype=np.int32)
    # One more than can be in use: a member is written before it is known whether it stays.
    members = np.empty(ends[-1] + 1, dtype=np.int32)
    borders = Borders(keys, others, tags, guide, latest, firsts, members, runs, axes)
    used = 0
    for run in range(dims):
        runs[run, MEMBERS] = used
        _fill_guide(borders, run)
        used = _set_checkpoints(borders, run, used)
    return borders, used


@inner
def _axis(keys: Doubles) -> tuple[float, float]:
    """Where buckets of one width begin, as many as there are keys, and their number in a unit."""
    first, last = 0, len(keys) - 1
    while first <= last and keys[first] == -np.inf:
        first += 1
    while first <= last and keys[last] == np.inf:
        last -= 1
    if first > last:
        return 0.0, 1.0
    width = keys[last] / len(keys) - keys[first] / len(keys)
    return keys[first], 1.0 / min(max(width, TINIEST), HUGEST)


@leaf(forceinline=True)
def bucket_of(start: float, inverse: float, buckets: Int, value: float) -> Int:
    """A number that never decreases with the value, whatever the arithmetic rounds."""
    scaled = (value - start) * inverse
    if not scaled > 0.0:
        return 0
    return buckets - 1 if scaled >= buckets else int(scaled)


@inner
def _fill_guide(borders: Borders, run: int) -> None:
    keys, guide = borders.keys, borders.guide
    begin, end, first, buckets = borders.runs[run, :4]
    start, inverse = borders.axes[run]
    done = 0
    for i in range(begin, end):
        bucket = bucket_of(start, inverse, buckets, keys[i])
        while done <= bucket:
            guide[first + done] = i - begin
            done += 1
    while done <= buckets:
        guide[first + done] = end - begin
        done += 1


@inner
def _set_checkpoints(borders: Borders, run: int, used: int) -> int:
    """At a block when no more queries are open than entries have passed; where the members end."""
    keys, others, members = borders.keys, borders.others, borders.members
    latest, firsts = borders.latest, borders.firsts
    begin, end, blocks = borders.runs[run, BEGIN], borders.runs[run, END], borders.runs[run, BLOCKS]
    base, count, opened, last = used, 0, 0, 0
    for block in range(1, ((end - begin) >> SHIFT) + 1):
        at = block << SHIFT
        for i in range(begin + at - BLOCK, begin + at):
            opened += 1 if others[i] > keys[i] else -1
        firsts[blocks + block] = used - base
        latest[blocks + block] = last
        if at - (last << SHIFT) < opened:
            continue
        # Open here is what was open at the last one or has begun since, and goes on after this.
        border, until = keys[begin + at - 1], used
        for m in range(until - count, until):
            members[used] = members[m]
            used += others[begin + members[m]] > border
        for i in range(begin + (last << SHIFT), begin + at):
            members[used] = i - begin
            used += others[i] > border
        count, last = used - until, block
        latest[blocks + block] = last
    firsts[blocks + ((end - begin) >> SHIFT) + 1] = used - base
    return used


@outer_leaf(forceinline=True)
def rank(borders: Borders, run: Int, value: float) -> Int:
    """The position after the last key <= value.

    The last few keys are compared without a branch, as nobody can tell how the comparison will end.
    """
    keys, guide = borders.keys, borders.guide
    begin, first = np.uint64(borders.runs[run, BEGIN]), borders.runs[run, GUIDE]
    start, inverse = borders.axes[run, 0], borders.axes[run, 1]
    bucket = np.uint64(first + bucket_of(start, inverse, borders.runs[run, BUCKETS], value))
    low = begin + np.uint64(guide[bucket])
    high = begin + np.uint64(guide[bucket + np.uint64(1)])
    while low + np.uint64(FEW) < high:
        middle = (low + high) >> np.uint64(1)
        if keys[middle] <= value:
            low = middle + np.uint64(1)
        else:
            high = middle
    place = low
    for _ in range(FEW):
        place += np.uint64((low < high) & (keys[low] <= value))
        low += np.uint64(1)
    return np.int64(place)

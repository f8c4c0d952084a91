"""Rows that come meet those that wait: the join of one direction, shared by all its members.

Three ways to the partners of a trigger, by what links them:

    hashed    chains of partners of one hash, the newest first; partners enter a chain when a
              trigger comes after them, so that a walk ends where the window does. The hash is of
              what must be equal, and of the cell of a point (`nearby`) where a DISTANCE has a
              bound: then a trigger walks the chains of the few cells that may be near enough
    ordered   partners in the order of their coming, cut into blocks (their age), each sorted by key
              (their proximity): a block has its matches in one piece, and blocks that are too old
              are not looked at. Several comparisons with one attribute narrow the piece
    all       whatever is in the window

A pair that satisfies all links is asked for its members at once: the bits of both rows (`sides`)
are intersected word by word, and only up to those members whose window still holds the partner:
members stand in the order of their windows, the largest first. Cost of a pair: the trigger's
non-empty words, and a store for every eight answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from watchline.joining.directions import Direction, DirectionShape, Half, Link, Member, Near
from watchline.joining.nearby import (
    SIDE,
    Apart,
    Points,
    allows,
    apart,
    buckets_around,
    buckets_of,
    reach_of,
)
from watchline.joining.sides import Side
from watchline.joining.windows import LONGEST, JoinFrame, Keys, newest_rank, partner_interval
from watchline.kernels.arrays import Integers, Mask, Small, Words
from watchline.kernels.buffers import grown
from watchline.kernels.compiled import kernel, leaf
from watchline.kernels.simd import SLACK, lowest, ones, pick_block, prefetch
from watchline.model import InRange

BLOCK = 256
# Answers that are told at once: so many as are still in the processor's cache when they are read.
CHUNK = 1 << 18
HASHED, ORDERED, EVERY = range(3)
# The comparisons that leave a partner one side: <, <=, >, >=.
NARROW = (1, 3, 4, 6)
# Bits of partners there may be at once; members that need more are probed in parts.
MOST_BYTES = 1 << 27
# Partners whose bits are asked for before they are tried.
AHEAD = 3
# Where a probe stopped: at which trigger, how many partners it has to try and how many it has
# tried, and how many partners are in chains.
AT, COUNT, TRIED, ENTERED = range(4)


class JoinedPairs(NamedTuple):
    """Rows that satisfy something together: trigger[i] and partner[i], rows of their stretches,
    with the queries ids[ends[i - 1] : ends[i]]. All is overwritten when more is asked for."""

    shape: DirectionShape
    trigger: Small
    partner: Small
    ends: Integers
    ids: Small


class Triggers(NamedTuple):
    """The rows that come: which, what they may meet, whence ages are counted, and their members."""

    row: Integers
    lo: Integers
    hi: Integers
    now: Integers
    bits: Words

    def where(self, kept: Mask) -> Triggers:
        return Triggers(
            self.row[kept], self.lo[kept], self.hi[kept], self.now[kept], self.bits[kept]
        )


class Partners(NamedTuple):
    """The rows that wait: when they came, their members, and whether they can satisfy a link."""

    then: Integers
    bits: Words
    known: Mask


class Links(NamedTuple):
    """Comparisons: keys of triggers and of partners, the orders that are allowed, and which of them
    the way to the partners sees to."""

    left: Integers
    right: Integers
    orders: Integers
    seen: Mask


class Ways(NamedTuple):
    """How partners are found: chains of hashes, or blocks sorted by key.

    left[i] are the buckets where the partners of a trigger are, each once and -1 after the last;
    right those of partners.
    """

    kind: int
    left: Small
    right: Small
    head: Small
    before: Small
    order: Small
    keys: Integers
    comparable: Integers
    band: Integers


class Members(NamedTuple):
    """The queries of members, the largest window first: upto[i] have one of sizes[i] or larger."""

    query: Small
    sizes: Integers
    upto: Integers


class Out(NamedTuple):
    """Where pairs are written: both rows, the end of each pair's queries, and the queries."""

    trigger: Small
    partner: Small
    ends: Integers
    ids: Small


class BitsDirection:
    """A direction, ready to be probed batch after batch."""

    def __init__(self, direction: Direction):
        self.shape = direction.shape
        self._listed = listed = sorted(direction.members, key=_rank)
        self._parts: list[BitsDirection] = []
        self._window = listed[0].window
        self._sides = tuple(
            Side(stream, [getattr(m, side) for m in listed])
            for stream, side in zip(self.shape.streams, ("trigger", "partner"), strict=True)
        )
        sizes = np.minimum([m.size for m in listed], LONGEST).astype(np.int64)
        distinct = -np.unique(-sizes)
        numbers = np.array([m.query for m in listed], np.int32)
        padded = np.zeros(64 * self._sides[0].words + SLACK, np.int32)
        padded[: len(numbers)] = numbers
        upto = np.searchsorted(-sizes, -distinct, side="right")
        self._members = Members(padded, distinct, upto.astype(np.int64))
        none = np.empty(0, np.int32)
        self._out = Out(none, none, np.empty(0, np.int64), none)

    def pairs(self, frame: JoinFrame) -> Iterator[JoinedPairs]:
        """What the fresh rows of the trigger's stream find."""
        words, rows = self._sides[1].words, len(frame.stretches[self.shape.streams[1]])
        if not self._parts and words > 1 and 8 * words * rows > MOST_BYTES:
            half = 64 * (words // 2)
            parts = (self._listed[:half], self._listed[half:])
            self._parts = [BitsDirection(Direction(self.shape, part)) for part in parts]
        if self._parts:
            for part in self._parts:
                yield from part.pairs(frame)
        else:
            yield from self._probed(frame)

    def _probed(self, frame: JoinFrame) -> Iterator[JoinedPairs]:
        """In the order of the triggers."""
        triggers = self._triggers(frame)
        if not len(triggers.row):
            return
        shape = self.shape
        keys = [frame.linked(shape.streams[0], a, shape.streams[1], b) for a, b, _ in shape.links]
        points = self._points(frame)
        partner = frame.stretches[shape.streams[1]]
        known = np.ones(len(partner), np.bool_)
        fit = np.ones(len(triggers.row), np.bool_)
        for left, right in keys:
            fit &= left.known[triggers.row]
            known &= right.known
        if points:
            fit &= points[0].known[triggers.row]
            known &= points[1].known
        triggers = triggers.where(fit)
        then = partner.times if shape.is_range else np.arange(len(partner))
        partners = Partners(then, self._sides[1].bits(frame).ravel(), known)
        links = _links(shape.links, keys, triggers.row, known)
        between = _between(shape.near, points, triggers.row)
        ways, links = _ways(shape, keys, links, between, known)
        room = int((triggers.hi - triggers.lo).max(initial=0))
        some = np.empty(room + SLACK, np.int32)
        state = np.array([0, 0, 0, triggers.lo.min(initial=0)], np.int64)
        while state[AT] < len(triggers.row):
            pairs, answers, *out = _probe(
                triggers, partners, links, between, ways, self._members, state, some, self._out
            )
            self._out = Out(*out)
            first, second, ends, ids = self._out
            yield JoinedPairs(shape, first[:pairs], second[:pairs], ends[:pairs], ids[:answers])

    def _points(self, frame: JoinFrame) -> tuple[Points, Points] | None:
        """Those of both streams, if distances are asked about; all are between the same points."""
        if not self.shape.near:
            return None
        left, right, _, _, on_earth = self.shape.near[0]
        of, to = self.shape.streams
        return frame.points(of, left, on_earth), frame.points(to, right, on_earth)

    def _triggers(self, frame: JoinFrame) -> Triggers:
        shape = self.shape
        trigger, partner = (frame.stretches[name] for name in shape.streams)
        rows = np.arange(trigger.fresh, len(trigger))
        if shape.death is not None:
            rows = rows[trigger.times[rows] <= shape.death]
        lo, hi = partner_interval(
            trigger, rows, partner, self._window, shape.meets_itself, shape.birth
        )
        now = trigger.times[rows] if shape.is_range else newest_rank(trigger, rows, partner)
        bits = self._sides[0].fresh_bits(frame)[rows - trigger.fresh]
        some = (lo < hi) & bits.any(axis=1)
        return Triggers(rows, lo, hi, now, bits).where(some)


def _rank(member: Member) -> tuple[Any, ...]:
    """Where a member stands: windows decide; then selections that are alike stand together, so that
    a trigger has few words, and these full."""
    ranges = (a for a in member.trigger if isinstance(a, InRange))
    first = [(a.attribute.name, a.range.lo, a.range.hi) for a in ranges][:1]
    return (-member.size, first, member.query)


def way_of(half: Half, partner: str) -> str:
    """In words: how the partners of a trigger are found. As `_ways` decides it."""
    names = [f"{partner}.{link.right.name}" for link in half.links if link.orders == 2]
    if near := _driving(half.near):
        side = f"{SIDE * near.length:.4g}{' metres' if near.on_earth else ''}"
        equal = f", equal in {', '.join(names)}" if names else ""
        return f"by cells of {side} around the point{equal}"
    if names:
        return f"by the hash of {', '.join(names)}"
    narrow = [link for link in half.links if link.orders in NARROW]
    if narrow:
        return f"in blocks sorted by {partner}.{narrow[0].right.name}"
    return "every row of the window"


def _driving(near: tuple[Near, ...]) -> Near | None:
    """The distance by which partners are found, if there is one."""
    return next((n for n in near if n.is_near and reach_of(n) < np.inf), None)


def _links(
    links: tuple[Link, ...], keys: list[tuple[Keys, Keys]], rows: Integers, known: Mask
) -> Links:
    orders = np.array([link.orders for link in links], np.int64)
    left = np.array([a.keys[rows] for a, _ in keys], np.int64).reshape(len(keys), len(rows))
    right = np.array([b.keys for _, b in keys], np.int64).reshape(len(keys), len(known))
    return Links(left, right, orders, np.zeros(len(links), np.bool_))


def _between(near: tuple[Near, ...], points: tuple[Points, Points] | None, rows: Integers) -> Apart:
    if points is None:
        return apart(near, np.empty((0, 2)), np.empty((0, 2)))
    return apart(near, points[0].at[rows], points[1].at)


def _ways(
    shape: DirectionShape,
    keys: list[tuple[Keys, Keys]],
    links: Links,
    between: Apart,
    known: Mask,
) -> tuple[Ways, Links]:
    none, few = np.empty(0, np.int32), np.empty(0, np.int64)
    nowhere = np.empty((0, 1), np.int32)
    equal = np.flatnonzero(links.orders == 2)
    narrow = np.flatnonzero(np.isin(links.orders, NARROW))
    near = _driving(shape.near)
    if len(equal) or near:
        mask = (1 << max(int(2 * len(known)).bit_length(), 4)) - 1
        of, to = _hashed(links.left[equal]), _hashed(links.right[equal])
        if near:
            reach, every = reach_of(near), np.ones(len(between.left), np.bool_)
            left = buckets_around(Points(between.left, every), reach, of, mask)
            right = buckets_of(Points(between.right, known), reach, to, mask)
        else:
            left = (of & np.uint64(mask)).astype(np.int32)[:, None]
            right = (to & np.uint64(mask)).astype(np.int32)
        head = np.full(mask + 1, -1, np.int32)
        before = np.empty(len(known), np.int32)
        return Ways(HASHED, left, right, head, before, none, few, few, few), links
    if len(narrow):
        of_link = shape.links[narrow[0]].right
        same = [i for i in narrow if shape.links[i].right == of_link]
        # Keys of strings or of mixed numbers are of one link alone.
        band = [i for i in same if keys[i][1].keys is keys[narrow[0]][1].keys]
        seen = np.zeros(len(links.orders), np.bool_)
        seen[band] = True
        order, comparable = _sorted_blocks(links.right[narrow[0]], known)
        sorted_keys = links.right[narrow[0]][order]
        by_key = Ways(
            ORDERED, nowhere, none, none, none, order, sorted_keys, comparable, np.array(band)
        )
        return by_key, links._replace(seen=seen)
    return Ways(EVERY, nowhere, none, none, none, none, few, few, few), links


def _hashed(keys: Integers) -> Words:
    found = np.zeros(keys.shape[1], np.uint64)
    for column in keys:
        found = (found ^ column.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(32)
    return found


def _sorted_blocks(keys: Integers, known: Mask) -> tuple[Small, Integers]:
    """The places of rows by block and then by key, those that cannot be compared last; and how many
    of each block can be."""
    n = len(keys)
    blocks = np.arange(n) // BLOCK
    order = np.lexsort((keys, ~known, blocks)).astype(np.int32)
    comparable = np.bincount(blocks[known], minlength=-(-n // BLOCK)).astype(np.int64)
    return order, comparable


@kernel
def _probe(
    triggers: Triggers,
    partners: Partners,
    links: Links,
    between: Apart,
    ways: Ways,
    members: Members,
    state: Integers,
    some: Small,
    out: Out,
) -> Any:
    """From where it stopped, until there are many answers: the numbers of pairs and answers, and
    the arrays they are in."""
    words = triggers.bits.shape[1]
    which, what = np.empty(words, np.int64), np.empty(words, np.uint64)
    first, second, ends, ids = out
    pairs, n = 0, 0
    while state[AT] < len(triggers.row):
        at = state[AT]
        filled = _not_empty(triggers.bits, at, which, what)
        if state[TRIED] == 0:
            state[COUNT] = _candidates(triggers, partners, links, ways, state, some)
        count = state[COUNT]
        if pairs + count > len(first):
            size = max(2 * len(first), pairs + count, 1024)
            first, second = grown(first, size, pairs), grown(second, size, pairs)
            ends = grown(ends, size, pairs)
        i = state[TRIED]
        while i < count and n < CHUNK:
            p = np.int64(some[i])
            _fetch(partners.bits, np.int64(some[min(i + AHEAD, count - 1)]), words)
            i += 1
            if not _linked(links, at, p) or not allows(between, at, p):
                continue
            if n + 64 * filled + SLACK > len(ids):
                ids = grown(ids, max(2 * len(ids), n + 64 * filled + SLACK, 1024), n)
            limit = _alive(members, triggers.now[at] - partners.then[p])
            start = p * words
            end = _answers(members.query, which, what, filled, partners.bits, start, limit, ids, n)
            if end > n:
                first[pairs], second[pairs], ends[pairs] = triggers.row[at], p, end
                pairs, n = pairs + 1, end
        state[TRIED] = i
        if i == count:
            state[AT], state[TRIED] = at + 1, 0
        if n >= CHUNK:
            break
    return pairs, n, first, second, ends, ids


@leaf()
def _fetch(bits: Words, row: int, words: int) -> None:
    """Ask for the bits of a partner that is tried soon; a line of memory has eight words."""
    for w in range(0, words, 8):
        prefetch(bits, row * words + w)


@leaf()
def _candidates(
    triggers: Triggers, partners: Partners, links: Links, ways: Ways, state: Integers, some: Small
) -> int:
    """Partners of the trigger where the probe is; how many there are."""
    at = state[AT]
    lo, hi = triggers.lo[at], triggers.hi[at]
    if ways.kind == HASHED:
        state[ENTERED] = _enter(ways, partners.known, state[ENTERED], hi)
        return _chained(ways, at, lo, some)
    if ways.kind == ORDERED:
        return _banded(ways, links, at, lo, hi, some)
    count = 0
    for p in range(lo, hi):
        some[count] = p
        count += partners.known[p]
    return count


@leaf()
def _not_empty(bits: Words, at: int, which: Integers, what: Words) -> int:
    """The words of a row that have a bit, and where they are."""
    count = 0
    for w in range(bits.shape[1]):
        which[count], what[count] = w, bits[at, w]
        count += bits[at, w] != 0
    return count


@leaf()
def _enter(ways: Ways, known: Mask, entered: int, hi: int) -> int:
    """Partners up to `hi` go to the head of their chains."""
    for p in range(entered, hi):
        if known[p]:
            bucket = ways.right[p]
            ways.before[p] = ways.head[bucket]
            ways.head[bucket] = p
    return max(entered, hi)


@leaf()
def _chained(ways: Ways, at: int, lo: int, some: Small) -> int:
    count = 0
    for k in range(ways.left.shape[1]):
        bucket = ways.left[at, k]
        if bucket < 0:
            break
        p = ways.head[bucket]
        while p >= lo:
            some[count] = p
            count += 1
            p = ways.before[p]
    return count


@leaf()
def _banded(ways: Ways, links: Links, at: int, lo: int, hi: int, some: Small) -> int:
    """Partners from `lo` to `hi` within the band of all comparisons with their key."""
    count = 0
    for block in range(lo // BLOCK, (hi - 1) // BLOCK + 1):
        start = block * BLOCK
        a, e = start, start + ways.comparable[block]
        for link in ways.band:
            key, orders = links.left[link, at], links.orders[link]
            # A partner less than the trigger is the trigger's `greater`.
            if not orders & 4:
                a = max(a, _bound(ways.keys, start, e, key, orders & 2 == 0))
            if not orders & 1:
                e = min(e, _bound(ways.keys, start, e, key, orders & 2 != 0))
        if start >= lo and start + BLOCK <= hi:
            for i in range(a, e):
                some[count] = ways.order[i]
                count += 1
        else:
            for i in range(a, e):
                p = ways.order[i]
                some[count] = p
                count += (p >= lo) & (p < hi)
    return count


@leaf()
def _bound(keys: Integers, start: int, end: int, key: int, after: bool) -> int:
    """The first place whose key is not below `key`, or is above it."""
    while start < end:
        middle = (start + end) >> 1
        if keys[middle] < key or (after and keys[middle] == key):
            start = middle + 1
        else:
            end = middle
    return start


@leaf()
def _linked(links: Links, at: int, p: int) -> bool:
    for c in range(len(links.orders)):
        if not links.seen[c]:
            a, b = links.left[c, at], links.right[c, p]
            sign = np.int64(a > b) - np.int64(a < b)
            if not (links.orders[c] >> (sign + 1)) & 1:
                return False
    return True


@leaf()
def _alive(members: Members, age: int) -> int:
    """How many members have a window that holds a partner of this age."""
    lo, hi = 0, len(members.sizes)
    while lo < hi:
        middle = (lo + hi) >> 1
        if members.sizes[middle] >= age:
            lo = middle + 1
        else:
            hi = middle
    return members.upto[lo - 1] if lo else 0


@leaf()
def _answers(
    query: Small,
    which: Integers,
    what: Words,
    filled: int,
    bits: Words,
    p: int,
    limit: int,
    ids: Small,
    n: int,
) -> np.int64:
    """The queries of the bits that both rows have, among the first `limit` members."""
    at = np.uint64(n)
    for i in range(filled):
        w = which[i]
        word = what[i] & bits[p + w]
        if 64 * w + 64 > limit:
            left = limit - 64 * w
            if left <= 0:
                break
            word &= (np.uint64(1) << np.uint64(left)) - np.uint64(1)
        if word == np.uint64(0):
            continue
        first = np.uint64(64 * w)
        if ones(word) <= 4:
            while word:
                ids[at] = query[first + np.uint64(lowest(word))]
                at += np.uint64(1)
                word &= word - np.uint64(1)
            continue
        for b in range(0, 64, 16):
            some = (word >> np.uint64(b)) & np.uint64(0xFFFF)
            pick_block(ids, at, query, first + np.uint64(b), some)
            at += np.uint64(ones(some))
    return np.int64(at)

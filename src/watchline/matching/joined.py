"""A plan of some queries of other plans, made from their boxes.

The layers of a catalog that moves on are joined this way, and queries that a version drops get a
plan of their own. No query is read or planned again: the cost is the boxes that are taken, and a
few operations for each part. Values have new codes, so that nothing refers to the plans of before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from watchline.catalog import all_ids
from watchline.kernels.arrays import Integers, Mask
from watchline.matching.draft import KeyedBoxes, PlanDraft
from watchline.matching.plan import Part, Plan, RegionPart
from watchline.model import Attribute, Emit, Stream, Type


def joined(pieces: Iterable[tuple[Plan, Integers]], stream: Stream, emit: Emit) -> Plan:
    """One plan of these queries, given as plans and sorted numbers; numbered as they come."""
    draft, version = PlanDraft(stream, apart=emit is Emit.CHANGES), 0
    for made, numbers in pieces:
        version = max(version, made.version)
        _take(draft, made, numbers)
    return draft.finish(version, all_ids([]))


def _take(draft: PlanDraft, made: Plan, numbers: Integers) -> None:
    before = draft.take_queries(made, numbers)
    boxes, of = made.boxes_of(numbers)
    counts = np.bincount(of, minlength=len(numbers))
    # Boxes that decide their query alone: it has no other box and nothing left to check.
    single = (made.residue[boxes] < 0) & (counts[of] == 1) & ~made.several[numbers[of]]
    fresh = draft.take_boxes(before + of, made, boxes)
    part_of = made.places.part[boxes]
    for number in np.unique(part_of):
        chosen = np.flatnonzero(part_of == number)
        part = made.parts[number]
        places = made.places.place[boxes[chosen]].astype(np.int64)
        groups = _groups(draft, made, part, places, fresh[chosen], single[chosen])
        if isinstance(part, RegionPart):
            for (whole, _), axes, group, mine in groups:
                # Where a region has a box besides, it does not decide its query alone.
                regions = draft.region_group(whole and not axes, axes)
                regions.add(*group)
                regions.shapes.add(part.regions.taken(places[mine]))
            continue
        for key, axes, group, _ in groups:
            draft.group(*key, axes).add(*group)


def _groups(
    draft: PlanDraft, made: Plan, part: Part, places: Integers, numbers: Integers, single: Mask
) -> Iterator[tuple[tuple[bool, Attribute | None], tuple[Attribute, ...], KeyedBoxes, Integers]]:
    """The boxes of a part by the axes that they look at, and whether they are whole; and the places
    of those of a group among these."""
    lo, hi = part.lo[:, places], part.hi[:, places]
    looks = ~np.isnan(hi)
    codes = np.full(len(places), -1)
    if part.key is not None:
        run = np.searchsorted(part.starts, places, side="right") - 1
        codes = _coded(draft, made, part.key, part.codes[run])
    for k, axis in enumerate(part.axes):
        if axis.type is Type.STRING and looks[k].any():
            lo[k, looks[k]] = _coded(draft, made, axis, lo[k, looks[k]].astype(np.int64))
            hi[k, looks[k]] = lo[k, looks[k]] + 1
    kinds, kind = np.unique(np.vstack([looks, single & draft.apart]), axis=1, return_inverse=True)
    for i, pattern in enumerate(kinds.T):
        mine = np.flatnonzero(kind.reshape(-1) == i)
        asked = np.flatnonzero(pattern[:-1])
        axes = tuple(part.axes[k] for k in asked)
        low, high = (side[np.ix_(asked, mine)].T for side in (lo, hi))
        boxes = KeyedBoxes(codes[mine], low, high, numbers[mine])
        yield (bool(pattern[-1]), part.key), axes, boxes, mine


def _coded(draft: PlanDraft, made: Plan, attribute: Attribute, codes: Integers) -> Integers:
    """The codes that these values have in the draft."""
    used, places = np.unique(codes, return_inverse=True)
    values = made.dictionaries[attribute].take(used).to_pylist()
    return np.array(draft.coded(attribute, values), np.int64)[places.reshape(-1)]

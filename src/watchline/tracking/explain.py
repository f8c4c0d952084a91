"""The plan of a query, for EXPLAIN: its boxes, where they stand, and what that costs by the model.

Only the plan is made. Costs come from the models of the indexes, which need not be built for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from watchline.catalog import Queries
from watchline.hooks import PlanLines
from watchline.matching import Part, Plan, Residue, plan
from watchline.matching.search import searched
from watchline.model import Attribute, Emit, Stream, Type
from watchline.moving.queries import Moving
from watchline.tracking.filters import candidates_that_pay, terms_of
from watchline.tracking.flips import GRID, Costs, bordered_runs

Integers = npt.NDArray[np.int64]

# Characters of a residue that are shown.
MOST = 200


def planner(queries: Queries, stream: Stream, emit: Emit) -> PlanLines:
    """Plans once; what comes back tells of each query."""
    return partial(_lines, plan(queries, stream, emit), emit, stream)


def _lines(made: Plan, emit: Emit, stream: Stream, query_id: str) -> list[str]:
    line = pc.index(made.moving.ids, query_id).as_py()
    if line >= 0:
        return _moving(made.moving, line, stream)
    boxes = np.flatnonzero(made.query == pc.index(made.ids, query_id).as_py())
    lines = []
    for part in made.parts:
        places = np.flatnonzero(np.isin(part.numbers, boxes))
        if len(places):
            lines.append(f"  planned as  {_boxes(part, places, made)}")
            residues = np.unique(made.residue[part.numbers[places]])
            lines += _checked(made.residues[r] for r in residues if r >= 0)
            lines += _place(part, places, emit)
    return lines


def _moving(queries: Moving, line: int, stream: Stream) -> list[str]:
    """A query of the shared operator, and whether its filter is asked before that or inside."""
    shape = ("", "a box that moves", "a circle that moves")[queries.form[line]]
    k = int(queries.k[line])
    nearest = f"the {k:,} nearest" if k else ""
    within = " of those in " if k and shape else ""
    lines = [
        f"  planned as  {nearest}{within}{shape}, in a grid with {_others(queries)}",
        "  decided by  " + (_KNOWN if k else _ASKED),
    ]
    number = queries.filter[line]
    if number < 0:
        return lines
    found = queries.filters[number]
    sharing = int(np.count_nonzero(queries.filter == number))
    ranges = terms_of(found, stream)
    shared = _sharing(sharing)
    if ranges is None:
        return [*lines, f"  filtered    before the operator, by the index, with {shared}"]
    count = _count(len(ranges), "range")
    lines.append(f"  filtered    inside the operator, on candidates: {count} each, with {shared}")
    share = candidates_that_pay(len(ranges)) / sharing
    if share < 1:
        lines[-1] += f"; before it, if these look at more than {share:.2%} of all objects"
    return lines


_ASKED = "asking it when an object passes its cells, and the objects there when it moves"
_KNOWN = "keeping the nearest and some more in order, and looking around when too few are left"


def _others(queries: Moving) -> str:
    return "no other query" if len(queries) == 1 else f"{len(queries) - 1:,} other queries"


def _sharing(count: int) -> str:
    return "no other query" if count == 1 else f"{count - 1:,} others that ask the same"


def _boxes(part: Part, places: Integers, made: Plan) -> str:
    asked = np.flatnonzero((~np.isnan(part.hi[:, places])).any(axis=1))
    axes = [_axis(part.axes[k]) for k in asked]
    count = "a box" if len(places) == 1 else f"{len(places):,} boxes"
    hold = "holds" if len(places) == 1 else "hold"
    text = f"{count} over {', '.join(axes)}" if axes else f"{count} that {hold} every row"
    if part.key is None:
        return text
    values = len(made.dictionaries[part.key])
    return f"{text}, below {part.key!r} with {_count(values, 'value')}"


def _axis(axis: Attribute) -> str:
    return f"{axis!r} by code" if axis.type is Type.STRING else repr(axis)


def _count(number: int, of: str) -> str:
    return f"{number:,} {of}" if number == 1 else f"{number:,} {of}s"


def _checked(residues: Iterable[Residue]) -> Iterable[str]:
    for residue in residues:
        atoms = map(repr, residue.atoms)
        region = [] if residue.region is None else [repr(residue.region)]
        text = " AND ".join([*atoms, *region])
        yield f"  then        {text if len(text) <= MOST else text[:MOST] + ' …'}, on candidates"


def _place(part: Part, places: Integers, emit: Emit) -> list[str]:
    """Where the boxes stand and how they are come to; of several runs, in the longest."""
    runs = np.unique(np.searchsorted(part.starts, places, side="right") - 1)
    run = int(runs[np.argmax(part.starts[runs + 1] - part.starts[runs])])
    size = int(part.starts[run + 1] - part.starts[run])
    if part.whole and run in bordered_runs(part):
        return _bordered(part, run, size)
    kind, cost = searched(part, run)
    lines = [f"  stands in   {kind}{_among(part, size)}"]
    if emit is Emit.MATCHES:
        return [*lines, f"  found by    one search, about {cost:,.0f} ns a row"]
    if part.whole:
        return [*lines, f"  decided by  comparing both rows of a move, about {2 * cost:,.0f} ns"]
    return [
        *lines,
        f"  decided by  two stabs and their difference, about {2 * cost:,.0f} ns a move",
    ]


def _bordered(part: Part, run: int, size: int) -> list[str]:
    costs = Costs(part, run)
    lines = [
        f"  stands in   border lists{_among(part, size)}",
        "  decided by  what is cheapest for a batch:",
        f"              crossings, about {costs.ranks:,.0f} ns a move and"
        f" {costs.entry:,.0f} for each border between",
    ]
    if costs.grid is not None:
        cells = f"{costs.grid.x.strips:,} × {costs.grid.y.strips:,}"
        lines.append(
            f"              a grid of {cells}, about {costs.of(0)[GRID]:,.0f} ns a move and"
            f" {costs.nearby:.2g} for each border between"
        )
    kind = costs.index[0]
    lines.append(f"              two stabs of a {kind}, about {costs.stabs:,.0f} ns a move")
    return lines


def _among(part: Part, size: int) -> str:
    others = "no other box" if size == 1 else "1 other box" if size == 2 else f"{size - 1:,} others"
    of_its_value = "" if part.key is None else " of its value"
    return f" of {_count(len(part.axes), 'dimension')} with {others}{of_its_value}"

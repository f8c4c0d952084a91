"""The plan of a query, for EXPLAIN: its boxes, where they stand, and what that costs by the model.

Only the plan is made. Costs come from the models of the indexes, which need not be built for it.
Where queries are many, the plan is that of a sample, and the text says so (`sampling.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from watchline.catalog import Queries
from watchline.hooks import PlanLines
from watchline.matching import Part, Plan, Residue, likely_plan, plan
from watchline.matching.search import searched
from watchline.model import Attribute, Emit, Stream, Type, shortened
from watchline.moving.queries import Moving
from watchline.tracking.filters import candidates_that_pay, terms_of
from watchline.tracking.flips import GRID, Costs, bordered_runs
from watchline.tracking.sampling import are_few, sample_beside

Integers = npt.NDArray[np.int64]

# Characters of a residue that are shown.
MOST = 200


@dataclass(frozen=True)
class Scale:
    """How the numbers of a plan relate to those of all queries: a sample's are multiplied."""

    times: int = 1
    # Whether the plan has all queries.
    exact: bool = True

    def count(self, number: int, one: str, many: str) -> str:
        """So many things beside the query, in words; of a sample, in round numbers."""
        if self.times == 1:
            return (
                f"no {one}" if not number else f"1 {one}" if number == 1 else f"{number:,} {many}"
            )
        if not number:
            return f"few {many} or none"
        unit = 10 ** max(0, math.floor(math.log10(number)) - 1)
        return f"about {round(number / unit) * unit:,} {many}"


def planner(queries: Queries, stream: Stream, emit: Emit) -> PlanLines:
    """Gives the lines of each query. All queries are planned once if they are few."""
    if are_few(queries):
        made = plan(queries, stream, emit)
        return lambda query_id: _lines(made, emit, stream, query_id, Scale())
    return lambda query_id: _likely_lines(queries, stream, emit, query_id)


def _likely_lines(queries: Queries, stream: Stream, emit: Emit, query_id: str) -> list[str]:
    sample = sample_beside(queries[query_id], queries, stream)
    # The query itself and boxes, which are columns already, stand for nothing but themselves.
    own = {query_id: queries.entries[query_id]} if query_id in queries.entries else {}
    known = Queries(queries.version, own, queries.blocks)
    made = likely_plan(sample.queries, sample.times, known, stream, emit)
    lines = _lines(made, emit, stream, query_id, Scale(sample.times, exact=False))
    return [*lines, estimated(sample.queries, queries)]


def estimated(sample: Queries, queries: Queries) -> str:
    """The line that says how many of the queries registered as SQL were looked at."""
    return f"  estimated   from {len(sample) + 1:,} of {len(queries.entries):,} queries"


def _lines(made: Plan, emit: Emit, stream: Stream, query_id: str, scale: Scale) -> list[str]:
    line = pc.index(made.moving.ids, query_id).as_py()
    if line >= 0:
        return _moving(made.moving, line, stream, scale)
    boxes = np.flatnonzero(made.query == pc.index(made.ids, query_id).as_py())
    lines = []
    for part in made.parts:
        places = np.flatnonzero(np.isin(part.numbers, boxes))
        if len(places):
            lines.append(f"  planned as  {_boxes(part, places, made, scale)}")
            residues = np.unique(made.residue[part.numbers[places]])
            lines += _checked(made.residues[r] for r in residues if r >= 0)
            lines += _place(part, places, emit, scale)
    return lines


def _moving(queries: Moving, line: int, stream: Stream, scale: Scale) -> list[str]:
    """A query of the shared operator, and whether its filter is asked before that or inside."""
    shape = ("", "a box that moves", "a circle that moves")[queries.form[line]]
    k = int(queries.k[line])
    nearest = f"the {k:,} nearest" if k else ""
    within = " of those in " if k and shape else ""
    others = scale.count((len(queries) - 1) * scale.times, "other query", "other queries")
    lines = [
        f"  planned as  {nearest}{within}{shape}, in a grid with {others}",
        "  decided by  " + (_KNOWN if k else _ASKED),
    ]
    number = queries.filter[line]
    if number < 0:
        return lines
    found = queries.filters[number]
    alike = (int(np.count_nonzero(queries.filter == number)) - 1) * scale.times
    ranges = terms_of(found, stream)
    shared = scale.count(alike, "other query", "others that ask the same")
    if ranges is None:
        return [*lines, f"  filtered    before the operator, by the index, with {shared}"]
    count = _count(len(ranges), "range")
    lines.append(f"  filtered    inside the operator, on candidates: {count} each, with {shared}")
    share = candidates_that_pay(len(ranges)) / (alike + 1)
    if share < 1:
        lines[-1] += f"; before it, if these look at more than {share:.2%} of all objects"
    return lines


_ASKED = "asking it when an object passes its cells, and the objects there when it moves"
_KNOWN = "keeping the nearest and some more in order, and looking around when too few are left"


def _boxes(part: Part, places: Integers, made: Plan, scale: Scale) -> str:
    asked = np.flatnonzero((~np.isnan(part.hi[:, places])).any(axis=1))
    axes = [_axis(part.axes[k]) for k in asked]
    count = "a box" if len(places) == 1 else f"{len(places):,} boxes"
    hold = "holds" if len(places) == 1 else "hold"
    text = f"{count} over {', '.join(axes)}" if axes else f"{count} that {hold} every row"
    if part.key is None:
        return text
    text = f"{text}, below {part.key!r}"
    # A sample does not know how many other values there are.
    values = f" with {_count(len(made.dictionaries[part.key]), 'value')}"
    return text + values if scale.exact else text


def _axis(axis: Attribute) -> str:
    return f"{axis!r} by code" if axis.type is Type.STRING else repr(axis)


def _count(number: int, of: str) -> str:
    return f"{number:,} {of}" if number == 1 else f"{number:,} {of}s"


def _checked(residues: Iterable[Residue]) -> Iterable[str]:
    for residue in residues:
        atoms = map(repr, residue.atoms)
        region = [] if residue.region is None else [repr(residue.region)]
        text = " AND ".join([*atoms, *region])
        yield f"  then        {shortened(text, MOST)}, on candidates"


def _place(part: Part, places: Integers, emit: Emit, scale: Scale) -> list[str]:
    """Where the boxes stand and how they are come to; of several runs, in the longest."""
    runs = np.unique(np.searchsorted(part.starts, places, side="right") - 1)
    run = int(runs[np.argmax(part.starts[runs + 1] - part.starts[runs])])
    size = int(part.starts[run + 1] - part.starts[run])
    if part.whole and run in bordered_runs(part):
        return _bordered(part, run, _among(part, size, scale))
    kind, cost = searched(part, run)
    lines = [f"  stands in   {kind}{_among(part, size, scale)}"]
    if emit is Emit.MATCHES:
        return [*lines, f"  found by    one search, about {cost:,.0f} ns a row"]
    if part.whole:
        return [*lines, f"  decided by  comparing both rows of a move, about {2 * cost:,.0f} ns"]
    return [
        *lines,
        f"  decided by  two stabs and their difference, about {2 * cost:,.0f} ns a move",
    ]


def _bordered(part: Part, run: int, among: str) -> list[str]:
    costs = Costs(part, run)
    lines = [
        f"  stands in   border lists{among}",
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


def _among(part: Part, size: int, scale: Scale) -> str:
    others = scale.count(size - 1, "other box", "others")
    of_its_value = "" if part.key is None else " of its value"
    return f" of {_count(len(part.axes), 'dimension')} with {others}{of_its_value}"

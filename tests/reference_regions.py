"""The exact oracle of regions: with rational numbers nothing is rounded.

Nothing is imported from the package under test. `tests/reference.py` has the fixed formulas, which
round; the two agree on all points that are no closer to a border than rounding goes, and on those
for which every step of the formulas is exact.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

from tests import reference

Vertices = list[tuple[float, float]]


def exactly_inside(rings: list[Vertices], x: float, y: float) -> bool:
    """Even-odd over the edges of all rings; the left and the lower border belong to it."""
    px, py, odd = Fraction(x), Fraction(y), False
    for each in rings:
        corners = [(Fraction(a), Fraction(b)) for a, b in each]
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            (xl, yl), (xu, yu) = (a, b) if a[1] <= b[1] else (b, a)
            odd ^= yl <= py < yu and px < xl + (py - yl) / (yu - yl) * (xu - xl)
    return odd


def square_from(ends: tuple[Any, Any], x: float, y: float) -> Fraction:
    """The exact square of the distance from a segment."""
    (ax, ay), (bx, by) = (tuple(map(Fraction, end)) for end in ends)
    px, py, ex, ey = Fraction(x) - ax, Fraction(y) - ay, bx - ax, by - ay
    length = ex * ex + ey * ey
    part = min(max((px * ex + py * ey) / length, Fraction(0)), Fraction(1)) if length else 0
    return (px - part * ex) ** 2 + (py - part * ey) ** 2


def holds_point(region: tuple[Any, ...], x: float, y: float) -> bool:
    """Whether a region as `tests/reference.py` writes it holds a finite point."""
    kind, *parts = region
    if kind == "polygon":
        return exactly_inside(parts[0], x, y)
    if kind == "corridor":
        lines, reach = parts
        segments = (ends for line in lines for ends in itertools.pairwise(line))
        return any(square_from(ends, x, y) <= Fraction(reach) ** 2 for ends in segments)
    if kind == "circle":
        cx, cy, radius = parts
        return square_from(((cx, cy), (cx, cy)), x, y) <= Fraction(radius) ** 2
    assert kind == "box"
    x1, y1, x2, y2 = parts
    return bool(x1 <= x < x2 and y1 <= y < y2)


def truth(condition: tuple[Any, ...], row: dict[str, Any]) -> bool | None:
    """Kleene's logic over regions; whatever is no region is left to `tests/reference.py`."""
    kind, *parts = condition
    if kind == "inside":
        x, y = (reference.value_of(part, row) for part in parts[1:])
        known = reference.is_finite(x) and reference.is_finite(y)
        return holds_point(parts[0], x, y) if known else None
    if kind not in ("and", "or", "not"):
        return reference.truth(condition, row)
    values = [truth(part, row) for part in parts]
    if kind == "not":
        return reference.kleene_not(values[0])
    return reference.kleene_and(values) if kind == "and" else reference.kleene_or(values)

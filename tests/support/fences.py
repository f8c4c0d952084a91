"""Polygons with holes and parts, circles and boxes for scripts, and places on their borders.

A region is a tree of tests/reference.py. Polygons are written as SQL by their parts, which are
shells with holes: the oracle needs no more than the rings.
"""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from tests.support.strategies import region_sql

Ring = tuple[tuple[float, float], ...]
# Shells with their holes.
Parts = tuple[tuple[Ring, ...], ...]

SQUARE: Ring = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))
FRAME: Ring = ((-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0))
STAR: Ring = ((0.0, 3.0), (0.5, 0.5), (3.0, 0.0), (0.5, -0.5), (0.0, -3.0), (-0.5, -0.5),
              (-3.0, 0.0), (-0.5, 0.5))  # fmt: skip
SLANTED: Ring = ((-1.0, 0.1), (0.1, -1.0), (1.0, 0.1), (0.1, 1.0))
SLIVER: Ring = ((0.0, 0.0), (1e300, 1.0), (1e300, 2.0))
SPECK: Ring = ((0.0, 0.0), (1e-300, 0.0), (5e-301, 1e-300))
WIDE: Ring = ((-1e300, -1e300), (1e300, -1e300), (1e300, 1e300))
FAR: Ring = ((5.0, 5.0), (6.0, 5.0), (5.5, 6.0))
ISLAND: Ring = ((-1.5, -0.5), (1.5, -0.5), (0.0, 1.5))

POLYGONS: list[Parts] = [
    ((SQUARE,),), ((STAR,),), ((SLANTED,),), ((SLIVER,),), ((SPECK,),), ((WIDE,),),
    ((FRAME, SLANTED),), ((FRAME, STAR[::-1]),), ((SQUARE,), (FAR,)), ((FRAME, SQUARE), (FAR,)),
    (((*FRAME[:2], (0.0, 0.0), *FRAME[2:]),), (FAR,)), ((FRAME, ISLAND), (SPECK,)),
]  # fmt: skip

corners = [-3.0, -1.0, 0.0, 0.1, 0.5, 1.0, 2.0, 3.0]
sides = st.sampled_from(corners)
fences = st.one_of(
    st.sampled_from(POLYGONS).map(lambda parts: ("polygon", [r for p in parts for r in p], parts)),
    st.tuples(st.just("circle"), sides, sides, st.sampled_from([0.5, 1.0, 2.0, 1e-170, 1e200])),
    st.tuples(st.just("box"), sides, sides, sides, sides).filter(
        lambda box: box[1] != box[3] and box[2] != box[4]
    ),
)
# Vertices, borders, and what is an ulp away from them.
places = st.one_of(
    sides,
    sides,
    st.sampled_from([w for v in corners for w in (math.nextafter(v, 9), math.nextafter(v, -9))]),
    st.sampled_from([1e-300, 5e-301, -1e-300, 1e300, -1e300, 5e-324, 5.5, 6.0, -0.0]),
)


def tree_of(fence: tuple[Any, ...]) -> tuple[Any, ...]:
    """The region as the oracle has it."""
    return fence[:2] if fence[0] == "polygon" else fence


def fence_sql(fence: tuple[Any, ...]) -> str:
    """The clause of a query."""
    if fence[0] != "polygon":
        return region_sql(fence)
    parts = [", ".join(_ring_sql(ring) for ring in part) for part in fence[2]]
    if len(parts) == 1:
        return f"INSIDE POLYGON 'POLYGON ({parts[0]})'"
    return f"INSIDE POLYGON 'MULTIPOLYGON ({', '.join(f'({part})' for part in parts)})'"


def _ring_sql(ring: Ring) -> str:
    return "(" + ", ".join(f"{x!r} {y!r}" for x, y in [*ring, ring[0]]) + ")"

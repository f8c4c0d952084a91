"""Whether the changes lead to the true answers, by brute force on the last positions.

The ledger is replayed: a pair of a query and a vehicle is in the answer if its signs add up to one.
The truth shares no code with Watchline: each query looks at each vehicle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from examples.standing import Ask
from watchline.kernels.arrays import Mask

Answers = dict[str, set[int]]


class Disagreement(Exception):
    """A replayed answer is not the true one."""


# Metres of a degree, and the mean and the two radii of the Earth.
DEGREE, MEAN, EQUATOR, POLAR = 111_195.08, 6_371_008.8, 6_378_137.0, 6_356_752.314245179


class Fleet(NamedTuple):
    """The vehicles that are there, as columns; on Earth x is a longitude and y a latitude."""

    ids: npt.NDArray[np.int64]
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    kinds: npt.NDArray[np.object_]
    on_earth: bool = False

    def place(self, vehicle: int) -> tuple[float, float] | None:
        found = np.flatnonzero(self.ids == vehicle)
        return (float(self.x[found[0]]), float(self.y[found[0]])) if len(found) else None


def last_positions(ticks: Sequence[pa.Table], timeout: float) -> Fleet:
    """The last row of each vehicle that was not silent for longer than the time-out, in seconds."""
    rows = pa.concat_tables(ticks).sort_by("ts")
    ids = rows["id"].to_numpy()
    times = rows["ts"].cast(pa.int64()).to_numpy()
    # The last of each id is the first when read from the end.
    _, back = np.unique(ids[::-1], return_index=True)
    last = len(ids) - 1 - back
    last = last[times[last] + timeout * 1e6 >= times.max()]
    on_earth = "lon" in rows.column_names
    names = ("lon", "lat", "kind") if on_earth else ("x", "y", "kind")
    x, y, kinds = (rows[name].to_numpy()[last] for name in names)
    return Fleet(ids[last], x, y, kinds, on_earth)


def replay(changes: pa.Table) -> Answers:
    """The answers that the changes lead to; empty ones are left out."""
    pairs = changes.group_by(["query_id", "object_id"]).aggregate([("sign", "sum")])
    sums = pairs["sign_sum"]
    if not pc.all(pc.is_in(sums, value_set=pa.array([0, 1], sums.type))).as_py():
        raise Disagreement("an object entered an answer twice, or left one it was not in")
    inside = pairs.filter(pc.equal(sums, 1))
    answers: Answers = {}
    for query, vehicle in zip(
        inside["query_id"].to_pylist(), inside["object_id"].to_pylist(), strict=True
    ):
        answers.setdefault(query, set()).add(vehicle)
    return answers


class Ledger:
    """Answers that follow the changes one by one."""

    def __init__(self) -> None:
        self.answers: Answers = {}

    def follow(self, changes: pa.Table) -> None:
        columns = (changes[name].to_pylist() for name in ("query_id", "object_id", "sign"))
        for query, vehicle, sign in zip(*columns, strict=True):
            inside = self.answers.setdefault(query, set())
            if (vehicle in inside) == (sign > 0):
                twice = "entered it twice" if sign > 0 else "left it, but was not in it"
                raise Disagreement(f"{query}: vehicle {vehicle} {twice}")
            (inside.add if sign > 0 else inside.remove)(vehicle)


def answer(ask: Ask, fleet: Fleet) -> set[int]:
    """The true answer: nothing while the focal object is gone, and never the focal object."""
    wanted = np.ones(len(fleet.ids), dtype=np.bool_)
    centre = None
    if ask.kind is not None:
        wanted &= fleet.kinds == ask.kind
    if ask.focal is not None:
        centre = fleet.place(ask.focal)
        if centre is None:
            return set()
        wanted &= fleet.ids != ask.focal
    if ask.form == "nearest":
        return _nearest(ask, fleet, wanted, centre or ask.numbers[1:])
    return set(fleet.ids[wanted & _inside(ask, fleet, centre)].tolist())


def _nearest(ask: Ask, fleet: Fleet, wanted: Mask, centre: tuple[float, ...]) -> set[int]:
    ids, apart = fleet.ids[wanted], _square(fleet, *centre)[wanted]
    return set(ids[np.lexsort((ids, apart))[: ask.k]].tolist())


def _square(fleet: Fleet, x: float, y: float) -> npt.NDArray[np.float64]:
    if fleet.on_earth:
        there, here = _vectors(fleet.x, fleet.y), _vectors(np.array([x]), np.array([y]))
        return np.asarray(((there - here) ** 2).sum(axis=1))
    dx, dy = fleet.x - x, fleet.y - y
    return dx * dx + dy * dy


def _vectors(lon: npt.NDArray[np.float64], lat: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Places of the ellipsoid in metres from its centre, by the reduced latitude."""
    theta, beta = np.radians(lon), np.arctan(POLAR / EQUATOR * np.tan(np.radians(lat)))
    out = EQUATOR * np.cos(beta)
    return np.stack([out * np.cos(theta), out * np.sin(theta), POLAR * np.sin(beta)], axis=1)


def _inside(ask: Ask, fleet: Fleet, centre: tuple[float, float] | None) -> Mask:
    numbers = ask.numbers
    if ask.rings:
        odd = [_in_polygon(fleet, tuple(n for place in ring for n in place)) for ring in ask.rings]
        return np.asarray(np.logical_xor.reduce(odd))
    if ask.form == "polygon":
        return _in_polygon(fleet, numbers)
    if ask.form == "circle":
        x, y, r = numbers if centre is None else (*centre, *numbers)
        if fleet.on_earth:
            r = 2 * MEAN * math.sin(r / (2 * MEAN))
        return _square(fleet, x, y) <= r * r
    if centre is not None:
        (x, y), (width, height) = centre, numbers
        if fleet.on_earth:
            width, height = width / (DEGREE * math.cos(math.radians(y))), height / DEGREE
        numbers = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    x1, y1, x2, y2 = numbers
    return (x1 <= fleet.x) & (fleet.x < x2) & (y1 <= fleet.y) & (fleet.y < y2)


def _in_polygon(fleet: Fleet, numbers: tuple[float, ...]) -> Mask:
    """Inside if a ray to the right crosses an odd number of edges."""
    odd = np.zeros(len(fleet.ids), dtype=np.bool_)
    corners = [*zip(numbers[::2], numbers[1::2], strict=True)]
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        (xl, yl), (xu, yu) = (a, b) if a[1] <= b[1] else (b, a)
        if yl < yu:
            meets = xl + (fleet.y - yl) / (yu - yl) * (xu - xl)
            odd ^= (yl <= fleet.y) & (fleet.y < yu) & (fleet.x < meets)
    return odd


def check(asks: Iterable[Ask], answers: Answers, fleet: Fleet) -> int:
    """Compare all answers with the true ones; how many vehicles are in them."""
    total = 0
    for ask in asks:
        found, true = answers.get(ask.id, set()), answer(ask, fleet)
        if found != true:
            raise Disagreement(
                f"{ask.statement}\n  missing: {sorted(true - found)}, not in it:"
                f" {sorted(found - true)}"
            )
        total += len(true)
    return total

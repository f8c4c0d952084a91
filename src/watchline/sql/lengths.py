"""Lengths and speeds with their units: `500 METERS`, `0.5 MI`, `90 KILOMETERS PER HOUR`.

Clauses and conditions that take a length call `length`, those that take a speed `speed`. A plain
number counts metres on Earth and what the coordinates count on a plane, where units are refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from sqlglot import exp

from watchline.model import nearest_double
from watchline.names import listing
from watchline.sql.constants import constant, given
from watchline.sql.syntax import Measure, Place, built, place_of

# How a unit may be written, and what it is called here.
UNITS = {
    **dict.fromkeys(("METER", "METERS", "METRE", "METRES", "M"), "METERS"),
    **dict.fromkeys(("KILOMETER", "KILOMETERS", "KILOMETRE", "KILOMETRES", "KM"), "KILOMETERS"),
    **dict.fromkeys(("MILE", "MILES", "MI"), "MILES"),
    **dict.fromkeys(("FOOT", "FEET", "FT"), "FEET"),
}
# In metres, and in metres per second.
LENGTHS = {
    "METERS": Fraction(1),
    "KILOMETERS": Fraction(1000),
    "MILES": Fraction("1609.344"),
    "FEET": Fraction("0.3048"),
}
SPEEDS = {
    "METERS PER SECOND": Fraction(1),
    "KILOMETERS PER HOUR": Fraction(1000, 3600),
    "MILES PER HOUR": Fraction("1609.344") / 3600,
    "FEET PER SECOND": Fraction("0.3048"),
}
_OTHER_SPEEDS = {
    "MPH": "MILES PER HOUR",
    **dict.fromkeys(("KMH", "KPH", "KMPH"), "KILOMETERS PER HOUR"),
    "MPS": "METERS PER SECOND",
    "FPS": "FEET PER SECOND",
}


def meant_speed(word: str) -> str | None:
    """How a speed is written here that has a short name elsewhere."""
    return _OTHER_SPEEDS.get(word)


class Surface(NamedTuple):
    """What lengths are measured on: a stream, and whether its points are on Earth."""

    stream: str
    on_earth: bool


def length(node: exp.Expr, around: Place, surface: Surface) -> float:
    """The length that an expression says: metres on Earth, a plain number on a plane."""
    return _measured(node, around, surface, LENGTHS, "a length")


def speed(node: exp.Expr, around: Place, surface: Surface) -> float:
    """The speed that an expression says: metres per second on Earth, else a plain number."""
    return _measured(node, around, surface, SPEEDS, "a speed")


def is_measure(node: exp.Expr) -> bool:
    """Whether an expression is a number with a unit, perhaps in parentheses or with a sign."""
    while isinstance(node, (exp.Paren, exp.Neg)):
        node = node.this
    return isinstance(node, Measure)


def _measured(
    node: exp.Expr, around: Place, surface: Surface, units: dict[str, Fraction], what: str
) -> float:
    sign, measure = 1, node
    while isinstance(measure, (exp.Paren, exp.Neg)):
        sign = -sign if isinstance(measure, exp.Neg) else sign
        measure = measure.this
    place = place_of(node, around)
    if not isinstance(measure, Measure):
        value = given(node, around)
        if not isinstance(value, Fraction):
            place.refuse("expected a number")
        return built(place, lambda: nearest_double(value))
    _check_on_earth(measure, place, surface)
    name = measure.unit
    if name not in units:
        place.refuse(f"{what} is in {listing(units)}, not in {name}")
    number = constant(measure.this, around)
    assert isinstance(number, Fraction)
    return built(place, lambda: nearest_double(sign * number * units[name]))


def _check_on_earth(measure: Measure, place: Place, surface: Surface) -> None:
    if not surface.on_earth:
        place.refuse(
            f"a unit needs a place on Earth, and the point of stream {surface.stream!r} is one of a"
            " plane: declare the point AS GEOGRAPHY, or leave the unit out"
        )

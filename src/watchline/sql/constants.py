"""Constants and constant arithmetic, exactly.

Numbers are fractions until the type of the attribute they meet is known, so `0.1 + 0.2` is 0.3 and
`9007199254740993` stays itself beside a BIGINT; they are rounded once, at the end, for a DOUBLE.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Union

from sqlglot import exp

from watchline.model import YEAR_1, YEAR_9999, micros_of, nearest_double
from watchline.sql.syntax import Measure, Place, built, place_of

# Beyond float64 in either direction by a good margin; more would only let a text cost time.
MAX_EXPONENT = 400
MAX_BITS = 8_192
MAX_DIGITS = 1_000


@dataclass(frozen=True, slots=True)
class Moment:
    """A TIMESTAMP constant, in microseconds since 1970."""

    micros: int


@dataclass(frozen=True, slots=True)
class Null:
    """The constant NULL."""


Constant = Union[Fraction, str, bool, Moment, Null]

ARITHMETIC: dict[type[exp.Expr], Callable[[Fraction, Fraction], Fraction]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}


def constant(node: exp.Expr, around: Place) -> Constant | None:
    """The value of a constant expression; None if it is not constant."""
    if isinstance(node, exp.Paren):
        return constant(node.this, around)
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else _number(node, around)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        return Null()
    if isinstance(node, Measure):
        place_of(node, around).refuse(
            f"{node.unit} has no place here: a unit goes with a length or a speed that is one"
            " plain number"
        )
    if isinstance(node, exp.Neg):
        value = constant(node.this, around)
        return None if value is None else -_operand(value, node, around)
    if type(node) in ARITHMETIC:
        return _arithmetic(node, around)
    if isinstance(node, exp.Cast) and node.to.this in (exp.DType.TIMESTAMP, exp.DType.DATE):
        if node.to.expressions:
            place_of(node, around).refuse("a TIMESTAMP has microseconds: it takes no precision")
        value = constant(node.this, around)
        return moment(value, place_of(node, around)) if isinstance(value, str) else None
    return None


def given(node: exp.Expr, around: Place) -> Constant:
    """The value of an expression that must be constant."""
    value = constant(node, around)
    if value is None:
        place_of(node, around).refuse("expected a constant")
    return value


def double(node: exp.Expr, around: Place) -> float:
    """The float64 nearest to a constant, which must be a number."""
    value = given(node, around)
    if not isinstance(value, Fraction):
        place_of(node, around).refuse("expected a number")
    return built(place_of(node, around), lambda: nearest_double(value))


def whole(node: exp.Expr, around: Place, what: str, limit: int = 2**31 - 1) -> int:
    """A constant that must be a whole number; `what` says in errors what it is."""
    value = given(node, around)
    if (
        not isinstance(value, Fraction)
        or value.denominator != 1
        or not -limit - 1 <= value <= limit
    ):
        place_of(node, around).refuse(f"{what} must be a whole number within ±{limit:,}")
    return int(value)


_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?"
    r" ?(Z|[+-]\d\d(?::?\d\d)?)?"
)


def moment(text: str, place: Place) -> Moment:
    """A time in ISO 8601, UTC where it names no zone."""
    found = _TIME.fullmatch(text.strip())
    try:
        if not found:
            raise ValueError("not a time")
        *whole, fraction, zone = found.groups()
        numbers = [int(part or 0) for part in whole]
        micros = int((fraction or "").ljust(6, "0"))
        value = micros_of(datetime(*numbers, micros, tzinfo=_zone(zone)))  # type: ignore[misc, arg-type]
        if not YEAR_1 <= value <= YEAR_9999:
            raise ValueError("outside the calendar")
    except (ValueError, OverflowError) as error:
        place.refuse(
            "expected a time such as '2026-03-01 12:30:00' or '2026-03-01T12:30:00.25+01:00',"
            f" found {text[:40]!r}",
            error,
        )
    return Moment(value)


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return timezone.utc
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def _number(literal: exp.Literal, around: Place) -> Fraction:
    if len(literal.this) > MAX_DIGITS:
        place_of(literal, around).refuse(f"the number has more than {MAX_DIGITS:,} digits")
    try:
        value = Decimal(literal.this)
    except InvalidOperation:
        place_of(literal, around).refuse(f"expected a number, found {literal.this[:40]!r}")
    if abs(value.adjusted()) > MAX_EXPONENT and value:
        place_of(literal, around).refuse(
            f"the number is beyond what Watchline compares (10^±{MAX_EXPONENT})"
        )
    return Fraction(value) if value else Fraction(0)


def _arithmetic(node: exp.Expr, around: Place) -> Fraction | None:
    left, right = constant(node.this, around), constant(node.expression, around)
    if left is None or right is None:
        return None
    a, b = _operand(left, node, around), _operand(right, node, around)
    if isinstance(node, exp.Div) and not b:
        place_of(node, around).refuse("division by zero")
    value = ARITHMETIC[type(node)](a, b)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        place_of(node, around).refuse("the constant needs more digits than Watchline computes with")
    return value


def _operand(value: Constant, node: exp.Expr, around: Place) -> Fraction:
    if not isinstance(value, Fraction):
        place_of(node, around).refuse("arithmetic needs numbers on both sides")
    return value

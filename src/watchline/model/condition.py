"""Conditions: typed attributes, half-open ranges, atoms, and their disjunctive normal form.

A condition is a tuple of `Conjunction`s, true when one of them is. A conjunction holds at most one
atom per attribute, one comparison per pair of attributes and one atom per region, so it is a box
over the ordered attributes, plus sets over the others, plus what needs refinement. Every atom but
`IsNull` is false for a missing value, which makes SQL's three-valued WHERE come out right without a
third value (docs/decisions/0002).

Ranges are half-open everywhere. On DOUBLE attributes the bounds are float64; on BIGINT and
TIMESTAMP (microseconds since 1970, UTC) they are exact integers. An infinite bound is no bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any, Union

from watchline.errors import InvalidRange
from watchline.model.region import StaticRegion, region_sql
from watchline.model.text import name_sql, number_sql, scalar_sql, shortened, timestamp_sql

INF = math.inf
MAX_DOUBLE = 1.7976931348623157e308
MIN_BIGINT, MAX_BIGINT = -(2**63), 2**63 - 1

Bound = Union[int, float]
Scalar = Union[str, bool]


class Type(str, Enum):
    """The type of an attribute."""

    DOUBLE = "DOUBLE"
    BIGINT = "BIGINT"
    STRING = "STRING"
    BOOLEAN = "BOOLEAN"
    TIMESTAMP = "TIMESTAMP"

    @property
    def ordered(self) -> bool:
        """Whether `<` is defined: these attributes become axes of an index."""
        return self in (Type.DOUBLE, Type.BIGINT, Type.TIMESTAMP)

    def __repr__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, repr=False)
class Range:
    """`[lo, hi)`. Float bounds for DOUBLE, integers for BIGINT and TIMESTAMP, ±inf for none."""

    lo: Bound = -INF
    hi: Bound = INF

    def __post_init__(self) -> None:
        # `not <` also refuses NaN, which compares false with everything; below -MAX_DOUBLE there
        # is only -inf, and only finite values are ever compared.
        if not self.lo < self.hi or self.hi <= -MAX_DOUBLE:
            raise InvalidRange(
                f"a range needs lo < hi, not [{self.lo}, {self.hi}): it would hold no value"
            )
        # -0.0 equals 0.0 but prints and hashes its own way in bytes: keep one zero.
        object.__setattr__(self, "lo", self.lo + 0 if self.lo == 0 else self.lo)
        object.__setattr__(self, "hi", self.hi + 0 if self.hi == 0 else self.hi)

    def __contains__(self, value: Bound) -> bool:
        return self.lo <= value < self.hi

    def __repr__(self) -> str:
        return f"[{self.lo}, {self.hi})"


def range_where(op: str, value: Fraction, of: Type) -> Range | None:
    """The values v of type `of` with `v op value`, as a half-open range; None if there are none.

    For DOUBLE the constant is rounded to the nearest float64 first, as SQL engines do, and strict
    or closed ends move to the neighbouring float. For integers the constant stays exact: `n > 40.5`
    starts at 41.
    """
    return _double_range(op, value) if of is Type.DOUBLE else _integer_range(op, value)


def _double_range(op: str, value: Fraction) -> Range | None:
    constant = nearest_double(value)
    above = math.nextafter(constant, INF)
    lo = {">=": constant, "=": constant, ">": above}.get(op, -INF)
    hi = {"<": constant, "<=": above, "=": above}.get(op, INF)
    # [-inf, -MAX) and [inf, inf) hold no finite number, and no other number is ever compared.
    return Range(lo, hi) if lo < hi and hi > -MAX_DOUBLE else None


def nearest_double(value: Fraction) -> float:
    """The float64 nearest to an exact number, refused beyond the range of DOUBLE."""
    try:
        constant = float(value)
    except OverflowError:
        constant = INF
    if math.isinf(constant):
        raise InvalidRange("the number is beyond the range of DOUBLE (about ±1.8e308)")
    return constant + 0.0


def _integer_range(op: str, value: Fraction) -> Range | None:
    floor, ceiling = math.floor(value), math.ceil(value)
    if op == "=" and floor != ceiling:
        return None
    lo: Bound = {">=": ceiling, "=": ceiling, ">": floor + 1}.get(op, -INF)
    hi: Bound = {"<": ceiling, "<=": floor + 1, "=": floor + 1}.get(op, INF)
    if lo > MAX_BIGINT or hi <= MIN_BIGINT:
        return None
    return Range(-INF if lo <= MIN_BIGINT else lo, INF if hi > MAX_BIGINT else hi)


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Attribute:
    """A typed attribute; in a join also the alias of the stream it belongs to.

    `derived` attributes are in no row: an engine computes them. There is one, `SPEED`.
    """

    name: str
    type: Type
    alias: str = ""
    derived: bool = False

    def __repr__(self) -> str:
        return (
            f"{name_sql(self.alias)}.{name_sql(self.name)}" if self.alias else name_sql(self.name)
        )

    @property
    def key(self) -> tuple[str, str]:
        return (self.alias, self.name)


# How far an object has gone from its row before to this one, over the time between them.
SPEED = Attribute("SPEED", Type.DOUBLE, derived=True)


@dataclass(frozen=True, slots=True, repr=False)
class InRange:
    """The attribute is a finite number within the range."""

    attribute: Attribute
    range: Range

    def __repr__(self) -> str:
        lo, hi = self.range.lo, self.range.hi
        last = self._below(hi)
        if lo == last:
            return f"{self.attribute!r} = {self._constant(lo)}"
        parts = [] if lo == -INF else [self._shorter(">=", lo, ">", self._below(lo))]
        if hi != INF or lo == -INF:
            parts.append(self._shorter("<", hi, "<=", last))
        return " AND ".join(parts)

    def _below(self, value: Bound) -> Bound:
        """The greatest value of the type that is less than `value`."""
        if self.attribute.type is Type.DOUBLE:
            return math.nextafter(value, -INF)
        return MAX_BIGINT if value == INF else value if value == -INF else value - 1

    def _shorter(self, op: str, value: Bound, other_op: str, other: Bound) -> str:
        """`x <= 40` rather than `x < 40.00000000000001`: both mean the same half-open bound."""
        constant, instead = (None if abs(v) == INF else self._constant(v) for v in (value, other))
        if constant is None or (instead is not None and len(instead) + 2 < len(constant)):
            op, constant = other_op, instead
        return f"{self.attribute!r} {op} {constant}"

    def _constant(self, value: Bound) -> str | None:
        if self.attribute.type is Type.TIMESTAMP:
            return timestamp_sql(int(value))
        return number_sql(value)


def in_range(attribute: Attribute, values: Range) -> InRange | NotNull:
    """The atom for a range. Every integer is within no bounds; a double might be infinite."""
    if values == Range() and attribute.type is not Type.DOUBLE:
        return NotNull(attribute)
    return InRange(attribute, values)


@dataclass(frozen=True, slots=True, repr=False)
class OneOf:
    """The STRING or BOOLEAN attribute has one of the values."""

    attribute: Attribute
    values: tuple[Scalar, ...]

    def __repr__(self) -> str:
        return _set_sql(self.attribute, "=", "IN", self.values)


@dataclass(frozen=True, slots=True, repr=False)
class NoneOf:
    """The STRING attribute has a value, and none of these."""

    attribute: Attribute
    values: tuple[Scalar, ...]

    def __repr__(self) -> str:
        return _set_sql(self.attribute, "<>", "NOT IN", self.values)


@dataclass(frozen=True, slots=True, repr=False)
class IsNull:
    """The attribute has no value: NULL or NaN."""

    attribute: Attribute

    def __repr__(self) -> str:
        return f"{self.attribute!r} IS NULL"


@dataclass(frozen=True, slots=True, repr=False)
class NotNull:
    """The attribute has a value, be it infinite."""

    attribute: Attribute

    def __repr__(self) -> str:
        return f"{self.attribute!r} IS NOT NULL"


def _set_sql(attribute: Attribute, one: str, many: str, values: tuple[Scalar, ...]) -> str:
    if len(values) == 1:
        return f"{attribute!r} {one} {scalar_sql(values[0])}"
    return f"{attribute!r} {many} ({', '.join(map(scalar_sql, values))})"


# A comparison of two attributes is the set of orders it allows: less 1, equal 2, greater 4.
# And-ing two comparisons is `&`, negating one is `^ 7`, and 0 is a contradiction.
ORDERS = {"<": 1, "=": 2, "<=": 3, ">": 4, "<>": 5, ">=": 6}
_ORDER_OPS = {orders: op for op, orders in ORDERS.items()}
_MIRRORED = {0: 0, 1: 4, 2: 2, 3: 6, 4: 1, 5: 5, 6: 3, 7: 7}


@dataclass(frozen=True, slots=True, repr=False)
class Compare:
    """Both attributes have (finite) values in one of the allowed orders; left sorts first."""

    left: Attribute
    right: Attribute
    orders: int

    def __repr__(self) -> str:
        return f"{self.left!r} {_ORDER_OPS[self.orders]} {self.right!r}"


def compare(left: Attribute, op: str, right: Attribute) -> Compare | None:
    """The comparison with its sides in canonical order; None if it can never hold (`x < x`)."""
    orders = ORDERS[op]
    if left.key == right.key:
        # Every order but `=` is impossible; what is left asks for a (finite) value.
        return Compare(left, right, 2) if orders & 2 else None
    if left.key > right.key:
        return Compare(right, left, _MIRRORED[orders])
    return Compare(left, right, orders)


@dataclass(frozen=True, slots=True, repr=False)
class Inside:
    """The point of the stream is inside the region or, negated, outside of it.

    Both ask for finite coordinates: NULL, NaN and infinities are neither inside nor outside.
    """

    region: StaticRegion
    point: tuple[Attribute, Attribute]
    negated: bool = False

    def __repr__(self) -> str:
        return shortened(self.sql)

    @property
    def sql(self) -> str:
        """The atom with every vertex of its region."""
        return f"NOT {region_sql(self.region)}" if self.negated else region_sql(self.region)

    @property
    def order(self) -> tuple[Any, ...]:
        """Where the atom stands among those of other regions."""
        parts = (getattr(self.region, field.name) for field in fields(self.region))
        return (type(self.region).__name__, *parts)


ValueAtom = Union[InRange, OneOf, NoneOf, IsNull, NotNull]
Atom = Union[ValueAtom, Compare, Inside]


@dataclass(frozen=True, slots=True, repr=False)
class Conjunction:
    """Atoms that must all hold, at most one per attribute, pair or region; none at all is TRUE."""

    atoms: tuple[Atom, ...] = ()

    def __repr__(self) -> str:
        return " AND ".join(map(repr, self.atoms)) or "TRUE"

    @property
    def sql(self) -> str:
        """The conjunction with every vertex of its regions."""
        texts = (atom.sql if isinstance(atom, Inside) else repr(atom) for atom in self.atoms)
        return " AND ".join(texts) or "TRUE"

    def attributes(self) -> Iterator[Attribute]:
        for atom in self.atoms:
            if isinstance(atom, Compare):
                yield from (atom.left, atom.right)
            elif isinstance(atom, Inside):
                yield from atom.point
            else:
                yield atom.attribute


TRUE = Conjunction()
Condition = tuple[Conjunction, ...]


def conjoin(a: Conjunction, b: Conjunction) -> Conjunction | None:
    """Both at once; None where that is a contradiction."""
    return conjunction(a.atoms + b.atoms) if a.atoms and b.atoms else a if a.atoms else b


def conjunction(atoms: Iterable[Atom]) -> Conjunction | None:
    """All the atoms in canonical form: one per attribute, pair or region, sorted.

    None if they contradict each other.
    """
    values: dict[tuple[str, str], list[ValueAtom]] = {}
    pairs: dict[tuple[tuple[str, str], tuple[str, str]], Compare] = {}
    regions: dict[StaticRegion, Inside] = {}
    for atom in atoms:
        if isinstance(atom, Inside):
            if regions.setdefault(atom.region, atom) != atom:
                return None
        elif isinstance(atom, Compare):
            pair = (atom.left.key, atom.right.key)
            orders = atom.orders & (pairs[pair].orders if pair in pairs else 7)
            if not orders:
                return None
            pairs[pair] = Compare(atom.left, atom.right, orders)
        else:
            values.setdefault(atom.attribute.key, []).append(atom)
    merged = {key: _merged(same) for key, same in values.items()}
    if None in merged.values():
        return None
    # A comparison already asks for a value on either side, and a region for both coordinates.
    asked = {key for pair in pairs for key in pair}
    for key in asked | {axis.key for inside in regions.values() for axis in inside.point}:
        if isinstance(merged.get(key), IsNull):
            return None
        if isinstance(merged.get(key), NotNull):
            del merged[key]
    kept = [atom for _, atom in sorted(merged.items(), key=lambda item: item[0]) if atom]
    ordered = sorted(regions.values(), key=lambda inside: inside.order)
    return Conjunction((*kept, *(pairs[pair] for pair in sorted(pairs)), *ordered))


def _merged(atoms: list[ValueAtom]) -> ValueAtom | None:
    """All atoms on one attribute as one; None if they exclude each other."""
    if len(atoms) == 1:
        return atoms[0]
    attribute = atoms[0].attribute
    if any(isinstance(a, IsNull) for a in atoms):
        return atoms[0] if all(isinstance(a, IsNull) for a in atoms) else None
    ranges = [a.range for a in atoms if isinstance(a, InRange)]
    if ranges:
        lo, hi = max(r.lo for r in ranges), min(r.hi for r in ranges)
        return InRange(attribute, Range(lo, hi)) if lo < hi else None
    excluded = {v for a in atoms if isinstance(a, NoneOf) for v in a.values}
    allowed = [set(a.values) for a in atoms if isinstance(a, OneOf)]
    if allowed:
        left = set.intersection(*allowed) - excluded
        return OneOf(attribute, tuple(sorted(left))) if left else None
    return NoneOf(attribute, tuple(sorted(excluded))) if excluded else NotNull(attribute)


def condition_sql(condition: Condition) -> str:
    """A disjunction as SQL, with every vertex of its regions."""
    texts = [c.sql for c in condition]
    if len(texts) > 1:
        texts = [f"({text})" if " AND " in text else text for text in texts]
    return " OR ".join(texts)

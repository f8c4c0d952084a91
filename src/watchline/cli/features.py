"""Features of a file: geometries with properties, whatever the format, and what is wrong with them.

A feature is named by its number in the file, from 1, and by its id where it has one. Mistakes are
collected, so that a user sees all of a file at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidQuery
from watchline.kernels.arrays import Doubles
from watchline.model import FARTHEST, Stream, name_sql, scalar_sql, string_sql
from watchline.names import hint

# Bad features that a message lists; the others are counted.
LISTED = 10
# What the file says of its coordinates: longitude and latitude by its own words, by the format
# alone, something else, or that nobody knows.
DECLARED, ASSUMED, PLANE, UNKNOWN = "declared", "assumed", "plane", "unknown"

_PIECES = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\{[^{}]*\}|[^'\"{}]+|.", re.DOTALL)
_SLOTS = re.compile(r"\{([^{}]*)\}")


@dataclass
class Features:
    """What was read of a file. Shapes are shapely geometries, None where there is none."""

    file: str
    shapes: npt.NDArray[Any]
    properties: Sequence[dict[str, Any]]
    # The id that a feature has beside its properties, None where it has none.
    own_ids: Sequence[Any]
    surface: str
    # By the place of a feature: what is wrong, and which polygons have rings that do not close.
    problems: dict[int, str] = field(default_factory=dict)
    open_rings: set[int] = field(default_factory=set)
    ids: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.shapes)

    def name(self, place: int) -> str:
        """A feature in words."""
        named = f" (id {self.ids[place]!r})" if self.ids and self.ids[place] else ""
        return f"feature {place + 1:,}{named}"

    def names(self, places: Iterable[int]) -> str:
        """The first of some features in words, and how many more there are."""
        listed = list(places)
        text = ", ".join(map(self.name, listed[:LISTED]))
        return text if len(listed) <= LISTED else f"{text} and {len(listed) - LISTED:,} more"

    def refuse(self, problems: dict[int, str]) -> NoReturn:
        """Refuse the file for these features: the first of them are listed, all are counted."""
        lines = [f"  {self.name(i)}: {problems[i]}" for i in sorted(problems)[:LISTED]]
        if len(problems) > LISTED:
            lines.append(f"  … and {len(problems) - LISTED:,} more")
        count = (
            "1 of its features is"
            if len(problems) == 1
            else f"{len(problems):,} of its features are"
        )
        head = f"{self.file} is not loaded: {count} refused, of {len(self):,}"
        raise InvalidQuery("\n".join([head, *lines]))

    def check(self) -> None:
        """Refuse the file for the problems that are known so far."""
        if self.problems:
            self.refuse(self.problems)


# --- ids


def take_ids(features: Features, name: str | None) -> None:
    """Give the features their ids: from a property, or the ids that they have in the file."""
    if name is None:
        values = list(features.own_ids)
        if all(value is None for value in values):
            raise InvalidQuery(
                f"{features.file} has no ids: name the property that has them with --id"
                + _known(features)
            )
    else:
        values = _column(features, name, "--id")
    problems = {}
    for place, value in enumerate(values):
        if value is None or value == "":
            problems[place] = "it has no id" if name is None else f"it has no property {name!r}"
        elif isinstance(value, bool) or not isinstance(value, (str, int)):
            problems[place] = f"an id is a string or a whole number, not {value!r}"
    if problems:
        features.refuse(problems)
    features.ids = [str(value) for value in values]
    first: dict[str, int] = {}
    for place, value in enumerate(features.ids):
        if (before := first.setdefault(value, place)) != place:
            problems[place] = f"feature {before + 1:,} has the same id"
    if problems:
        features.refuse(problems)


def _column(features: Features, name: str, option: str) -> list[Any]:
    """A property of all features; refused if none has it."""
    values = [properties.get(name) for properties in features.properties]
    if all(value is None for value in values):
        known = {key for properties in features.properties for key in properties}
        raise InvalidQuery(
            f"no feature of {features.file} has the property {name!r} of {option}"
            + (hint(name, known) or _known(features))
        )
    return values


def _known(features: Features) -> str:
    names = sorted({key for properties in features.properties[:1_000] for key in properties})
    if not names:
        return "; its features have no properties"
    shown = ", ".join(names[:20]) + (" …" if len(names) > 20 else "")
    return f"; the properties are {shown}"


# --- numbers and conditions by feature


def lengths_of(features: Features, option: str, given: str | None, kinds: Sequence[int]) -> Any:
    """The radius or distance of each feature of these types of shapely; NaN for others.

    `given` is a number, or the property that has it. None where the option was not given.
    """
    if given is None:
        return None
    import shapely

    meant = np.isin(shapely.get_type_id(features.shapes), kinds)
    if not meant.any():
        word = "points" if option == "--radius" else "lines"
        raise InvalidQuery(f"{option} is for {word}, and {features.file} has none: leave it out")
    lengths = np.full(len(features), np.nan)
    try:
        lengths[meant] = float(given)
        return lengths
    except ValueError:
        values = _column(features, given, option)
    for place in np.flatnonzero(meant).tolist():
        value = values[place]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            found = "is missing" if value is None else f"is {value!r}, no number"
            features.problems.setdefault(place, f"its property {given!r}, for {option}, {found}")
        else:
            lengths[place] = value
    return lengths


def conditions_of(features: Features, template: str | None) -> list[str] | str | None:
    """The condition of each feature: the template, with properties of the feature in it.

    `{name}` stands for a property as a constant of SQL; within quotes it stands for its text.
    """
    if template is None:
        return None
    pieces = [(piece, _slots(piece)) for piece in _PIECES.findall(template)]
    wanted = list(dict.fromkeys(name for _, slots in pieces for name in slots))
    if not wanted:
        return template
    made = []
    for place, properties in enumerate(features.properties):
        missing = next(filter(None, (_unfit(name, properties) for name in wanted)), None)
        if missing:
            features.problems.setdefault(place, missing)
        made.append("" if missing else "".join(_filled(*piece, properties) for piece in pieces))
    return made


def _slots(piece: str) -> list[str]:
    names = _SLOTS.findall(piece)
    if piece in ("{", "}") or any(not name.strip() for name in names):
        raise InvalidQuery(
            "--where has a brace without the name of a property: write {name}, as in"
            " \"kind = '{kind}'\""
        )
    return names


def _filled(piece: str, slots: list[str], properties: dict[str, Any]) -> str:
    if not slots:
        return piece
    quote = piece[0]
    if quote == "{":
        return str(scalar_sql(properties[slots[0]]))
    inside = piece[1:-1].replace(2 * quote, quote)
    text = _SLOTS.sub(lambda found: _text(properties[found.group(1)]), inside)
    return string_sql(text) if quote == "'" else name_sql(text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else scalar_sql(value)


def _unfit(name: str, properties: dict[str, Any]) -> str | None:
    """Why a property cannot stand in a condition; None if it can."""
    value = properties.get(name)
    if value is None:
        return f"it has no property {name!r}, which --where names"
    if not isinstance(value, (str, int, float)) or value != value or value in (np.inf, -np.inf):
        return f"its property {name!r}, which --where names, is no string, number or truth value"
    return None


# --- where on earth


def check_surface(features: Features, planar: bool, stream: Stream) -> None:
    """Refuse coordinates that are none of the stream's, and the order latitude, longitude, where
    that can be told.

    The order can be told where the file, its format or the stream says that they are degrees; where
    a latitude is beyond 90, and all would be fine the other way round.
    """
    if stream.geography:
        _check_degrees(features, planar, stream)
    elif planar or features.surface in (PLANE, UNKNOWN):
        return
    import shapely

    bounds = shapely.bounds(features.shapes)
    x, y = (np.abs(bounds[:, [k, k + 2]]).max(axis=1, initial=0) for k in (0, 1))
    beyond = np.flatnonzero(y > 90)
    if not len(beyond):
        return
    place = int(beyond[0])
    latitude = _farthest(bounds[place, [1, 3]])
    what = f"{features.name(place)} of {features.file} has the latitude {latitude:g}"
    remedy = "--planar if these are coordinates of a plane"
    if np.nanmax(x) <= 90 and np.nanmax(y) <= (FARTHEST if stream.geography else 180):
        raise InvalidQuery(
            f"{what}: the order looks like latitude, longitude, and longitude comes first; load it"
            " with --swap" + ("" if stream.geography else f", or with {remedy}")
        )
    # On Earth each feature that is nowhere is refused by itself.
    if features.surface == DECLARED and not stream.geography:
        raise InvalidQuery(
            f"{what}, and the file says that it is in degrees: load it with {remedy}"
        )


def _check_degrees(features: Features, planar: bool, stream: Stream) -> None:
    on_earth = f"the point of stream {stream.name!r} is on Earth, in degrees"
    if planar:
        raise InvalidQuery(f"--planar is for coordinates of a plane, and {on_earth}")
    if features.surface == PLANE:
        raise InvalidQuery(
            f"{features.file} says that its coordinates are no longitudes and latitudes, and"
            f" {on_earth}: convert the file first (ogr2ogr -t_srs EPSG:4326)"
        )


def _farthest(ends: Doubles) -> float:
    return float(ends[np.argmax(np.abs(ends))])


def swap(features: Features) -> None:
    """Exchange the two coordinates of every vertex."""
    import shapely

    features.shapes = shapely.transform(features.shapes, lambda points: points[:, ::-1])


# --- repair


def repair(
    features: Features, problems_of: Callable[[npt.NDArray[Any]], dict[int, str]]
) -> list[int]:
    """Mend polygons that are invalid, in place; gives the features that were mended.

    `problems_of` gives the problems of shapes by their places. What is no polygon after mending
    stays as it is.
    """
    import shapely

    mended = features.open_rings - set(features.problems)
    polygonal = np.isin(shapely.get_type_id(features.shapes), (3, 6))
    wrong = polygonal & ~shapely.is_empty(features.shapes) & ~shapely.is_valid(features.shapes)
    places = np.flatnonzero(wrong)
    # Rings that touch are fine for us, though GEOS calls them invalid.
    bad = places[sorted(problems_of(features.shapes[places]))] if len(places) else places
    for place in bad.tolist():
        shape = _polygonal(features.shapes[place])
        if shape is not None:
            features.shapes[place] = shape
            mended.add(place)
    features.open_rings -= mended
    return sorted(mended)


def _polygonal(shape: Any) -> Any:
    """The polygons of the mended shape, None if there are none or its numbers are not finite."""
    import shapely

    if not np.isfinite(shapely.get_coordinates(shape)).all():
        return None
    parts = shapely.get_parts(shapely.get_parts(shapely.make_valid(shape)))
    polygons = parts[np.isin(shapely.get_type_id(parts), (3,)) & ~shapely.is_empty(parts)]
    if not len(polygons):
        return None
    made = polygons[0] if len(polygons) == 1 else shapely.multipolygons(polygons)
    return made if shapely.is_valid(made) else shapely.union_all(polygons)

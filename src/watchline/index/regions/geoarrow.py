"""GeoArrow and WKB columns as shapely geometries: no object is made for a vertex.

A column of WKB is binary. In GeoArrow's own encodings a point is a struct of x and y, or a list of
two to four numbers, and other geometries are lists of lists of points. How deep the lists are says
which geometry it is; where two kinds are equally deep, the extension's name or the names of the
lists do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from watchline.errors import InvalidRange
from watchline.kernels.arrays import Doubles, Integers

# By how many lists stand around a point, and by the name of the extension or of the outer list.
_DEPTHS = {0: "point", 1: "linestring", 2: "polygon", 3: "multipolygon"}
_NAMED = {"points": "multipoint", "linestrings": "multilinestring"}
_NUMBERS = {
    "point": 0, "linestring": 1, "polygon": 3, "multipoint": 4, "multilinestring": 5,
    "multipolygon": 6,
}  # fmt: skip


def shapes_of_arrow(column: Any) -> npt.NDArray[Any]:
    """The geometries of an Arrow array or chunked array; None where it has nulls, and bytes of WKB
    where it is binary."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    name = ""
    if isinstance(array.type, pa.BaseExtensionType):
        name, array = array.type.extension_name.removeprefix("geoarrow."), array.storage
    depth, inner = 0, array.type
    outer = inner
    while pa.types.is_list(inner) or pa.types.is_large_list(inner):
        depth, inner = depth + 1, inner.value_type
    is_point = pa.types.is_struct(inner) or pa.types.is_fixed_size_list(inner)
    if not is_point:
        return _objects(array.to_pylist())
    kind = name or _DEPTHS.get(depth, "")
    if not name and depth:
        kind = _NAMED.get(outer.value_field.name, kind)
    if kind not in _NUMBERS:
        raise InvalidRange(f"expected a column of points, lines or polygons, not {array.type}")
    known = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    made = _objects([None] * len(array))
    made[known] = _geometries(array.drop_null(), kind)
    return made


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _geometries(array: Any, kind: str) -> npt.NDArray[Any]:
    import shapely

    offsets: list[Integers] = []
    while hasattr(array, "offsets"):
        ends = np.asarray(array.offsets.to_numpy(), np.int64)
        offsets.append(ends - ends[0])
        array = array.values.slice(ends[0], ends[-1] - ends[0])
    number = shapely.GeometryType(_NUMBERS[kind])
    try:
        return np.asarray(shapely.from_ragged_array(number, _points(array), tuple(offsets[::-1])))
    except (shapely.errors.ShapelyError, ValueError) as error:
        raise InvalidRange(f"the column has no {kind} for each row: {error}") from None


def _points(array: Any) -> Doubles:
    import pyarrow as pa

    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        if "x" not in names or "y" not in names:
            raise InvalidRange(f"a point is a struct of x and y, not of {', '.join(names)}")
        fields = dict(zip(names, array.flatten(), strict=True))
        sides = [fields["x"], fields["y"]]
    else:
        width = array.type.list_size
        flat = array.flatten()
        if len(flat) != width * len(array) or not 2 <= width <= 4:
            raise InvalidRange("a point is a list of two to four numbers")
        numbers = np.arange(len(array)) * width
        sides = [flat.take(pa.array(numbers)), flat.take(pa.array(numbers + 1))]
    try:
        return np.stack(
            [side.cast(pa.float64()).to_numpy(zero_copy_only=False) for side in sides], axis=1
        )
    except pa.ArrowException as error:
        raise InvalidRange(f"the coordinates of a point are numbers: {error}") from None

"""The centre of a query, from which the `distance` of its changes counts."""

from __future__ import annotations

from typing import Union

from watchline.model.query import Query
from watchline.model.region import Circle, Knn, MovingCircle, MovingKnn

Centred = Union[Knn, MovingKnn, Circle, MovingCircle]


def centre_of(query: Query) -> Centred | None:
    """The clause whose centre is that of the query: kNN, else the only region if it is a circle.

    None for all other queries; their changes have no distance. The centre of a moving clause is
    where its focal object is.
    """
    if query.knn is not None:
        return query.knn
    region = query.region
    return region if isinstance(region, (Circle, MovingCircle)) else None

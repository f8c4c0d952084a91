"""The centre of a query, from which the `distance` of its changes counts."""

from __future__ import annotations

from typing import Union

from watchline.model.condition import Inside
from watchline.model.query import Query
from watchline.model.region import Circle, Knn, MovingCircle, MovingKnn, Region

Centred = Union[Knn, MovingKnn, Circle, MovingCircle]


def centre_of(query: Query) -> Centred | None:
    """The clause or condition whose centre is that of the query: kNN, else the query's only region
    if that is a circle and not negated. The same circle may stand there several times.

    None for all other queries; their changes have no distance. The centre of a moving clause is
    where its focal object is.
    """
    if query.knn is not None:
        return query.knn
    inside = [atom for c in query.where for atom in c.atoms if isinstance(atom, Inside)]
    regions: list[Region] = [atom.region for atom in inside]
    if query.region is not None:
        regions.append(query.region)
    if not regions or any(atom.negated for atom in inside):
        return None
    only = regions[0]
    if not isinstance(only, (Circle, MovingCircle)) or any(other != only for other in regions):
        return None
    return only

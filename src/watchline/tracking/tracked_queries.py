"""The queries of a stream as one tracker has them: at its own version, with their lives, and in the
sizes that query shedding leaves them."""

from __future__ import annotations

import pyarrow as pa

from watchline.proximity import Moving
from watchline.tracking.lives import Lives
from watchline.tracking.queries import ChangeQueries
from watchline.tracking.retention.shrinking import WHOLE, Shrinkage, shrunk_queries


class TrackedQueries:
    """A tracker's view of queries that it shares with other trackers.

    `shared` may be ahead of `version`; `lives` and `shrinkage` are the tracker's own.
    """

    def __init__(self, shared: ChangeQueries):
        self.shared, self.version = shared, shared.version
        self.lives = Lives(shared.terms(self.version), shared.moving(self.version))
        self.shrinkage = WHOLE
        self._shrunk: ChangeQueries | None = None
        self._have_moving: bool | None = None

    def follow(self, shared: ChangeQueries) -> None:
        """Take the queries from elsewhere, at this version or ahead of it."""
        self.shared, self._shrunk, self._have_moving = shared, None, None

    def take_over(
        self, version: int, births: dict[str, int | None], waiting: dict[str, list[int]]
    ) -> None:
        """The version and lives of a state; the shared queries may be ahead of it."""
        self.reach(version)
        self.lives.resume(self.shared.terms(version), births)
        self.lives.waiting = {name: (bits, since) for name, (bits, since) in waiting.items()}

    def reach(self, version: int) -> None:
        """The tracker has followed the catalog to this version."""
        self.version, self._shrunk, self._have_moving = version, None, None

    def resize(self, shrinkage: Shrinkage) -> None:
        """All queries have these sizes from now on."""
        self.shrinkage, self._shrunk = shrinkage, None

    @property
    def are_shrunk(self) -> bool:
        """Whether query shedding has made queries smaller."""
        return self.shrinkage.step > 0

    def in_sizes(self) -> ChangeQueries:
        """The queries that a row alone decides, in their sizes."""
        if self.shrinkage == WHOLE:
            return self.shared
        if self._shrunk is None:
            self._shrunk = shrunk_queries(self.shared, self.shrinkage)
        return self._shrunk

    def moving(self) -> list[Moving]:
        """The living queries that move or rank."""
        return [self.lives.alive(queries) for queries in self.shared.moving(self.version)]

    def have_moving(self) -> bool:
        """Whether there are queries that move or rank, alive or not."""
        if self._have_moving is None:
            self._have_moving = self.shared.have_moving(self.version)
        return self._have_moving

    def least_accuracies(self) -> dict[str, float]:
        """The living queries with a least accuracy, and which."""
        guards = self.shared.guards()
        return {name: least for name, least in guards.items() if self.lives.is_alive(name)}

    def focals(self) -> pa.Array:
        """The objects that living queries move with. The focal object of a query whose life is over
        is an object like any other: if retention processed it first, as one that is needed, it
        would enter and leave answers in each batch."""
        known = self.shared.focals()
        if self.lives.are_all_alive:
            return known
        focals = (ids for queries in self.moving() for ids in queries.focals)
        return pa.concat_arrays([known[:0], *focals]).drop_null()

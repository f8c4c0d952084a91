"""How many objects and shadows a tracker may have, and how many bytes they take.

MAX OBJECTS and MAX BYTES cover the objects of this shard. Shadows have a bound of their own, a
share of this one.
"""

from __future__ import annotations

import numpy as np

from watchline.model import Retention
from watchline.tracking.answers import Answers
from watchline.tracking.retention.given_up import GivenUpObjects

# So many shadows there may be for each object of MAX OBJECTS, and this part of MAX BYTES is theirs.
SHADOWS, SHADOW_BYTES = 10, 0.5


class RetentionBounds:
    """The bounds of a stream that declares one."""

    def __init__(self, answers: Answers, given_up: GivenUpObjects):
        self._objects, self._proximity = answers.objects, answers.proximity
        self._given_up = given_up

    @property
    def _clauses(self) -> Retention:
        clauses = self._objects.stream.retention
        assert clauses is not None
        return clauses

    def objects(self) -> int:
        """How many objects there may be."""
        if self._clauses.max_objects is not None:
            return self._clauses.max_objects
        most = self._clauses.max_bytes
        assert most is not None
        n = len(self._objects)
        if not n:
            # How many bytes an object takes is known with the first.
            return 1
        each = self.object_bytes() / n
        over = self.object_bytes() + self._given_up.nbytes - most
        if over <= 0:
            return n + int(-over / each)
        # What is given up leaves a shadow, unless shadows have all that is theirs.
        names = self._given_up.shadows.slim.column_names
        shadow = self._objects.own.row_bytes(names) / n
        own = int((1 - SHADOW_BYTES) * most / each)
        return min(n, max(n - int(np.ceil(over / max(each - shadow, 1.0))), own))

    def shadows(self) -> int:
        """How many shadows there may be."""
        if self._clauses.max_objects is not None:
            return SHADOWS * self._clauses.max_objects
        most, shadows = self._clauses.max_bytes, self._given_up.shadows
        assert most is not None
        each = shadows.nbytes / max(shadows.total, 1)
        return int(SHADOW_BYTES * most / max(each, 1.0))

    def object_bytes(self) -> int:
        """The bytes of objects: their rows, and an entry of the operator for each."""
        return self._objects.nbytes + self._proximity.entry_bytes * len(self._objects)

    @property
    def are_exceeded(self) -> bool:
        """Whether there are more objects or shadows than there may be."""
        shadows = self._given_up.shadows.total
        return len(self._objects) > self.objects() or shadows > self.shadows()

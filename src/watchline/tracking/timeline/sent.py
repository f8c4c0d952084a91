"""What a part of a stream has sent to the merge of all parts, and whether that is enough.

The merge keeps the candidates of all parts from batch to batch, so a part sends what changed. Where
the merge may know nothing of a part, because the part's state comes from a release whose merge kept
nothing or because there is no place for the merge's state, the part sends a *whole* timeline, which
has all its candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from watchline.tracking.timeline.format import Timeline

# The number before a whole timeline, in place of that of the timelines before it.
WHOLE = -1


@dataclass
class SentTimelines:
    """How many timelines one of so many parts has sent to each partition of the merge; None if the
    next one is to be whole. A part has one of these, and its state has the counts."""

    parts: int
    counts: list[int] | None

    @staticmethod
    def of_new(parts: int) -> SentTimelines:
        """For a part without objects: as it has no candidates, the merge knows all of them."""
        return SentTimelines(parts, [0] * parts)

    @property
    def is_whole(self) -> bool:
        """Whether the next timeline has all candidates."""
        return self.counts is None


class Received(NamedTuple):
    """A timeline as a partition of the merge gets it: from which part, and how many that part sent
    before (`WHOLE`: it has all candidates of the part)."""

    part: int
    before: int
    timeline: Timeline

    @property
    def is_counted(self) -> bool:
        """Whether the timeline is one of those that parts and merge count: one in which nothing
        happened is not."""
        return self.before == WHOLE or self.timeline.records.num_rows > 0

"""A figure of the papers as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    bytes: int
    nanoseconds: float
    formula: float | None = None
    # Where `nanoseconds` is the best of several, their median.
    median: float | None = None


@dataclass(frozen=True)
class Sweep:
    """A figure: for each index a measure at each x, or nothing where it would not fit."""

    name: str
    title: str
    axis: str
    xs: list[int]
    series: dict[str, list[Measure | None]]

    @property
    def figure(self) -> str:
        return self.title.split(":")[0]

    def at(self, kind: str, x: int) -> Measure:
        found = self.series[kind][self.xs.index(x)]
        assert found is not None
        return found

    def both(self, *kinds: str) -> Iterator[tuple[Measure, ...]]:
        """Measures of these kinds wherever all have one."""
        for found in zip(*(self.series[kind] for kind in kinds), strict=True):
            if None not in found:
                yield tuple(m for m in found if m)

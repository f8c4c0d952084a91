"""Which objects of a stream are kept, and what is given up when they are too many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from watchline.errors import InvalidQuery, InvalidRange
from watchline.model.text import SqlWord, number_sql

if TYPE_CHECKING:
    from watchline.model.query import Stream


class Shed(SqlWord):
    """What gives way under a bound: objects few queries look at, or the borders of all queries."""

    OBJECTS = "OBJECTS"
    QUERIES = "QUERIES"


@dataclass(frozen=True, slots=True, repr=False)
class Retention:
    """Only objects that some query looks at are kept.

    `cache`: around a query that moves also those are, which it might hold before they report again:
    this part of what both can travel meanwhile; None is all of it. The bounds are for each shard.
    """

    cache: float | None = None
    max_objects: int | None = None
    max_bytes: int | None = None
    shed: Shed | None = None

    def __post_init__(self) -> None:
        if self.cache is not None and not 0 <= self.cache <= 1:
            raise InvalidRange(
                f"CACHE must lie between 0 and 1, not {self.cache:g}", clause="CACHE"
            )
        for clause, bound in (("MAX OBJECTS", self.max_objects), ("MAX BYTES", self.max_bytes)):
            if bound is not None and bound < 1:
                raise InvalidRange(f"{clause} must leave room for one object", clause=clause)
        if self.max_objects is not None and self.max_bytes is not None:
            raise InvalidQuery(
                "a stream has one bound: MAX OBJECTS or MAX BYTES", clause="MAX BYTES"
            )
        if self.shed is not None and not self.is_bounded:
            raise InvalidQuery(
                f"SHED {self.shed.value} needs a bound: MAX OBJECTS or MAX BYTES", clause="SHED"
            )

    @property
    def is_bounded(self) -> bool:
        return self.max_objects is not None or self.max_bytes is not None

    @property
    def sheds(self) -> Shed | None:
        """What gives way, if there is a bound."""
        return (self.shed or Shed.OBJECTS) if self.is_bounded else None

    def __repr__(self) -> str:
        text = "RETAIN SIGNIFICANT"
        if self.cache is not None:
            text += f" CACHE {number_sql(self.cache)}"
        if self.max_objects is not None:
            text += f" MAX OBJECTS {self.max_objects}"
        if self.max_bytes is not None:
            text += f" MAX BYTES {self.max_bytes}"
        if self.shed is not None:
            text += f" SHED {self.shed.value}"
        return text


@dataclass(frozen=True, slots=True)
class Keep:
    """What a run says about retention, where it is not to be as the stream declares it."""

    retain: str | None = None
    cache: float | None = None
    max_objects: int | None = None
    max_bytes: int | None = None
    shed: str | None = None

    @classmethod
    def from_arguments(cls, given: Mapping[str, Any], call: str, *others: str) -> Keep:
        """From the keyword arguments of a call, which may be misspelt; `others` it has, too."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                near = get_close_matches(name, [*known, *others], n=1)
                instead = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
                raise InvalidQuery(f"{call} has no argument {name!r}; {instead}")
        return cls(**given)

    def __post_init__(self) -> None:
        for name, words in (("retain", ("all", "significant")), ("shed", ("objects", "queries"))):
            word = getattr(self, name)
            if word is not None and word not in words:
                raise InvalidQuery(f"{name} is {words[0]!r} or {words[1]!r}, not {word!r}")
        for name in ("max_objects", "max_bytes"):
            number = getattr(self, name)
            if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
                raise InvalidQuery(f"{name} is a whole number, not {number!r}")
        if self.cache is not None and (
            isinstance(self.cache, bool) or not isinstance(self.cache, (int, float))
        ):
            raise InvalidQuery(f"cache is a number from 0 to 1, not {self.cache!r}")

    def of(self, stream: Stream) -> Stream:
        """The stream, as a run keeps its objects."""
        return replace(stream, retention=self._over(stream.retention))

    def _over(self, declared: Retention | None) -> Retention | None:
        given = {
            name: value
            for name in ("cache", "max_objects", "max_bytes", "shed")
            if (value := getattr(self, name)) is not None
        }
        if self.retain == "all" or (self.retain is None and declared is None):
            if given:
                raise InvalidQuery(f"{next(iter(given))} goes with retain = 'significant'")
            return None
        base = declared or Retention()
        if "shed" in given:
            given["shed"] = Shed(given["shed"].upper())
        if "max_objects" in given or "max_bytes" in given:
            base = replace(base, max_objects=None, max_bytes=None, shed=None)
            given.setdefault("shed", (declared or base).shed)
        return replace(base, **given)

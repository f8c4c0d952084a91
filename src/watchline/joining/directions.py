"""From join queries to directions.

A pair is found when the later of its two rows comes: a row of one position, the *trigger*, meets
the rows in the window of the other, its *partners*. So a query of two streams has two directions.
Queries whose streams, comparisons and kind of window are the same share one: their join is made
once, and only what each selects from either side is its own. Of a disjunction each conjunction is a
*member*; a pair that satisfies two of them is told once, afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from watchline.model import (
    Atom,
    Attribute,
    Compare,
    Conjunction,
    Distance,
    Inside,
    Query,
    RangeWindow,
    Source,
    Window,
)

# A comparison seen from the other side: less and greater change places.
_MIRRORED = {1: 4, 2: 2, 3: 6, 4: 1, 5: 5, 6: 3, 7: 7}


class Life(NamedTuple):
    """Which rows a query joins: those from these places of its streams on, and triggers up to this
    time. A stream that is not named is joined from its beginning."""

    births: tuple[tuple[str, int], ...] = ()
    death: int | None = None

    def birth(self, stream: str) -> int:
        return dict(self.births).get(stream, 0)


class Link(NamedTuple):
    """trigger.left <op> partner.right, as the orders that are allowed: less 1, equal 2, more 4."""

    left: Attribute
    right: Attribute
    orders: int


class Near(NamedTuple):
    """The point of the trigger is less than a length from that of the partner, or in another of the
    orders that are allowed."""

    left: tuple[Attribute, Attribute]
    right: tuple[Attribute, Attribute]
    orders: int
    length: float
    on_earth: bool

    @property
    def is_near(self) -> bool:
        """Whether it holds of what is near, rather than of what is far."""
        return self.orders & 1 == 1


class Member(NamedTuple):
    """A conjunction of a query: its number, the partner's window, what it selects on each side."""

    query: int
    window: Window
    trigger: tuple[Atom, ...]
    partner: tuple[Atom, ...]

    @property
    def size(self) -> int:
        window = self.window
        return window.length if isinstance(window, RangeWindow) else window.rows


@dataclass(frozen=True)
class DirectionShape:
    """What the members of a direction share.

    `positions` are those of trigger and partner in FROM. `is_range`: the window is one of time.
    """

    streams: tuple[str, str]
    positions: tuple[int, int]
    links: tuple[Link, ...]
    near: tuple[Near, ...]
    is_range: bool
    birth: int
    death: int | None

    @property
    def is_self(self) -> bool:
        return self.streams[0] == self.streams[1]

    @property
    def meets_itself(self) -> bool:
        """Whether a row is a partner of its own. In a self-join that is one direction's to say."""
        return self.is_self and self.positions[0] < self.positions[1]


class Direction(NamedTuple):
    """The queries that compare alike when a row of one stream meets the window of another."""

    shape: DirectionShape
    members: list[Member]


class Half(NamedTuple):
    """A conjunction seen from one of its streams, whoever asks for it and however long."""

    streams: tuple[str, str]
    positions: tuple[int, int]
    links: tuple[Link, ...]
    near: tuple[Near, ...]
    window: Window
    trigger: tuple[Atom, ...]
    partner: tuple[Atom, ...]


def halves(query: Query) -> list[Half]:
    """The two sides of each conjunction of a query that joins two streams."""
    found = []
    for conjunction in query.where:
        sides, links, distances = parted(query.sources, conjunction)
        for trigger, partner in ((0, 1), (1, 0)):
            of, to = query.sources[trigger], query.sources[partner]
            assert to.window is not None
            oriented_ = tuple(sorted(oriented(link, of.alias) for link in links))
            near = tuple(facing(distance, of.alias) for distance in distances)
            streams, places = (of.stream, to.stream), (trigger, partner)
            selected = sides[trigger], sides[partner]
            found.append(Half(streams, places, oriented_, near, to.window, *selected))
    return found


def directions_of(asked: Iterable[tuple[int, list[Half], Life]]) -> list[Direction]:
    """The directions of queries, each with its number, its halves and its life."""
    found: dict[DirectionShape, list[Member]] = {}
    for number, parts, life in asked:
        for half in parts:
            is_range = isinstance(half.window, RangeWindow)
            birth = life.birth(half.streams[1])
            shape = DirectionShape(
                half.streams, half.positions, half.links, half.near, is_range, birth, life.death
            )
            member = Member(number, half.window, half.trigger, half.partner)
            found.setdefault(shape, []).append(member)
    return [Direction(shape, members) for shape, members in found.items()]


def parted(
    sources: tuple[Source, ...], conjunction: Conjunction
) -> tuple[list[tuple[Atom, ...]], list[Compare], list[Distance]]:
    """The atoms of each position, and the comparisons and distances between positions."""
    places = {source.alias: i for i, source in enumerate(sources)}
    sides: list[list[Atom]] = [[] for _ in sources]
    links, distances = [], []
    for atom in conjunction.atoms:
        assert not isinstance(atom, Inside)  # a join takes none
        if isinstance(atom, Distance):
            distances.append(atom)
        elif not isinstance(atom, Compare):
            sides[places[atom.attribute.alias]].append(atom)
        elif atom.left.alias == atom.right.alias:
            sides[places[atom.left.alias]].append(atom)
        else:
            links.append(atom)
    return [tuple(map(unaliased, side)) for side in sides], links, distances


def oriented(link: Compare, alias: str) -> Link:
    """With the attribute of this alias on the left."""
    left, right = bare(link.left), bare(link.right)
    if link.left.alias == alias:
        return Link(left, right, link.orders)
    return Link(right, left, _MIRRORED[link.orders])


def facing(distance: Distance, alias: str) -> Near:
    """With the point of this alias on the left."""
    left, right = (tuple(map(bare, point)) for point in (distance.left, distance.right))
    if distance.aliases[0] != alias:
        left, right = right, left
    return Near(left, right, distance.orders, distance.length, distance.on_earth)  # type: ignore[arg-type]


def bare(attribute: Attribute) -> Attribute:
    """An attribute as its stream has it."""
    return Attribute(attribute.name, attribute.type)


def unaliased(atom: Atom) -> Atom:
    """An atom over the attributes of its stream."""
    if isinstance(atom, Compare):
        return Compare(bare(atom.left), bare(atom.right), atom.orders)
    assert not isinstance(atom, (Inside, Distance))
    changed = {name: getattr(atom, name) for name in atom.__slots__ if name != "attribute"}
    return type(atom)(bare(atom.attribute), **changed)

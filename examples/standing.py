"""The standing queries of the city: fences, convoys, and nearest taxis.

An `Ask` knows its statement, its words for the view, and enough numbers for `truth.py` to answer it
by brute force, without the catalog.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import watchline as wl

Places = npt.NDArray[np.float64]

TIMEOUT = 20
STREAM = (
    "CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, speed DOUBLE, kind STRING, ts TIMESTAMP)"
    f" OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL {TIMEOUT} SECONDS"
)
COUNTS = ("none", "one", "two", "three", "four", "five")


class Ask(NamedTuple):
    """A query. Its numbers are those of its clause, without the focal object if it has one.

    box      x1, y1, x2, y2; with a focal object width, height
    circle   x, y, r; with a focal object r
    polygon  x, y of each corner
    nearest  k, x, y; with a focal object k

    On Earth x is a longitude and y a latitude, and lengths are metres.
    """

    id: str
    form: str
    numbers: tuple[float, ...]
    # Only vehicles of this kind, or of all.
    kind: str | None = None
    focal: int | None = None
    # What it belongs to, for the view: "fence 12", "car 3".
    name: str = ""
    # The least part of its answer that it demands when load is shed.
    accuracy: float | None = None
    # A polygon of several rings, and as GeoJSON; it has no numbers.
    rings: tuple[tuple[tuple[float, float], ...], ...] = ()
    text: str = ""

    @property
    def statement(self) -> str:
        where = f" WHERE kind = '{self.kind}'" if self.kind else ""
        least = f" ACCURACY {self.accuracy}" if self.accuracy else ""
        asked = f"SELECT * FROM cars{where} {self._clause}{least}"
        return f"CREATE OR REPLACE QUERY {self.id} AS {asked}"

    @property
    def _clause(self) -> str:
        if self.text:
            return f"INSIDE POLYGON '{self.text}'"
        if self.form == "polygon":
            corners = [*self.numbers, *self.numbers[:2]]
            pairs = zip(corners[::2], corners[1::2], strict=True)
            return f"INSIDE POLYGON 'POLYGON (({', '.join(f'{x!r} {y!r}' for x, y in pairs)}))'"
        listed = [repr(number) for number in self.numbers]
        if self.form == "nearest":
            moving = [] if self.focal is None else [str(self.focal)]
            mark = ["'M'"] if moving else []
            return f"kNN ({', '.join([*mark, str(self.k), *moving, *listed[1:]])})"
        moving = [] if self.focal is None else ["'M'", str(self.focal)]
        shape = "CIRCLE " if self.form == "circle" else ""
        return f"INSIDE {shape}({', '.join([*moving, *listed])})"

    @property
    def k(self) -> int:
        return int(self.numbers[0])

    def words(self, change: dict[str, Any]) -> str:
        """A change in words: 'truck 9 left fence 12'."""
        who, came = f"{change['kind']} {change['object_id']}", change["sign"] > 0
        now = "is now" if came else "is no longer"
        if self.form == "nearest":
            told = f"{who} {now} one of the {COUNTS[self.k]} nearest of {self.name}"
        elif self.focal is not None:
            told = f"{who} {now} near {self.name}"
        else:
            told = f"{who} {'entered' if came else 'left'} {self.name}"
        return told + WHY.get(change["reason"], "")


WHY = {
    "registered": " (a new query)",
    "dropped": " (the query changed)",
    "expired": " (fell silent)",
    "shed": " (too much to keep)",
}


def boxes(places: Places, rng: np.random.Generator, kind: str | None = None) -> list[Ask]:
    """Fences around these places, 100 to 500 metres wide."""
    half = rng.uniform(0.005, 0.025, places.shape)
    corners = np.concatenate([places - half, places + half], axis=1)
    who = f"{kind} " if kind else ""
    return [
        Ask(
            f"{(kind or '').split(' ')[0]}fence{i}",
            "box",
            tuple(c),
            kind,
            name=f"{who}fence {i}",
        )
        for i, c in enumerate(corners.tolist())
    ]


def circles(places: Places, rng: np.random.Generator) -> list[Ask]:
    radii = rng.uniform(0.01, 0.03, len(places)).tolist()
    return [
        Ask(f"circle{i}", "circle", (x, y, r), name=f"circle {i}")
        for i, ((x, y), r) in enumerate(zip(places.tolist(), radii, strict=True))
    ]


def polygons(places: Places, rng: np.random.Generator) -> list[Ask]:
    """Five to nine corners, in turn around their place."""
    made = []
    for i, place in enumerate(places):
        count = int(rng.integers(5, 10))
        turn = (np.arange(count) + rng.uniform(0, 0.6, count)) * (2 * np.pi / count)
        far = rng.uniform(0.012, 0.035, count)
        corners = place + np.stack([np.cos(turn) * far, np.sin(turn) * far], axis=1)
        made.append(Ask(f"zone{i}", "polygon", tuple(corners.ravel().tolist()), name=f"zone {i}"))
    return made


def convoys(names: dict[int, str], rng: np.random.Generator) -> list[Ask]:
    """What is within some hundred metres of these vehicles: boxes, and each fifth a circle."""
    made = []
    for i, (focal, name) in enumerate(names.items()):
        size = float(rng.uniform(0.02, 0.05))
        round_ = i % 5 == 0
        numbers = (size / 2,) if round_ else (size, size)
        form = "circle" if round_ else "box"
        made.append(Ask(f"convoy{focal}", form, numbers, focal=focal, name=name))
    return made


def customers(names: dict[int, str], wanted: str = "taxi") -> list[Ask]:
    """The five taxis nearest to each of these vehicles."""
    return [
        Ask(f"taxis{focal}", "nearest", (5,), wanted, focal, name) for focal, name in names.items()
    ]


def ranks(places: Places, wanted: str = "taxi") -> list[Ask]:
    """The five taxis nearest to each of these places."""
    return [
        Ask(f"rank{i}", "nearest", (5, x, y), wanted, name=f"rank {i}")
        for i, (x, y) in enumerate(places.tolist())
    ]


def register(catalog: wl.Catalog, asks: list[Ask]) -> None:
    """Boxes as columns, those of each kind in one commit; all others as one script."""
    boxes = [ask for ask in asks if ask.form == "box" and ask.focal is None]
    fences = [ask for ask in boxes if ask.accuracy is None]
    for kind in sorted({ask.kind or "" for ask in fences}):
        some = [ask for ask in fences if (ask.kind or "") == kind]
        x1, y1, x2, y2 = np.array([ask.numbers for ask in some]).T
        across, up = catalog.stream("cars").point or ("x", "y")
        bounds: dict[str, Any] = {across: (x1, x2), up: (y1, y2)}
        if kind:
            bounds["kind"] = kind
        catalog.register_boxes("cars", [ask.id for ask in some], bounds)
    others = set(asks) - set(fences)
    catalog.execute(";\n".join(ask.statement for ask in asks if ask in others))

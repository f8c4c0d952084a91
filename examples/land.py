"""Where a city lies: on Earth, or on a plane whose unit is ten kilometres.

Queries are drawn up in units of ten kilometres from the lower left corner of the map; `Land.ask`
says them in degrees and metres.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from examples.standing import Ask
from watchline import roads

Places = npt.NDArray[np.float64]

DEGREE = 111_195.08
# Metres of a unit.
UNIT = 10_000.0


class Land(NamedTuple):
    """The lower left corner of the map in degrees, the cosine of the latitude in its middle, and
    who drives there."""

    west: float
    south: float
    cosine: float
    # Height and width of the map, in units.
    extent: tuple[float, float] = (1.0, 1.0)
    # The kinds that are looked for, that have fences of their own, and that look for others.
    wanted: str = "taxi"
    heavy: str = "truck"
    looking: str = "car"
    # Seconds after which a silent vehicle is gone.
    timeout: int = 20

    @property
    def stream(self) -> str:
        return (
            "CREATE STREAM cars"
            " (id BIGINT, lon DOUBLE, lat DOUBLE, speed DOUBLE, kind STRING, ts TIMESTAMP)"
            " OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY"
            f" TIMEOUT INTERVAL {self.timeout} SECONDS"
        )

    def degrees(self, metres: float) -> tuple[float, float]:
        """So many metres as degrees of longitude and of latitude."""
        return metres / (DEGREE * self.cosine), metres / DEGREE

    def units(self, places: Places) -> Places:
        """Longitudes and latitudes in units of the map."""
        return (places - (self.west, self.south)) / self.degrees(UNIT)

    def at(self, numbers: tuple[float, ...]) -> tuple[float, ...]:
        """x and y of places in units, one after the other, as longitudes and latitudes."""
        places = np.array(numbers).reshape(-1, 2) * self.degrees(UNIT) + (self.west, self.south)
        return tuple(places.ravel().tolist())

    def ask(self, ask: Ask) -> Ask:
        """The query in degrees and metres."""
        numbers = ask.numbers
        if ask.form == "nearest":
            said = (numbers[0], *self.at(numbers[1:]))
        elif ask.focal is not None:
            said = tuple(UNIT * number for number in numbers)
        elif ask.form == "circle":
            said = (*self.at(numbers[:2]), UNIT * numbers[2])
        else:
            said = self.at(numbers)
        return ask._replace(numbers=said)


def around(network: roads.Network, **who: object) -> Land:
    """The land on which a network on Earth lies."""
    west, east = float(network.x.min()), float(network.x.max())
    south, north = float(network.y.min()), float(network.y.max())
    land = Land(west, south, float(np.cos(np.radians((south + north) / 2))), **who)  # type: ignore[arg-type]
    x, y = land.units(np.array([[east, north]]))[0].tolist()
    return land._replace(extent=(x, y))

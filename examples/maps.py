"""The pictures of the city: a map as it is in the end, and one customer on its way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib import pyplot
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, Polygon, Rectangle

from examples.land import UNIT, Land
from examples.standing import Ask
from examples.truth import Answers
from watchline.simulate import Network

COLOURS = {
    "car": "#8a93a0", "taxi": "#f0a800", "truck": "#b3402a", "bus": "#2f78b7",
    "hired cab": "#8a93a0", "free cab": "#f0a800",
}  # fmt: skip
PAPER, STREET, MAIN, INK = "#fbfaf7", "#d3cec3", "#b3ac9d", "#2a2f36"
CUSTOMER, CONVOY = "#7a2fb0", "#16805a"
FENCES = 260
# Ticks in which a vehicle reports at least once.
SEEN = 4
# Ticks that the animation shows, and metres from its middle to its sides.
LAST, WINDOW = 60, 800.0

# Where each vehicle is, and its kind.
Place = tuple[float, float, str]
Places = dict[int, Place]


class Scene(NamedTuple):
    """What there is to draw; answers and changes are Watchline's."""

    network: Network
    ticks: list[pa.Table]
    asks: dict[str, Ask]
    answers: Answers
    changes: pa.Table
    customer: int
    land: Land

    def where(self, tick: int = -1) -> Places:
        """Where each was seen last, as far as it is not silent for too long."""
        end = tick % len(self.ticks) + 1
        rows = pa.concat_tables(self.ticks[max(0, end - SEEN) : end])
        columns = (rows[name].to_pylist() for name in ("id", "lon", "lat", "kind"))
        return {vehicle: (x, y, kind) for vehicle, x, y, kind in zip(*columns, strict=True)}


# --- the map


def still(scene: Scene, path: Path) -> None:
    figure = pyplot.figure(figsize=(13.5, 9.6), facecolor=PAPER)
    city = figure.add_axes((0.015, 0.075, 0.63, 0.886))
    near = figure.add_axes((0.668, 0.541, 0.31, 0.42))
    convoy = figure.add_axes((0.668, 0.075, 0.31, 0.42))
    places = scene.where()
    for axes in (city, near, convoy):
        paper(axes, scene.network)
        _vehicles(axes, places, 4 if axes is city else 26)
    shades = _fences(city, scene)
    chosen = _typical(scene, places)
    for axes, size in ((city, 7), (convoy, 30)):
        _convoy(axes, scene, places, chosen, size)
    for axes, size in ((city, 10), (near, 34)):
        _customer(axes, scene, places, size)
    land = scene.land
    (wide, high), edge = land.degrees(UNIT), 0.01
    (right, top), (left, low) = land.extent, (land.west, land.south)
    city.set(
        xlim=(left - edge * wide, left + (right + edge) * wide),
        ylim=(low - edge * high, low + (top + edge) * high),
    )
    _look_at(near, land, places[scene.customer], _reach(scene, places))
    _look_at(convoy, land, places[chosen.focal or 0], 0.9 * max(chosen.numbers))
    who = f"{places[scene.customer][2]} {scene.customer}"
    title(near, f"{who} and its five nearest {land.wanted}s", 11)
    members = len(scene.answers.get(chosen.id, ()))
    title(convoy, f"{chosen.name} and the {members} vehicles in its convoy box", 11)
    title(
        city,
        f"{len(places):,} vehicles, {len(scene.asks):,} standing queries,"
        f" {scene.changes.num_rows:,} changes",
        14,
    )
    _legend(figure, shades, land.wanted)
    figure.savefig(path, dpi=100, facecolor=PAPER)
    pyplot.close(figure)


def paper(axes: Any, network: Network) -> None:
    """The roads, and nothing else that draws the eye."""
    # A degree of longitude is shorter than one of latitude.
    tall = 1 / np.cos(np.radians(float(network.y.mean()))) if network.geography else 1.0
    axes.set(xticks=[], yticks=[], aspect=tall, facecolor=PAPER)
    for spine in axes.spines.values():
        spine.set_color(MAIN)
    _roads(axes, network)


def title(axes: Any, text: str, size: int) -> None:
    axes.set_title(text, fontsize=size, color=INK, loc="left")


def _roads(axes: Any, network: Network) -> None:
    ends = np.stack([network.src, network.dst], axis=1)
    lines = np.stack([network.x[ends], network.y[ends]], axis=2)
    street = np.array([name == "street" for name in network.classes])[network.codes]
    axes.add_collection(LineCollection(lines[street], colors=STREET, linewidths=0.8, zorder=1))
    axes.add_collection(LineCollection(lines[~street], colors=MAIN, linewidths=1.7, zorder=1))


def _vehicles(axes: Any, places: Places, size: float) -> None:
    for kind, colour in COLOURS.items():
        some = np.array([(x, y) for x, y, other in places.values() if other == kind])
        some = some.reshape(-1, 2)
        axes.scatter(*some.T, s=size, color=colour, linewidths=0, zorder=3)


def _fences(axes: Any, scene: Scene) -> Any:
    """Some of the fences, filled by how many vehicles are inside."""
    still = [ask for ask in scene.asks.values() if ask.focal is None]
    fences = [ask for ask in still if ask.form != "nearest" and not ask.id.startswith("district")]
    some = [fences[i] for i in np.linspace(0, len(fences) - 1, FENCES).astype(int)]
    shades = PatchCollection(
        [_patch(ask, scene.land) for ask in some], cmap="YlGnBu", alpha=0.55, zorder=2
    )
    shades.set_array(np.array([len(scene.answers.get(ask.id, ())) for ask in some]))
    shades.set_clim(0, 25)
    shades.set_edgecolor("#5b7f8c")
    shades.set_linewidth(0.5)
    axes.add_collection(shades)
    return shades


def _patch(ask: Ask, land: Land) -> Any:
    numbers = ask.numbers
    if ask.rings:
        return Polygon(np.array(max(ask.rings, key=len)))
    if ask.form == "circle":
        return Ellipse(numbers[:2], *(2 * side for side in land.degrees(numbers[2])))
    if ask.form == "polygon":
        return Polygon(np.array(numbers).reshape(-1, 2))
    x1, y1, x2, y2 = numbers
    return Rectangle((x1, y1), x2 - x1, y2 - y1)


def _taxis(scene: Scene, places: Places) -> Any:
    """Where the customer's nearest taxis are."""
    taxis = scene.answers.get(f"taxis{scene.customer}", set())
    return np.array([places[taxi][:2] for taxi in taxis if taxi in places]).reshape(-1, 2)


def _reach(scene: Scene, places: Places) -> float:
    """Half the side, in metres, of a view with the customer in its middle and all its taxis."""
    gaps = np.abs(_taxis(scene, places) - places[scene.customer][:2]) / scene.land.degrees(1.0)
    return max(200.0, 1.25 * float(gaps.max(initial=0.0)))


def _customer(axes: Any, scene: Scene, places: Places, size: float) -> None:
    x, y, _ = places[scene.customer]
    taxis = _taxis(scene, places)
    lines = [((x, y), tuple(place)) for place in taxis]
    axes.add_collection(LineCollection(lines, colors=CUSTOMER, linewidths=1.6, zorder=4))
    _rings(axes, taxis, size, CUSTOMER)
    axes.scatter([x], [y], s=7 * size, marker="*", color=CUSTOMER, zorder=5)


def _typical(scene: Scene, places: Places) -> Ask:
    """A convoy box with about a dozen members."""
    boxes = [ask for ask in scene.asks.values() if ask.focal in places and ask.form == "box"]
    return min(boxes, key=lambda ask: abs(len(scene.answers.get(ask.id, ())) - 12))


def _convoy(axes: Any, scene: Scene, places: Places, ask: Ask, size: float) -> None:
    x, y, _ = places[ask.focal or 0]
    width, height = (scene.land.degrees(size)[i] for i, size in enumerate(ask.numbers))
    corner = (x - width / 2, y - height / 2)
    look = {"edgecolor": CONVOY, "linewidth": 1.8, "zorder": 4}
    axes.add_patch(Rectangle(corner, width, height, fill=False, **look))
    members = [places[v][:2] for v in scene.answers.get(ask.id, ()) if v in places]
    _rings(axes, np.array(members).reshape(-1, 2), size, CONVOY)
    axes.scatter([x], [y], s=3 * size, marker="D", color=CONVOY, zorder=5)


def _rings(axes: Any, places: Any, size: float, colour: str) -> None:
    look = {"facecolors": "none", "edgecolors": colour, "linewidths": 1.1, "zorder": 4}
    axes.scatter(*places.T, s=2.2 * size, **look)


def _look_at(axes: Any, land: Land, place: Place, half: float) -> None:
    """So many metres to each side of a place."""
    (x, y, _), (wide, high) = place, land.degrees(half)
    axes.set(xlim=(x - wide, x + wide), ylim=(y - high, y + high))


def _legend(figure: Any, shades: Any, wanted: str) -> None:
    kinds = [kind for kind in COLOURS if ("cab" in kind) == ("cab" in wanted)]
    dots = [dot("o", COLOURS[kind], kind) for kind in kinds]
    others = [
        dot("*", CUSTOMER, f"one that looks for {wanted}s"),
        dot("D", CONVOY, "a convoy, its box"),
    ]
    look = {"frameon": False, "fontsize": 10, "labelcolor": INK, "columnspacing": 1.4}
    figure.legend(handles=[*dots, *others], loc=(0.012, 0.018), ncols=6, **look)
    bar = figure.colorbar(
        shades, cax=figure.add_axes((0.668, 0.05, 0.31, 0.012)), orientation="horizontal"
    )
    bar.outline.set_visible(False)
    bar.set_label(f"vehicles in a fence; {FENCES} of the fences are shown", color=INK, fontsize=9)
    bar.ax.tick_params(labelsize=8, colors=INK, length=0)


def dot(marker: str, colour: str, label: str) -> Line2D:
    return Line2D([], [], marker=marker, color=colour, linestyle="", markersize=7, label=label)


# --- the way of one customer


def animation(scene: Scene, path: Path) -> None:
    """The last ticks: the customer in the middle, lines to those who are nearest by the changes."""
    figure, axes = pyplot.subplots(figsize=(4.6, 4.8), facecolor=PAPER)
    figure.subplots_adjust(0.02, 0.02, 0.98, 0.93)
    paper(axes, scene.network)
    dots = axes.scatter([], [], s=16, linewidths=0, zorder=3)
    lines = LineCollection([], colors=CUSTOMER, linewidths=1.8, zorder=4)
    axes.add_collection(lines)
    rings = axes.scatter([], [], s=60, facecolors="none", edgecolors=CUSTOMER, zorder=4)
    star = axes.scatter([], [], s=110, marker="*", color=CUSTOMER, zorder=5)
    frames = list(_frames(scene))
    wide, high = scene.land.degrees(WINDOW)

    def draw(number: int) -> None:
        places, taxis = frames[number]
        x, y, kind = places[scene.customer]
        near = [
            (px, py, COLOURS[k])
            for px, py, k in places.values()
            if abs(px - x) < wide and abs(py - y) < high
        ]
        dots.set_offsets([(px, py) for px, py, _ in near])
        dots.set_color([colour for *_, colour in near])
        ends = [places[taxi][:2] for taxi in taxis if taxi in places]
        lines.set_segments([((x, y), end) for end in ends])
        rings.set_offsets(np.array(ends).reshape(-1, 2))
        star.set_offsets([(x, y)])
        _look_at(axes, scene.land, places[scene.customer], WINDOW)
        axes.set_title(
            f"{kind} {scene.customer} and its {len(taxis)} nearest {scene.land.wanted}s",
            fontsize=10,
            color=INK,
        )

    made = FuncAnimation(figure, draw, frames=len(frames))
    made.save(path, writer=PillowWriter(fps=8), dpi=90)
    pyplot.close(figure)


def _frames(scene: Scene) -> Iterator[tuple[Places, set[int]]]:
    """Where all are at each of the last ticks, and the customer's taxis then, from the changes."""
    mine = pc.equal(scene.changes["query_id"], f"taxis{scene.customer}")
    told = scene.changes.filter(mine).select(["time", "sign", "object_id"])
    times = told["time"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    steps = [*zip(times, told["sign"].to_pylist(), told["object_id"].to_pylist(), strict=True)]
    taxis: set[int] = set()
    for tick, rows in enumerate(scene.ticks):
        end = pc.max(rows["ts"].cast(pa.int64())).as_py()
        while steps and steps[0][0] <= end:
            _, sign, taxi = steps.pop(0)
            (taxis.add if sign > 0 else taxis.discard)(taxi)
        if tick >= len(scene.ticks) - LAST:
            yield scene.where(tick), set(taxis)

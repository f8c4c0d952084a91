"""The figures: small multiples with one colour for each index wherever it appears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import ticker
from matplotlib.figure import Figure

# The same part in the plane has the same colour as on the line: units, anchored, encoded, direct.
COLOURS = {
    "ui": "#8a8a8a",
    "ugc": "#8a8a8a",
    "lci": "#c98a1b",
    "vcs": "#c98a1b",
    "cei": "#1f5fa8",
    "ces": "#1f5fa8",
    "islist": "#b3433f",
    "cells": "#4f8a4c",
    "border": "#2f7d5b",
    "walk": "#8a8a8a",
    "batch": "#1f5fa8",
    "immediate": "#6fa3d8",
    "bits": "#1f5fa8",
    "sj": "#c98a1b",
    "ibs": "#b3433f",
    "ibs, row by row": "#d99a97",
    "counting": "#c98a1b",
    "twophase": "#4f8a4c",
    "scan": "#8a8a8a",
    "floor": "#333333",
    "stay": "#1f5fa8",
    "move": "#2f7d5b",
    "shared": "#1f5fa8",
    "each alone": "#b3433f",
    "paper": "#8a8a8a",
    "squares of 0.01 %": "#6fa3d8",
    "squares of 0.1 %": "#1f5fa8",
    "squares of 1 %": "#333333",
}
MARKERS = {
    "immediate": "^",
    "ibs": "D",
    "ibs, row by row": "D",
    "counting": "v",
    "twophase": "P",
    "scan": "s",
    "floor": "_",
    "walk": "s",
    "ui": "s",
    "ugc": "s",
    "lci": "^",
    "vcs": "^",
    "islist": "D",
    "cells": "v",
}
INK = "#333333"
SERIES = ("#b3433f", "#1f5fa8", "#c98a1b", "#2f7d5b", "#8a8a8a", "#6fa3d8", "#d99a97", "#4f8a4c")
DIAGONAL = "the diagonal"

mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "watchline",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.edgecolor": "#999999",
        "axes.labelcolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": "#e6e6e6",
        "legend.frameon": False,
        "lines.linewidth": 1.6,
        "lines.markersize": 4,
    }
)

Line = Sequence[float | None]


@dataclass(frozen=True)
class Panel:
    """A line for each index; `guides` are thin and dashed, in the colour of the index."""

    title: str
    unit: str
    lines: Mapping[str, Line]
    guides: Mapping[str, Sequence[Line]]


def draw(
    path: Path,
    title: str,
    axis: str,
    xs: Sequence[float],
    panels: Sequence[Panel],
    doubling: bool = True,
) -> None:
    """Panels side by side over the same x, which doubles from tick to tick or is even."""
    figure = Figure(figsize=(3.6 * len(panels) + 0.4, 3.1), layout="constrained")
    subplots = figure.subplots(1, len(panels), squeeze=False)[0]
    for place, panel in zip(subplots, panels, strict=True):
        for kind, guides in panel.guides.items():
            for line in guides:
                place.plot(xs, _gaps(line), color=COLOURS[kind], lw=0.8, ls=(0, (4, 3)), alpha=0.8)
        for kind, line in panel.lines.items():
            style = {"color": COLOURS[kind], "marker": MARKERS.get(kind, "o"), "label": kind}
            place.plot(xs, _gaps(line), **style)
        _axes(place, panel.title, panel.unit)
        if doubling:
            place.set_xscale("log", base=2)
        place.set_yscale("log")
        place.set_xticks(list(xs), [_number(x, 0) for x in xs], rotation=35 if max(xs) > 999 else 0)
        place.minorticks_off()
        place.yaxis.set_major_locator(ticker.LogLocator(10, subs=(1, 2, 5), numticks=12))
        place.yaxis.set_major_formatter(ticker.FuncFormatter(_number))
        place.set_xlabel(axis)
    _save(figure, path, title)


def curves(
    path: Path,
    title: str,
    axis: str,
    unit: str,
    xs: Sequence[float],
    lines: Mapping[str, Line],
) -> None:
    """Lines over even axes, with the colours in turn."""
    figure = Figure(figsize=(5.2, 3.1), layout="constrained")
    place = figure.subplots()
    colours = list(dict.fromkeys(COLOURS.values()))[: len(lines)]
    for colour, (name, line) in zip(colours, lines.items(), strict=True):
        place.plot(xs, _gaps(line), color=colour, marker="o", label=name)
    _axes(place, "", unit)
    place.set_xlabel(axis)
    _save(figure, path, title)


FORMULA = ", formula"


def even(
    path: Path,
    title: str,
    panels: Sequence[tuple[str, str, str, Sequence[float], Mapping[str, Line]]],
) -> None:
    """Panels side by side over even axes: title, axis, unit, xs and lines of each, with its own
    legend and the colours in turn. A formula is dashed, in the colour of what it is for."""
    figure = Figure(figsize=(3.8 * len(panels) + 0.2, 3.2), layout="constrained")
    places = figure.subplots(1, len(panels), squeeze=False)[0]
    for place, (name, axis, unit, xs, lines) in zip(places, panels, strict=True):
        kinds = [kind for kind in lines if kind != DIAGONAL and not kind.endswith(FORMULA)]
        colours = dict(zip(kinds, SERIES, strict=False)) | {DIAGONAL: INK}
        for kind, line in lines.items():
            of = kind.removesuffix(FORMULA)
            dashed = kind == DIAGONAL or of != kind
            style: dict[str, Any] = {"lw": 0.9, "ls": (0, (4, 3))} if dashed else {}
            marker = "o" if len(xs) < 20 and not dashed else ""
            place.plot(xs, _gaps(line), color=colours[of], marker=marker, label=kind, **style)
        _axes(place, name, unit)
        place.set_xlabel(axis)
        place.legend(fontsize=7)
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, dpi=150)


def scatter(
    path: Path,
    title: str,
    sizes: npt.NDArray[Any],
    times: Mapping[str, npt.NDArray[Any]],
    levels: Mapping[str, float],
) -> None:
    """Time against result size, a dot a point; `levels` are drawn as horizontal lines."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    place = figure.subplots()
    for kind, seconds in times.items():
        colour = COLOURS[kind]
        place.scatter(sizes, seconds, s=3, lw=0, alpha=0.4, color=colour, rasterized=True)
        place.plot([], [], "o", color=colour, label=kind)
        place.axhline(levels[kind], color=colour, lw=0.9, ls=(0, (4, 3)))
    _axes(place, "a point searched many times; dashed: random searches", "ns a search")
    place.set_yscale("log")
    place.yaxis.set_major_locator(ticker.LogLocator(10, subs=(1, 2, 5), numticks=12))
    place.yaxis.set_major_formatter(ticker.FuncFormatter(_number))
    place.minorticks_off()
    place.set_xlabel("queries found")
    _save(figure, path, title)


def _number(value: float, _: int) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _axes(place: Any, title: str, unit: str) -> None:
    place.set_title(title)
    place.set_ylabel(unit)
    place.grid(True, which="major", lw=0.6)
    place.set_axisbelow(True)


def _save(figure: Figure, path: Path, title: str) -> None:
    handles: dict[str, Any] = {}
    for place in figure.axes:
        lines, labels = place.get_legend_handles_labels()
        handles |= dict(zip(labels, lines, strict=True))
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    columns = min(len(handles), 4 * len(figure.axes))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=columns)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, dpi=150)


def _gaps(line: Line) -> npt.NDArray[np.float64]:
    return np.array([np.nan if y is None else y for y in line])

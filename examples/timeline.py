"""The picture of the burst: the town at its worst moment, and how memory and accuracy went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.patches import Circle

from examples import crowd, maps
from examples.audit import Audit, Worst
from examples.crowd import Evening
from examples.gauges import BOTTOM, Load
from examples.standing import Ask

KEPT, GIVEN_UP, ROOMY, OTHER, GUARDED = "#2f78b7", "#cc3322", "#8a93a0", "#a8a294", "#16805a"


def picture(evening: Evening, asks: dict[str, Ask], audit: Audit, load: Load, path: Path) -> None:
    figure = pyplot.figure(figsize=(12.5, 6.4), facecolor=maps.PAPER)
    town = figure.add_axes((0.012, 0.03, 0.47, 0.9))
    objects, size, accuracy = (
        figure.add_axes((0.545, bottom, 0.44, height))
        for bottom, height in ((0.61, 0.32), (0.39, 0.14), (0.09, 0.22))
    )
    assert audit.worst is not None
    maps.paper(town, evening.network)
    _town(town, asks, audit.worst)
    _objects(objects, audit, load)
    _bytes(size, audit, load)
    _accuracy(accuracy, asks, audit)
    for axes in (objects, size, accuracy):
        axes.set_xlim(0, _minutes(len(load.objects)))
        axes.set_facecolor(maps.PAPER)
        axes.tick_params(labelsize=8, colors=maps.INK, length=2)
        axes.spines[["top", "right"]].set_visible(False)
        axes.axvline(_minutes(evening.size.whistle), color=maps.INK, linewidth=0.8, linestyle=":")
    accuracy.set_xlabel("minutes; the match ends at the dotted line", fontsize=9, color=maps.INK)
    figure.savefig(path, dpi=80, facecolor=maps.PAPER)
    pyplot.close(figure)


def _minutes(ticks: Any) -> Any:
    return ticks * crowd.INTERVAL / 60


def _over_time(audit: Audit, name: str) -> tuple[Any, Any]:
    """Minutes at the ends of ticks, and these figures of them."""
    values = np.array([getattr(moment, name) for moment in audit.moments], dtype=np.float64)
    return _minutes(np.arange(1, len(values) + 1)), values


def _town(axes: Any, asks: dict[str, Ask], worst: Worst) -> None:
    fleet = worst.fleet
    told, missed = (np.isin(fleet.ids, list(those)) for those in (worst.told, worst.missed))
    handles = []
    for mask, colour, label in (
        (~told & ~missed, OTHER, "in no answer"),
        (told, KEPT, "in answers"),
        (missed, GIVEN_UP, "given up"),
    ):
        axes.scatter(fleet.x[mask], fleet.y[mask], s=4, color=colour, linewidths=0, zorder=3)
        handles.append(maps.dot("o", colour, f"{np.count_nonzero(mask):,} {label}"))
    x, y = crowd.STADIUM
    axes.scatter([x], [y], s=160, marker="*", color=maps.INK, zorder=5)
    handles.append(maps.dot("*", maps.INK, "the stadium"))
    for ask in asks.values():
        if ask.accuracy:
            _guard(axes, ask, worst)
    axes.set(xlim=(0.14, 0.86), ylim=(0.14, 0.86))
    maps.title(axes, f"{len(fleet.ids):,} vehicles at the worst moment", 11)
    axes.legend(handles=handles, loc="lower left", fontsize=8, framealpha=0.9)


def _guard(axes: Any, ask: Ask, worst: Worst) -> None:
    place = worst.fleet.place(ask.focal) if ask.focal is not None else ask.numbers[:2]
    if place is None:
        return
    axes.add_patch(
        Circle(place, ask.numbers[-1], fill=False, edgecolor=GUARDED, linewidth=1.6, zorder=4)
    )
    x, y = place
    paper = {"facecolor": maps.PAPER, "alpha": 0.85, "linewidth": 0, "pad": 1.0}
    label = f"{ask.name.removeprefix('the ')} {100 * (ask.accuracy or 0):.0f} %"
    axes.annotate(
        label, (x, y + ask.numbers[-1]), ha="center", va="bottom", fontsize=8, color=GUARDED,
        zorder=5, bbox=paper,
    )  # fmt: skip


def _objects(axes: Any, audit: Audit, load: Load) -> None:
    minutes, kept = _over_time(audit, "kept")
    axes.plot(minutes, load.objects, "--", color=ROOMY, label="without a bound")
    axes.fill_between(minutes, kept, load.objects, color=GIVEN_UP, alpha=0.12, linewidth=0)
    axes.plot(minutes, kept, color=KEPT, label="kept")
    axes.axhline(load.bound, color=maps.INK, linewidth=0.9, label=f"the bound, {load.bound:,}")
    axes.set_ylim(0)
    axes.legend(fontsize=8, frameon=False, loc="upper right")
    maps.title(axes, "objects", 10)


def _bytes(axes: Any, audit: Audit, load: Load) -> None:
    minutes, size = _over_time(audit, "bytes")
    axes.plot(minutes, np.array(load.bytes) / 1e3, "--", color=ROOMY)
    axes.plot(minutes, size / 1e3, color=KEPT)
    axes.set_ylim(0)
    maps.title(axes, "kB, with the shadows of what was given up", 10)


def _accuracy(axes: Any, asks: dict[str, Ask], audit: Audit) -> None:
    minutes, stated = _over_time(audit, "stated")
    _, counted = _over_time(audit, "counted")
    axes.plot(minutes, 100 * stated, color=GIVEN_UP, label="all answers, as stated")
    axes.plot(minutes, 100 * counted, ".", color=maps.INK, markersize=3, label="by brute force")
    least = min(ask.accuracy for ask in asks.values() if ask.accuracy)
    those = [name for name, ask in asks.items() if ask.accuracy == least]
    worst = [
        min(moment.guarded[name] for name in those) if moment.guarded else np.nan
        for moment in audit.moments
    ]
    label = f"the worst that demands {100 * least:.0f} %"
    axes.plot(minutes, 100 * np.array(worst), color=GUARDED, label=label)
    axes.axhline(100 * least, color=GUARDED, linewidth=0.8, linestyle=":")
    axes.set_ylim(100 * BOTTOM, 102)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    maps.title(axes, "accuracy, %", 10)

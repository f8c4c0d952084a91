"""Stores whose writes may tear, as those of a local folder do when its process dies.

`LocalStore.write` writes a temporary file, syncs it, gives it its name and syncs the folder. So a
death within the call leaves nothing, a torn temporary file, or the whole file; after the call
nothing is lost. A deletion is synced by the next write of its folder only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.support.simulation.faults import Effect, TaskFailed, strike
from tests.support.simulation.scheduler import Scheduler
from watchline.spark.store import UNFINISHED, Created, MemoryStore


class Deleted(NamedTuple):
    """A file that was deleted, and whose deletion is not synced."""

    place: str
    name: str
    content: bytes


class Disk:
    """The files of all stores, by place and name."""

    def __init__(self, scheduler: Scheduler):
        self.scheduler = scheduler
        self.places: dict[str, dict[str, bytes]] = {}
        self.deleted: list[Deleted] = []

    def store(self, place: str) -> SimulatedStore:
        return SimulatedStore(self, place)

    def lose_power(self) -> None:
        """Deletions that were not synced may be undone."""
        for place, name, content in self.deleted:
            if self.scheduler.draw.random() < 0.5:
                self.places[place].setdefault(name, content)
        self.deleted = []


class SimulatedStore(MemoryStore):
    """One place on the disk."""

    def __init__(self, disk: Disk, place: str):
        super().__init__(disk.places.setdefault(place, {}), place=place)
        self._disk = disk

    def write(self, name: str, content: bytes) -> None:
        moment = "file"
        if self.place.endswith("/merge"):
            moment = "merge row" if name.startswith("row-") else "merge file"
        self._put(name, content, moment)

    def create_if_absent(self, name: str, content: Callable[[], bytes]) -> Created:
        if name in self.files:
            return Created(self.files[name], is_new=False)
        made = content()
        self._put(name, made, "pin")
        return Created(made, is_new=True)

    def delete(self, name: str) -> None:
        if name in self.files:
            self._disk.deleted.append(Deleted(self.place, name, self.files.pop(name)))

    def _put(self, name: str, content: bytes, moment: str) -> None:
        """Write a file; a fault may strike meanwhile."""
        effect = self._disk.scheduler.due(moment)
        if effect is None:
            self.files[name] = content
            self._disk.deleted = [d for d in self._disk.deleted if d.place != self.place]
            return
        if effect is Effect.FAIL:
            raise TaskFailed("no space left on device")
        draw = self._disk.scheduler.draw
        left = draw.choice(("nothing", "a torn file", "the file"))
        self._disk.scheduler.note(f"    {name} leaves {left}")
        if left == "a torn file":
            torn = content[: draw.randrange(len(content) + 1)]
            self.files[f"{name}.{draw.getrandbits(128):032x}{UNFINISHED}"] = torn
        elif left == "the file":
            self.files[name] = content
        strike(effect)

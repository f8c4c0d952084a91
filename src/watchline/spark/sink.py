"""Spark's file sink, read the way that makes it exactly-once: by its own list of committed files.

A plain listing of the folder also shows files of batches that never committed.
"""

from __future__ import annotations

import json
import os
from urllib.parse import unquote, urlparse


def committed_files(folder: str) -> list[str]:
    """The files of committed batches, in order of their batches."""
    log = os.path.join(folder, "_spark_metadata")
    if not os.path.isdir(log):
        return []
    entries = [name for name in os.listdir(log) if name.partition(".")[0].isdigit()]
    # A compacted entry repeats what the entries before it say.
    entries.sort(key=lambda name: int(name.partition(".")[0]))
    found: dict[str, None] = {}
    for name in entries:
        with open(os.path.join(log, name), encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("{"):
                    path = unquote(urlparse(json.loads(line)["path"]).path)
                    found[os.path.join(folder, os.path.basename(path))] = None
    return list(found)

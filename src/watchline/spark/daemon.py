"""The process that Spark forks its Python workers from, with all that they import.

Importing all of it takes a process more than a second; here it is done once. No Delta table is
opened before the fork: its threads would not survive it.

Spark puts an archive of PySpark's sources first on the path of its workers, and Python compiles
what it imports from an archive anew in each process: a second in each. Where the same release is
installed, that one is taken.

A worker collects garbage after each task. What is imported here is frozen before the fork: the
collector would otherwise go through all of it, 0.07 seconds for each task of a micro-batch.
"""

import gc
import os
import sys
from importlib.machinery import PathFinder
from zipfile import ZipFile


def _installed_first() -> None:
    """Move Spark's archives behind what is installed, if that is the same release."""
    archives = [path for path in sys.path if path.endswith(("pyspark.zip", "-src.zip"))]
    others = [path for path in sys.path if path not in archives]
    installed = PathFinder.find_spec("pyspark", others)
    if (
        installed is None
        or installed.origin is None
        or PathFinder.find_spec("py4j", others) is None
    ):
        return
    with open(os.path.join(os.path.dirname(installed.origin), "version.py"), "rb") as file:
        release = file.read()
    for path in archives:
        if path.endswith("pyspark.zip") and os.path.isfile(path):
            with ZipFile(path) as archive:
                if archive.read("pyspark/version.py") != release:
                    return
    sys.path[:] = [*others, *archives]


_installed_first()

import pyspark.worker  # noqa: E402, F401

import watchline.spark.joining.route  # noqa: E402
import watchline.spark.joining.shard  # noqa: E402
import watchline.spark.matching  # noqa: E402
import watchline.spark.shard_task  # noqa: E402
import watchline.spark.tracking.merge  # noqa: E402, F401  (and all that they need)


def serve() -> None:
    """Fork workers as Spark asks for them, until Spark ends."""
    from pyspark.daemon import manager

    gc.freeze()
    manager()


if __name__ == "__main__":
    serve()

"""The process that Spark forks its Python workers from, with the kernels already loaded.

Loading Numba and the compiled kernels takes a new worker two seconds; here it is done once. No
Delta table is opened before the fork: its threads would not survive it.
"""

from pathlib import Path

import pyarrow as pa

from watchline.catalog import Catalog
from watchline.index.result import one_thread
from watchline.moving import events
from watchline.moving.merge import merge, pack, unpack
from watchline.tracking import Tracker
from watchline.tracking.watcher import Watcher

# A query of each kind, and a few rows that meet them.
_QUERIES = """
    CREATE STREAM s (id BIGINT, v DOUBLE, x DOUBLE, y DOUBLE, t TIMESTAMP)
        OBJECT id TIME t POINT (x, y);
    CREATE QUERY a AS SELECT * FROM s WHERE v > 0 EMIT CHANGES;
    CREATE QUERY b AS SELECT * FROM s INSIDE (0, 0, 2, 2);
    CREATE QUERY c AS SELECT * FROM s WHERE v > 0 INSIDE CIRCLE ('M', 1, 5);
    CREATE QUERY d AS SELECT * FROM s kNN (2, 0, 0);
    CREATE QUERY e AS SELECT * FROM s kNN ('M', 1, 2)
"""
_ROWS = 4


def load_kernels() -> None:
    """All that most jobs need, unless it would have to be compiled: then those who need it will."""
    kernel = events.run
    module = kernel.py_func.__module__.rpartition(".")[2]
    if not any(Path(kernel._cache.cache_path).glob(f"{module}.{kernel.__name__}-*.nbi")):
        return
    with one_thread():
        catalog = Catalog.of([_QUERIES])
        for parts in (1, 2):
            tracker = Tracker.over(Watcher(catalog, "s", catalog.version), "", parts)
            for batch in range(2):
                tracker.process(_rows(batch))
                if (told := tracker.timeline()) is not None:
                    merge([unpack(pack(told))], tracker.stream)


def _rows(batch: int) -> pa.Table:
    numbers = pa.array([float(i + batch) for i in range(_ROWS)])
    times = pa.array([batch * _ROWS + i for i in range(_ROWS)], pa.timestamp("us", "UTC"))
    return pa.table(
        {"id": pa.array(range(_ROWS), pa.int64()), "v": numbers, "x": numbers, "y": numbers}
        | {"t": times}
    )


load_kernels()

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()

"""The process that Spark forks its Python workers from, with the kernels already loaded.

Loading Numba and the compiled kernels takes a new worker half a second; here it is done once. No
Delta table is opened before the fork: its threads would not survive it.
"""

import watchline.tracking  # noqa: F401  (loads Numba and the kernels)

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()

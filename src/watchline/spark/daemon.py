"""The process that Spark forks its Python workers from, with all that they import.

Importing all of it takes a process more than a second; here it is done once. No Delta table is
opened before the fork: its threads would not survive it.
"""

import watchline.spark.joining
import watchline.spark.merging  # noqa: F401  (and all that they need)

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()

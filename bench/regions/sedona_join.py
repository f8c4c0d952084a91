"""The join of Apache Sedona: a program that `bench.regions.sedona` starts with a Spark of its own.

    python bench/regions/sedona_join.py JAR POINTS REGIONS

Both files are Parquet. Their rows become geometries, which stay in memory, before the first run.
The program prints the number of pairs and their checksum. Then each line of standard input makes
the join run once, and the program prints its seconds.
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

SETTINGS = {
    "spark.sql.extensions": "org.apache.sedona.sql.SedonaSqlExtensions",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.sedona.core.serde.SedonaKryoRegistrator",
    # A geometry takes some hundred bytes as an object.
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(jar: str) -> SparkSession:
    builder = SparkSession.builder.master("local[*]").config("spark.jars", jar)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def cached(df: DataFrame) -> DataFrame:
    kept = df.cache()
    kept.count()
    return kept


def join(spark: SparkSession, points: str, regions: str) -> DataFrame:
    rows = spark.read.parquet(points)
    at = cached(rows.withColumn("point", fn.expr("ST_Point(x, y)")))
    polygon = fn.expr("ST_GeomFromWKB(wkb)").alias("region")
    held_by = cached(spark.read.parquet(regions).select("query_id", polygon))
    # ST_Intersects is slower, and so are points that are made of the file's columns in each run.
    pairs = at.join(fn.broadcast(held_by), fn.expr("ST_Contains(region, point)"))
    return pairs.select("query_id", *rows.columns)


def fingerprint(pairs: DataFrame) -> tuple[int, int]:
    """As in bench/matches/experiments.py, which needs packages that this PySpark has not."""
    mixed = fn.pmod(fn.xxhash64("query_id", "ts"), fn.lit(2**31)).alias("h")
    count, total = pairs.select(mixed).agg(fn.count("h"), fn.sum("h")).collect()[0]
    return int(count), int(total)


def main() -> None:
    jar, points, regions = sys.argv[1:]
    pairs = join(session(jar), points, regions)
    print(*fingerprint(pairs), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        pairs.write.format("noop").mode("overwrite").save()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()

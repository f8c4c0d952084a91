"""The formats and options of a job that Spark has itself, so that a misspelt one is found early.

Spark looks a format up when the job is planned, and ignores an option that it does not know.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from watchline.errors import InvalidQuery
from watchline.names import hint

_BUILT_IN_FILES = ("parquet", "json", "csv", "orc", "text")
# Formats that Spark's own file sink writes, with a list of committed files beside them.
FILE_SINKS = (*_BUILT_IN_FILES, "avro")
# Formats that need a path.
FILE_FORMATS = (*FILE_SINKS, "delta")
# Formats that are read with the declared columns: a stream of files must be given its schema. Text
# has one of its own.
NEED_SCHEMA = tuple(format for format in FILE_SINKS if format != "text")
_BUILT_IN = (
    *_BUILT_IN_FILES,
    *"rate rate-micro-batch socket console memory noop jdbc binaryFile xml".split(),
)
# Formats of well-known packages, by the package to name.
_PACKAGES = {
    "avro": "org.apache.spark:spark-avro_2.13:<Spark's version>",
    "delta": "io.delta:delta-spark_2.13:<the version for Spark's>",
}
# Settings and variables by which classes may come in that we cannot see.
_CLASSES = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
_OUTSIDE = ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT")

_FILES = (
    "maxFilesPerTrigger maxBytesPerTrigger maxFileAge maxCachedFiles discardCachedInputRatio"
    " latestFirst fileNameOnly cleanSource sourceArchiveDir path basePath pathGlobFilter"
    " recursiveFileLookup modifiedBefore modifiedAfter ignoreCorruptFiles ignoreMissingFiles"
    " compression codec partitionOverwriteMode maxRecordsPerFile retention checkpointLocation"
).split()
_TEXTS = (
    "dateFormat timestampFormat timestampNTZFormat enableDateTimeParsingFallback mode"
    " columnNameOfCorruptRecord lineSep encoding charset locale timeZone samplingRatio"
).split()
_OPTIONS = {
    "parquet": "mergeSchema datetimeRebaseMode int96RebaseMode".split(),
    "orc": ["mergeSchema"],
    "text": "wholetext lineSep".split(),
    "csv": [
        *_TEXTS,
        *"sep delimiter header inferSchema enforceSchema quote quoteAll escape".split(),
        "escapeQuotes",
        *"comment ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace nullValue emptyValue".split(),
        *"nanValue positiveInf negativeInf maxColumns maxCharsPerColumn multiLine".split(),
        *"charToEscapeQuoteEscaping unescapedQuoteHandling preferDate extension".split(),
    ],
    "json": [
        *_TEXTS,
        *"primitivesAsString prefersDecimal allowComments allowUnquotedFieldNames".split(),
        *"allowSingleQuotes allowNumericLeadingZeros allowNonNumericNumbers multiLine".split(),
        *"allowBackslashEscapingAnyCharacter allowUnquotedControlChars ignoreNullFields".split(),
        *"dropFieldIfAllNull useUnsafeRow maxNestingDepth maxNumLen maxStringLen".split(),
        *"singleVariantColumn writeNonAsciiCharacterAsCodePoint pretty".split(),
    ],
}


def check_format(table: str, format: str, settings: Mapping[str, Any]) -> None:
    """Refuse a format that neither Spark has nor a package of the job can bring."""
    if format == "kafka":
        raise InvalidQuery(
            f"[{table}] a job neither reads nor writes Kafka: nothing decodes or encodes its column"
            " 'value'. In Python it works, with Spark's from_json before wl.changes and to_json"
            " after it"
        )
    if format in _BUILT_IN or any(name in settings for name in _CLASSES):
        return
    if any(name in os.environ for name in _OUTSIDE):
        return
    if format in _PACKAGES:
        remedy = f'name its package: [spark] "spark.jars.packages" = "{_PACKAGES[format]}"'
    else:
        near = hint(format, [*_BUILT_IN, *_PACKAGES])
        remedy = 'check its name, or name its package under [spark] as "spark.jars.packages"' + near
    raise InvalidQuery(f"[{table}] Spark does not know the format {format!r} by itself: {remedy}")


def check_options(table: str, format: str, options: Iterable[str]) -> None:
    """Refuse a misspelt option of Spark's own file formats, which Spark would ignore.

    Names that resemble none are left alone: releases of Spark and codecs have their own.
    """
    if format not in _OPTIONS:
        return
    known = {name.casefold(): name for name in [*_FILES, *_OPTIONS[format]]}
    for option in options:
        near = get_close_matches(option.casefold(), known, n=1, cutoff=0.8)
        if option.casefold() not in known and near:
            raise InvalidQuery(
                f"[{table}] format {format!r} has no option {option!r}; did you mean"
                f" {known[near[0]]!r}?"
            )

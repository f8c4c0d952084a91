"""DataFrames that users give, checked against the declared stream before any plan is made."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from watchline.errors import SchemaMismatch
from watchline.model import Attribute, Stream, Type
from watchline.rows import check_columns

_INTEGERS = (st.ByteType, st.ShortType, st.IntegerType)
_FITS: dict[Type, tuple[type[st.DataType], ...]] = {
    Type.DOUBLE: (st.DoubleType, st.FloatType, *_INTEGERS),
    Type.BIGINT: (st.LongType, *_INTEGERS),
    Type.STRING: (st.StringType,),
    Type.BOOLEAN: (st.BooleanType,),
    Type.TIMESTAMP: (st.TimestampType, st.TimestampNTZType),
}
SPARK: dict[Type, st.DataType] = {
    Type.DOUBLE: st.DoubleType(),
    Type.BIGINT: st.LongType(),
    Type.STRING: st.StringType(),
    Type.BOOLEAN: st.BooleanType(),
    Type.TIMESTAMP: st.TimestampType(),
}


def check_frame(df: object) -> None:
    """Refuse what is no DataFrame of Spark."""
    if not isinstance(df, DataFrame):
        raise SchemaMismatch(f"rows come as a Spark DataFrame, not as {type(df).__name__}")


def quoted(name: str) -> str:
    """A column's name as Spark's SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def check_schema(
    schema: st.StructType, stream: Stream, own: tuple[str, ...] = ("query_id",)
) -> None:
    """Refuse a DataFrame that is not the declared stream, naming all that is wrong."""
    types = {f.name: f.dataType for f in schema.fields}

    def misfit(attribute: Attribute) -> str | None:
        found = types[attribute.name]
        return None if isinstance(found, _FITS[attribute.type]) else found.simpleString()

    check_columns("the DataFrame does", schema.names, misfit, stream, own)

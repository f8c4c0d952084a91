"""The settings of a session, as they are given to Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from watchline.errors import InvalidQuery
from watchline.spark.sessions import _settings

JAVA = "spark.driver.extraJavaOptions"


@pytest.fixture(autouse=True)
def _not_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def test_a_users_java_options_stand_after_ours() -> None:
    made = _settings("local[2]", {JAVA: "-Xss4m"})[JAVA]
    assert made.startswith("-Dlog4j2.configurationFile=file:")
    assert made.endswith(" -Xss4m")
    own = "-Dlog4j2.configurationFile=file:mine"
    assert _settings(None, {JAVA: own})[JAVA] == own


def test_a_users_settings_win_and_are_texts() -> None:
    made = _settings(None, {"spark.ui.enabled": True, "spark.x": 5})
    assert (made["spark.ui.enabled"], made["spark.x"]) == ("true", "5")
    assert made["spark.master"] == "local[*]"
    assert JAVA not in _settings("spark://host:7077", {})


def test_spark_submit_chooses_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert "spark.master" not in _settings(None, {})


def test_what_is_no_setting_of_spark() -> None:
    with pytest.raises(InvalidQuery, match=r"unlike 'shard'; did you mean 'shards'\?"):
        _settings(None, {"shard": "2"})


def test_local_checkpoints_start_few_processes() -> None:
    """Spark's own choice for a local disk starts ten for each file."""
    key = "spark.sql.streaming.checkpointFileManagerClass"
    assert _settings(None, {})[key].endswith(".FileSystemBasedCheckpointFileManager")
    assert _settings(None, {key: "mine"})[key] == "mine"
    assert key not in _settings("spark://host:7077", {})


@pytest.mark.spark
def test_no_file_of_checksums_beside_a_local_file(spark: Any, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "rows"))
    written = sorted(path.name for path in (tmp_path / "rows").iterdir())
    assert "_SUCCESS" in written
    assert not [name for name in written if name.endswith(".crc")]


@pytest.mark.spark
def test_the_class_is_one_of_this_spark(spark: Any) -> None:
    name = spark.conf.get("spark.sql.streaming.checkpointFileManagerClass")
    assert spark._jvm.java.lang.Class.forName(name).getSimpleName() == name.rpartition(".")[2]

"""The home that Spark's Python processes import pyspark from: the one installed, and compiled."""

import os
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_jobs import home


def told_by_a_task(_row: object) -> list[str]:
    """Run in a Python process of Spark's: what it has imported, and from which compiled file."""
    return [str(vars(pyspark)[name]) for name in ("__file__", "__cached__")]


def test_sparks_python_processes_import_what_is_compiled(spark: SparkSession) -> None:
    context = spark.sparkContext
    ((file, cached),) = context.parallelize([0], 1).map(told_by_a_task).collect()
    assert Path(file).resolve() == Path(pyspark.__file__).resolve()
    assert Path(cached).is_file()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A pyspark as pip installs it."""
    folder = tmp_path / "pyspark"
    (folder / home.ZIPPED.parent).mkdir(parents=True)
    (folder / home.ZIPPED).write_bytes(b"")
    (folder / "jars").mkdir()
    return folder


def test_a_home_is_made_once_for_each_pyspark(installed: Path, tmp_path: Path) -> None:
    made = home.find_home(installed, tmp_path / "cache")
    assert made is not None
    assert (made / "jars").resolve() == installed / "jars"
    assert (made / home.ZIPPED / "pyspark").resolve() == installed
    assert home.find_home(installed, tmp_path / "cache") == made
    assert [one.name for one in (tmp_path / "cache").iterdir()] == [made.name]


def test_there_is_none_where_it_cannot_be_made_or_has_no_use(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert home.find_home(installed, tmp_path / "file") is None
    (installed / home.ZIPPED).unlink()
    assert home.find_home(installed, tmp_path / "cache") is None


def test_a_home_that_is_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(home.VARIABLE, "/opt/spark")
    with home.compiled_home():
        assert os.environ[home.VARIABLE] == "/opt/spark"
    assert os.environ[home.VARIABLE] == "/opt/spark"

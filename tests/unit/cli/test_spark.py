"""mqk spark: its jobs, and what it says where Spark is not installed."""

import sys

import pytest

from adapter.cli import spark
from adapter.cli.lazy import LazyCommand
from adapter.cli.main import run


def test_spark_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("spark_jobs.")]:
        monkeypatch.delitem(sys.modules, name)
    known = [name for name in sys.modules if name.startswith("pyspark.")]  # found without pyspark
    for name in ("pyspark", *known):
        monkeypatch.setitem(sys.modules, name, None)
    assert run(["spark", "archive", "--help"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("mqk: ")
    assert "is not installed, and Spark's jobs need it: install mqk with the extra `spark`" in said


def test_what_else_is_missing_is_not_taken_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(spark.JOBS, "archive", LazyCommand("spark_jobs.nowhere:archive", ""))
    assert run(["spark", "archive", "--help"]) == 1
    with pytest.raises(ModuleNotFoundError):
        spark.spark.get_command(None, "archive")  # type: ignore[arg-type]


def test_a_job_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spark", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err

"""What needs no Spark: names, options, versions, jars, and the sentence in what Spark raises."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.pandas import serializers

from adapter.cli.main import run
from adapter.localkafka import jars
from spark_jobs import browsing, pandas_state, rows, running, session, sinks, topics
from spark_jobs.descriptors import COLUMNS
from spark_jobs.errors import SparkJobError, explain
from spark_jobs.options import SourceOptions
from spark_jobs.property_types import as_typed

TOPICS = ["mq.QM1.q.ORDERS", "mq.QM1.q.ORDERS-2", "mq.QM1.q.A.B", "mq.QM2.q.ORDERS", "other"]


def test_the_topic_of_a_queue_is_that_of_its_last_definition() -> None:
    assert topics.choose(TOPICS, "ORDERS", "QM1") == "mq.QM1.q.ORDERS-2"
    assert topics.choose(TOPICS, "A.B", "QM1") == "mq.QM1.q.A.B"
    with pytest.raises(SparkJobError, match=r"those that are there: A\.B, ORDERS"):
        topics.choose(TOPICS, "NONE", "QM1")


def test_what_a_plan_would_raise_is_no_cause() -> None:
    """Spark prints the plan of a query that failed, with the sentences of ours that are in it."""
    plan = "Logical Plan:\nProject [raise_error(concat(mqk: the record , topic#10, is a part))]"
    said = f"[STREAM_FAILED] boom\n=== Streaming Query ===\nId: 1\n{plan}"
    trace = f"{said}\n\tat org.apache.X(X.scala)\nCaused by: java.lang.RuntimeException: no room"
    assert explain(RuntimeError(said)) == "[STREAM_FAILED] boom"
    assert explain(RuntimeError(trace)) == "no room"


def test_the_cause_is_found_in_python_and_in_the_jvm() -> None:
    proxy = (
        "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call "
        'last):\n  File "a.py", line 1, in call\n    work()\n    ~~~~^^\nValueError: boom\n\n'
        "\tat py4j.Protocol(Protocol.java)\n"
    )
    assert explain(RuntimeError(proxy)) == "ValueError: boom"
    called = "An error occurred while calling o294.start.\n: java.io.IOException: mkdir of /proc\n"
    assert explain(RuntimeError(called + "\tat a.b(C.java)")) == "mkdir of /proc"


def test_the_cause_is_found_in_the_jvm_that_python_called() -> None:
    """As collect() in a sink raises it: the last line of Python says only which call failed."""
    called = (
        'Return Message: Traceback (most recent call last):\n  File "a.py", line 1, in call\n'
        "    raise Py4JJavaError(\npy4j.protocol.Py4JJavaError: An error occurred while calling "
        "o673.collectToPython.\n: org.apache.spark.{}\n\tat a.b(C.scala:1)\n"
    )
    again = "Caused by: py4j.Py4JException: Return Message: Traceback (most recent call last):\n"
    aborted = called.format("SparkException: Job aborted")
    assert explain(RuntimeError(aborted + again)) == "Job aborted"
    within = aborted + "Caused by: java.io.IOException: no room\n\tat d.e(F.java:1)\n"
    assert explain(RuntimeError(within + again)) == "no room"
    lost = (
        "sql.kafka010.KafkaIllegalStateException: Some data may have been lost because they are "
        "not available in Kafka any more;\neither the data was aged out.\nReason: {}"
    )
    for reason, end in (
        ("Could not read records in offset [7, 14) for topic partition mq.QM1.q.Q-0", "\nwith"),
        ("Partitions HashSet(mq.QM1.q.Q-0) have been deleted", ". SQLSTATE: XXKST\n"),
    ):
        told = explain(RuntimeError(called.format(lost.format(reason + end)) + again))
        assert f"({reason}): consumed messages are kept" in told


def test_rows_of_both_sources_have_the_same_columns() -> None:
    assert tuple(name for name, _, _ in rows.ARROW) == COLUMNS


def test_options_are_read_in_whatever_case_they_come() -> None:
    told = {"QUEUE": "Q", "readmode": "GET", "Consumer": "c", "maxmessagespertrigger": "5"}
    found = SourceOptions.read({**told, "kafka.security.protocol": "SSL"})
    assert (found.queue, found.read_mode, found.consumer) == ("Q", "get", "c")
    assert found.max_messages_per_batch == 5
    assert SourceOptions.read({"queue": "Q", "startingoffsets": '{"5": 7}'}).starting == {5: 7}
    with pytest.raises(SparkJobError, match="leave out startingOffsets"):
        SourceOptions.read({**told, "startingOffsets": "earliest"})
    assert found.kafka == {"security.protocol": "SSL"}


@pytest.mark.parametrize("told", ['{"5": -3}', '{"5": 1.5}', '{"5": true}', '{"-1": 5}', "[5]"])
def test_offsets_that_are_none_are_refused(told: str) -> None:
    with pytest.raises(SparkJobError, match="startingOffsets is earliest, latest, or an offset"):
        SourceOptions.read({"queue": "Q", "startingOffsets": told})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e16, "1.0E16"),
        (-1.5e300, "-1.5E300"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-0.0, "-0.0"),
        (1.5, "1.5"),
        (float("inf"), "Infinity"),
        (-float("inf"), "-Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_a_double_is_the_text_of_spark_s_cast(value: float, text: str) -> None:
    assert rows.as_text(value) == text
    assert repr(as_typed(text, "double")) == repr(value)


@pytest.mark.parametrize(
    ("count", "wanted"),
    [
        (1, {"0": 3, "5": 2, "9": 11}),
        (12, {"0": 3, "5": 4, "9": 20}),
        (100, {"0": 8, "5": 7, "9": 20}),
    ],
)
def test_a_limit_is_spent_on_the_highest_lanes_first(count: int, wanted: dict[str, int]) -> None:
    start, ends = {"0": 3, "5": 2, "9": 10}, {"0": 8, "5": 7, "9": 20}
    assert browsing.cut_to(start, ends, count) == wanted


def test_the_sentence_of_ours_is_found_within_what_is_wrapped_around_it() -> None:
    inner = SparkJobError("mqk: queue X is gone: define it")
    outer = RuntimeError("[STREAM_FAILED] Query [id = 1] terminated\n at org.apache.Foo(Foo.java)")
    outer.__cause__ = inner
    assert explain(outer) == "queue X is gone: define it"
    trace = 'raise SparkJobError(f"mqk: {text}")\nSparkJobError: mqk: Q is gone SQLSTATE: P0001'
    assert explain(RuntimeError(trace)) == "Q is gone"
    java = "An error occurred\nCaused by: java.lang.RuntimeException: wrong\n at a.b\n"
    java += "Caused by: org.apache.kafka.common.errors.TimeoutException: no broker\n at c.d"
    assert explain(RuntimeError(java)) == "no broker"
    assert explain(RuntimeError("")) == "RuntimeError"
    assert len(explain(RuntimeError("x" * 9999))) <= 500


def test_another_version_of_spark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "3.5.9")
    with pytest.raises(SparkJobError, match=r"Spark 3.5.9 is .* `pip install pyspark==4.0.0`"):
        session.spark_session()
    monkeypatch.setattr("importlib.metadata.version", lambda _name: "4.1.4")
    session.check_version()
    assert session.connector_jars().folder.name.startswith("spark-4.1.4-")


def test_finding_spark_n8_a_spark_that_nobody_tried_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    untried = f"4.{len(session.TESTED)}.0"
    monkeypatch.setattr("importlib.metadata.version", lambda _name: untried)
    monkeypatch.delattr(serializers, "ApplyInPandasWithStateSerializer")
    for module in ("archive", "audit", "flights", "lag", "sinks", "sources", "transforms"):
        importlib.import_module(f"spark_jobs.{module}")
    importlib.reload(pandas_state).apply_correction()
    sentence = f"Spark {untried} is installed, and mqk works with Spark 4.0, "
    place = ["--bootstrap-server", "127.0.0.1:1"]
    for job in (["jars"], ["audit", "Q", *place], ["lag", "/nowhere", *place]):
        assert run(["spark", *job]) == 1
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("version", [11, 25])
def test_another_java_is_refused(
    version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}.0.1\"'\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SparkJobError, match=rf"Java {version}.* JAVA_HOME"):
        session.check_java()


def test_jars_that_cannot_be_fetched_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MQK_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(SparkJobError, match=r"jars of Spark 4.0.0 .* install Maven"):
        session.jar_paths()


def test_the_versions_of_pyspark_and_of_the_connectors_are_one() -> None:
    session.check_version()
    pins = (Path(__file__).parents[2] / "constraints.txt").read_text()
    assert f"pyspark=={session.named_version()} " in pins
    assert session.connector_jars().version == session.named_version()
    assert jars.kafka_jars().folder != session.connector_jars().folder


@pytest.mark.parametrize("name", ["", "x" * 36])
def test_an_application_id_fits_a_queues_name(name: str) -> None:
    with pytest.raises(Exception, match="application_id has 1 to 35 characters"):
        sinks.to_queue("Q", address="127.0.0.1:1414", application_id=name)


def test_property_values_as_text() -> None:
    given: dict[str, Any] = {"n": 1, "t": False, "f": 1.5, "s": "x", "b": b"\xff", "z": None}
    texts = [("n", "1"), ("t", "false"), ("f", "1.5"), ("s", "x"), ("b", "FF"), ("z", None)]
    assert rows.as_texts(given) == texts


def test_rows_of_a_report_are_columns() -> None:
    found = [{"name": "A", "oldest_age_s": 0.5}, {"name": "LONG", "oldest_age_s": None}]
    assert running.as_lines({"batches": 1234, "lag": found}).split("\n") == [
        "batches                  1,234",
        "name  oldest age s",
        "   A           0.5",
        "LONG             -",
    ]
    assert running.as_lines({"lag": []}) == ""

"""A Spark session that can read queues: with Spark's connectors, bounded, on loopback alone.

Spark comes with pip, its connectors for Kafka and Avro with Maven, in the version of the Spark that
is installed; pom.xml beside this file names the version that mqk is installed with. They are kept
where Kafka's jars are. This module knows Spark's settings; it must not know what is read or
written.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import metadata
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from adapter.localkafka.errors import LocalKafkaError
from adapter.localkafka.jars import Jars, Say, find_java, resolve_jars, say_nothing
from spark_jobs.errors import SparkJobError
from spark_jobs.home import compiled_home

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
LOGGING = HERE / "log4j2.properties"
JAVA_VERSIONS = range(17, 22)
"""Spark 4 runs on 17 and 21; from 24 on Java lacks what Hadoop's libraries ask for."""
TESTED = ("4.0", "4.1", "4.2", "4.3")
"""Of Spark. A later release may have moved what this package builds on."""
CONNECTORS = {
    "Kafka": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "Avro": "org.apache.spark.sql.avro.AvroDataToCatalyst",
}
LOGGERS = (
    *("py4j", "py4j.clientserver", "py4j.java_gateway"),
    *("SQLQueryContextLogger", "DataFrameQueryContextLogger"),
)
LOCAL = "local[2]"
ERROR_OUTPUT = 2
QUOTED_LINES_MAX = 10
GATEWAY = "PYSPARK_GATEWAY_PORT"  # spark-submit has started the JVM before this program


def connector_jars() -> Jars:
    """Spark's connectors for Kafka and Avro, of the Spark that is installed."""
    return Jars(POM, "Spark", "spark.version", 10, metadata.version("pyspark"))


def named_version() -> str:
    """The version of Spark that mqk is installed with."""
    return Jars(POM, "Spark", "spark.version", 10).version


def spark_session(
    name: str = "mqk",
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    connectors: bool = True,
    say: Say = say_nothing,
) -> SparkSession:
    """Return the session of this program, or start one: Spark with what queues need.

    master: where Spark runs; None: what spark-submit says, else two threads of this process.
    settings: Spark's, in place of those here. connectors: whether Spark's connectors are needed;
    format("mq") does without them. say: hears of the connectors being fetched.
    The log level of a session that is there already stays as it is.
    Raises SparkJobError for a wrong version of Spark or Java, and for connectors that are missing.
    """
    check_version()
    quieten()
    builder = SparkSession.builder.appName(name)
    is_ours = GATEWAY not in os.environ and SparkSession.getActiveSession() is None
    is_local = (master or LOCAL).startswith("local")
    if is_ours:
        check_java()
        make_importable()
        if is_local:
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        wanted = _settings(master or LOCAL, jar_paths(say) if connectors else [])
        for key, value in {**wanted, **(settings or {})}.items():
            builder = builder.config(key, value)
    else:
        for key, value in (settings or {}).items():
            builder = builder.config(key, value)
    with unheard(), compiled_home() if is_ours and is_local else nullcontext():
        spark = builder.getOrCreate()
    if is_ours and not debugging():
        spark.sparkContext.setLogLevel("OFF")
    if connectors:
        check_connectors(spark)
    return spark


def _settings(master: str, jars: list[str]) -> dict[str, str]:
    """What a session is started with."""
    settings = {
        "spark.master": master,
        "spark.jars": ",".join(jars),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.speculation": "false",  # a second copy of a task would have its effects twice
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    if master.startswith("local"):
        settings |= {
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    if not debugging():
        logging_file = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
        settings["spark.driver.extraJavaOptions"] = logging_file
    return settings


def jar_paths(say: Say = say_nothing) -> list[str]:
    """The files of Spark's connectors; fetched with Maven if this is the first time."""
    try:
        folder = resolve_jars(say, connector_jars())
    except LocalKafkaError as problem:
        raise SparkJobError(problem.text) from problem
    return sorted(str(path) for path in folder.glob("*.jar"))


def check_version() -> None:
    """Refuse a Spark that this package was not tested with."""
    found = metadata.version("pyspark")
    if ".".join(found.split(".")[:2]) not in TESTED:
        known = f"{', '.join(TESTED[:-1])} and {TESTED[-1]}"
        raise SparkJobError(
            f"Spark {found} is installed, and mqk works with Spark {known}: type "
            f"`pip install pyspark=={named_version()}`"
        )


def check_java() -> None:
    """Refuse a Java that Spark does not run on."""
    newest = JAVA_VERSIONS[-1]
    try:
        java = find_java()
    except LocalKafkaError as problem:
        raise SparkJobError(f"Spark runs on Java, and none can be used: {problem.text}") from None
    version = int(java.identity.partition("-")[0])
    if version not in JAVA_VERSIONS:
        raise SparkJobError(
            f"{java.path} is Java {version}, and Spark {connector_jars().version} runs on "
            f"{JAVA_VERSIONS[0]} to {newest}: point JAVA_HOME at one of those"
        )


def check_connectors(spark: SparkSession) -> None:
    """Refuse a session that was started without Spark's connectors."""
    jvm = spark._jvm  # what spark-submit's own shell uses
    assert jvm is not None, "a session of this program has a JVM"
    missing = [
        name
        for name, entry in CONNECTORS.items()
        if not jvm.org.apache.spark.util.Utils.classIsLoadable(entry)
    ]
    if missing:
        raise SparkJobError(
            f"Spark was started without its connectors for {' and '.join(missing)}: take the "
            "session of spark_jobs.session.spark_session(), or type `spark-submit --jars "
            '"$(mqk spark jars)" ...`'
        )


def make_importable() -> None:
    """Let Spark's Python processes import what this one imports, from where it does."""
    top = HERE.parent
    beside = top / "adapter" / "toplevel"  # of a checkout: modules that are installed beside it
    ours = [str(top), *([str(beside)] if beside.is_dir() else [])]
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([*ours, *(one for one in known if one)])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    sys.path.extend(one for one in ours if one not in sys.path)


def quieten() -> None:
    """Keep Spark's bridge to the JVM from printing tracebacks of what is raised anyway."""
    if not debugging():
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def unheard() -> Iterator[None]:
    """Keep a JVM that is started here from writing to standard error, from now to its end.

    Java and Spark greet there in a dozen lines. If none starts, its last words are in the error.
    """
    if debugging() or GATEWAY in os.environ:
        yield
        return
    with tempfile.TemporaryFile() as heard:
        own = os.dup(ERROR_OUTPUT)
        os.dup2(heard.fileno(), ERROR_OUTPUT)
        try:
            yield
        except PySparkRuntimeError as problem:
            heard.seek(0)
            words = heard.read().decode(errors="replace").strip().splitlines()[-QUOTED_LINES_MAX:]
            raise SparkJobError(
                f"Spark's JVM did not start ({problem}). It said:\n{chr(10).join(words)}"
            ) from problem
        finally:
            os.dup2(own, ERROR_OUTPUT)
            os.close(own)


def debugging() -> bool:
    """Whether everything that Spark says is wanted: MQK_DEBUG=1."""
    return os.environ.get("MQK_DEBUG", "") not in ("", "0")

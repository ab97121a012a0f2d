"""What every test may use: one Kafka for the whole run, unique names, and strict outcomes."""

import gc
import hashlib
import itertools
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from adapter.localkafka import LocalKafka, free_port
from adapter.localkafka.jars import cache_folder
from adapter.mqi import pymqi_files
from tests.group_times import GroupTimes
from tests.strict_outcomes import StrictOutcomes, add_option
from tests.support import shared_kafka
from tests.support.examples import register_profiles
from tests.support.shared_kafka import AnyKafka, KafkaOfTheRun, SharedKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.spark_site import Site

# Cheap layers first, so that a broken rule shows before a broker is started.
LAYERS = (
    *("unit", "scenarios", "spec", "simulation"),
    *("contract", "integration", "pages", "acceptance", "spark", "soak", "docker"),
)
GROUP_LAYERS = ("docker", "soak", "spark", "pages", "integration", "acceptance", "contract", "spec")
"""The order of groups: Spark's session and the pages are the longest ones, and begin first. Short
groups come last, so that all processes end at the same time.
"""
TESTS = Path(__file__).parent
KAFKA_OF_THE_RUN = pytest.StashKey[KafkaOfTheRun]()
KAFKA_ADDRESS = "kafka"
LONGEST = tuple(TESTS / folder for folder in ("simulation", "search", "costs"))
"""Begun first by a run in several processes: at its end a long test would be alone."""
NAMED_ONLY = (TESTS / "docker", TESTS / "compiled", TESTS / "kills")
"""They need a Docker daemon, a C compiler, or much time: `make` has targets that name them."""
PYMQI_VERSION = "1.12.13"
SPARK_WITHOUT_SESSION = frozenset(
    f"tests/spark/test_{name}.py" for name in ("kafka_clients", "parts")
)
"""They start drivers of their own, or none: any process may run them."""
SHORT_LIVED_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""For brokers and Spark: what lives for minutes does not gain what optimizing its code costs.

Without optimizing, Java keeps room for 48 MB of compiled code, which Spark's tests fill: then Java
compiles nothing any more, and fails where it needs code at once.
"""
SPARK_FOR_SHORT_QUERIES = {
    "spark.sql.streaming.pollingDelay": "100ms",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
    ),
}
"""A query that has nothing to do asks its source less often than every 10 ms; and no programs are
started to link and to protect the files of a checkpoint, six for each of them."""


gc.disable()  # until everything is imported and collected


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)


@pytest.hookimpl(tryfirst=True)  # hypothesis loads the profile that is asked for in this hook
def pytest_configure(config: pytest.Config) -> None:
    register_profiles()
    os.environ.setdefault("JDK_JAVA_OPTIONS", SHORT_LIVED_JAVA)
    os.environ.pop("XDG_RUNTIME_DIR", None)  # no known socket beside a port that a test names
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background jobs ignore Ctrl-C, and so would all that tests start and interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(StrictOutcomes.of(config))
    if config.getoption("numprocesses", None):
        config.stash[KAFKA_OF_THE_RUN] = KafkaOfTheRun()
        if config.getoption("dist") == "loadgroup":
            config.pluginmanager.register(GroupTimes(group_of))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Some folders are only collected when they are named."""
    if collection_path not in NAMED_ONLY:
        return None
    named = any(collection_path.name in Path(argument).parts for argument in config.args)
    return None if named else True


@cache
def layer_rank(path: Path, layers: tuple[str, ...]) -> int:
    """Where in the run the tests of a file come; files beside the layers come first."""
    layer = path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""
    return layers.index(layer) if layer in layers else -1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    layers = GROUP_LAYERS if getattr(config.option, "loadgroup", False) else LAYERS
    is_shared = hasattr(config, "workerinput")
    items.sort(
        key=lambda item: (
            not (is_shared and any(item.path.is_relative_to(folder) for folder in LONGEST)),
            layer_rank(item.path, layers),
        )
    )
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            # Spark's bridge to the JVM leaves sockets to the garbage collector.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            item.add_marker(
                pytest.mark.timeout(300)
            )  # with the start of the JVM, on a busy machine


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell another process of the run where it has the broker from."""
    node.workerinput[KAFKA_ADDRESS] = node.config.stash[KAFKA_OF_THE_RUN].address


def pytest_unconfigure(config: pytest.Config) -> None:
    if (served := config.stash.get(KAFKA_OF_THE_RUN, None)) is not None:
        served.close()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Groups by node id: this pytest takes no notice of the names that xdist gives to its marks."""
    return GroupScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


class GroupScheduling(LoadScopeScheduling):
    """Gives whole groups to the processes of a run."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(node: str) -> str:
    """Which tests stay in one process where a run has several: a file's, all of Spark's session.

    The process that runs the group "spark" has the session.
    """
    path = node.partition("::")[0]
    return "spark" if "spark" in path and path not in SPARK_WITHOUT_SESSION else path


def pytest_collection_finish() -> None:
    """What was imported and collected stays: there is no garbage to be looked for in it."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[SharedKafka]:
    """One real broker, started when the first test asks for it and shared by the whole run."""
    address = getattr(request.config, "workerinput", {}).get(KAFKA_ADDRESS)
    if address is not None:
        yield shared_kafka.ask(address)
        return
    with LocalKafka() as running:
        yield SharedKafka(running.bootstrap_servers)


@pytest.fixture(scope="session")
def kept_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """The broker of this process alone, for killable_kafka."""
    folder = tmp_path_factory.mktemp("kafka")
    with LocalKafka(data_dir=folder, proxies={1: free_port()}) as running:
        yield running


@pytest.fixture
def killable_kafka(kept_kafka: LocalKafka) -> Iterator[LocalKafka]:
    """A broker of this process alone: a test may kill, pause and stop it, and it runs afterwards.

    A test that wants a proxy before it listens on ``proxied_bootstrap_servers`` and forwards to
    ``behind_proxy(1)``.
    """
    yield kept_kafka
    kept_kafka.start()


@pytest.fixture(scope="session")
def pymqi_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pymqi in it, as `mqk install-pymqi` installs it from its own distribution."""
    folder = tmp_path_factory.mktemp("pymqi")
    pymqi_files.install(_pymqi_wheel(folder), folder / "site")
    return folder / "site"


def _pymqi_wheel(folder: Path) -> Path:
    """The wheel of pymqi, kept from run to run where Kafka's jars are kept.

    To download a source distribution pip makes an environment first, which takes a quarter of a
    minute. A wheel that other code of ours has made is not taken.
    """
    digest = hashlib.sha256(Path(pymqi_files.__file__).read_bytes()).hexdigest()[:8]
    kept = cache_folder() / f"pymqi-{digest}" / f"pymqi-{PYMQI_VERSION}-py3-none-any.whl"
    if not kept.exists():
        made = pymqi_files.make_wheel(pymqi_files.download(folder, PYMQI_VERSION), folder)
        kept.parent.mkdir(parents=True, exist_ok=True)
        whole = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made, whole)
        whole.replace(kept)
    return kept


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """One Spark session for the whole run, as jobs have it; started when first asked for."""
    from spark_jobs import session

    one = session.spark_session("tests", settings=SPARK_FOR_SHORT_QUERIES)
    yield one
    one.stop()


@pytest.fixture(scope="module")
def site(
    kafka: AnyKafka, spark: "SparkSession", request: pytest.FixtureRequest
) -> "Iterator[Site]":
    """A queue manager on Kafka, of the module's own, whose queues Spark reads."""
    from adapter import testing
    from tests.support.spark_site import Site

    name = re.sub(r"[^A-Z0-9]+", "", request.path.stem.removeprefix("test_").upper())
    with testing.queue_manager(
        f"SPARK{name}", bootstrap_servers=kafka.bootstrap_servers
    ) as manager:
        yield Site(manager, kafka.bootstrap_servers, spark)
    gc.collect()  # while sockets that Spark left are not complained about


@pytest.fixture(scope="session")
def run_numbers(request: pytest.FixtureRequest) -> Iterator[int]:
    """Counts through the run, each process in numbers of its own; unique_name draws from it."""
    process = getattr(request.config, "workerinput", {"workerid": "gw0", "workercount": 1})
    return itertools.count(1 + int(process["workerid"][2:]), process["workercount"])


@pytest.fixture
def unique_name(request: pytest.FixtureRequest, run_numbers: Iterator[int]) -> Callable[..., str]:
    """Names that no other test of this run uses: unique_name() or unique_name("PREFIX")."""

    def make(prefix: str = "T") -> str:
        stem = re.sub(r"[^A-Z0-9]+", "", request.node.name.upper())[:16]
        return f"{prefix}{next(run_numbers)}.{stem}"

    return make

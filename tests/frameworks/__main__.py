"""The frameworks' own test suites on a queue manager: `python -m tests.frameworks [kombu ...]`.

The suites are in the source distributions of the versions that are installed, which are downloaded
to build/frameworks. The queue manager is in the memory of this process, or with --kafka on a Kafka
that is started for it. Tests that are not about our broker are named in
tests/frameworks/not_applicable.py, with the reasons.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from msgspec import Struct

from adapter import testing
from adapter.localkafka import LocalKafka
from tests.frameworks.not_applicable import NOT_APPLICABLE

TOP = Path(__file__).parents[2]
HERE = Path(__file__).parent
BUILD = TOP / "build" / "frameworks"
LIBRARIES = BUILD / "libraries"
TEST_S = 60
"""Of one test; the longest of Celery waits for half of it."""

FROM_DRAMATIQ = (
    "actors", "broker", "callbacks", "composition", "encoders", "generic_actors", "messages",
    "rabbitmq", "redis", "results", "worker",
)  # fmt: skip
FROM_CELERY = ("tasks", "inspect", "worker", "serialization")


class Suite(Struct):
    """How a suite is run: where, with which arguments of pytest."""

    folder: Path
    arguments: list[str]
    path: list[Path] = []
    """Further folders of modules."""


def kombu_suite(unpacked: Path) -> Suite:
    """kombu's tests of what transports do."""
    arguments = ["-c", os.devnull, f"--rootdir={HERE}", str(HERE / "kombu_suite.py")]
    return Suite(unpacked, arguments, [unpacked])


def celery_suite(unpacked: Path) -> Suite:
    """Celery's integration tests, with a worker in a thread of pytest and its prefork pool."""
    files = [f"t/integration/test_{name}.py" for name in FROM_CELERY]
    return Suite(unpacked, ["-p", "adapter.kombu", "--log-level=INFO", *files], [unpacked])


def dramatiq_suite(unpacked: Path) -> Suite:
    """dramatiq's tests that have a broker; made a package with what the distribution lacks."""
    package = unpacked / "dramatiq_tests"
    if not package.exists():
        shutil.copytree(unpacked / "tests", package)
        (package / "__init__.py").touch()
        shutil.copy(HERE / "dramatiq_common.py", package / "common.py")
    files = [f"dramatiq_tests/test_{name}.py" for name in FROM_DRAMATIQ]
    plugin = "tests.frameworks.dramatiq_fixtures"
    return Suite(unpacked, ["-c", os.devnull, "--rootdir=.", "-p", plugin, *files], [unpacked])


SUITES = {"kombu": kombu_suite, "celery": celery_suite, "dramatiq": dramatiq_suite}


def unpacked_source(package: str) -> Path:
    """Return the folder of the source distribution of the version that is installed."""
    name = f"{package}-{version(package)}"
    folder = BUILD / name
    if not folder.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        _pip("download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
             "--dest", str(BUILD), f"{package}=={version(package)}")  # fmt: skip
        with tarfile.open(BUILD / f"{name}.tar.gz") as archive:
            archive.extractall(BUILD, filter="data")
    return folder


def install_libraries() -> None:
    """Install what the suites import, beside .venv."""
    if not LIBRARIES.exists():
        _pip("install", "--target", str(LIBRARIES), "-r", str(HERE / "packages.txt"))


def _pip(*arguments: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    subprocess.run([sys.executable, "-m", "pip", *arguments, *quiet], check=True)


@contextmanager
def results_server() -> Iterator[str]:
    """Run a server of Redis's protocol for the results of Celery's tasks; yield its port."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "results_server.py")],
        env=os.environ | {"PYTHONPATH": str(LIBRARIES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def run_suite(package: str, address: str, only: str) -> int:
    """Run a suite on the queue manager at an address; return pytest's exit status."""
    suite = SUITES[package](unpacked_source(package))
    left_out = [f"--deselect={test}" for tests in NOT_APPLICABLE[package].values()
                for test in tests]  # fmt: skip
    with results_server() as port:
        path = os.pathsep.join(map(str, (TOP, LIBRARIES, *suite.path)))
        programs = str(Path(sys.executable).parent)
        environment = os.environ | {
            "PATH": os.pathsep.join([programs, os.environ["PATH"]]),
            "MQK_QMGR": address,
            "PYTHONPATH": os.pathsep.join([path, *filter(None, [os.environ.get("PYTHONPATH")])]),
            "TEST_BROKER": f"mqk://{address}",
            "TEST_BACKEND": f"redis://127.0.0.1:{port}/0",
            "REDIS_HOST": "127.0.0.1",
            "REDIS_PORT": port,
        }
        command = [sys.executable, "-P", "-m", "pytest", "-q", "--tb=native", "-rf",
                   "-p", "no:cacheprovider", "-p", "no:rerunfailures", f"--timeout={TEST_S}",
                   *suite.arguments, *left_out, "-k", only]  # fmt: skip
        status = subprocess.run(command, cwd=suite.folder, env=environment, check=False).returncode
    for reason, tests in NOT_APPLICABLE[package].items():
        print(f"{package}: {len(tests)} not applicable: {reason}")
    return status


def main() -> int:
    """Run the suites that are named, or all; return 1 if a test has failed."""
    parser = argparse.ArgumentParser(prog="tests.frameworks", description=__doc__)
    parser.add_argument("suites", nargs="*", help=f"{', '.join(SUITES)}; none: all")
    parser.add_argument("--kafka", action="store_true", help="on a Kafka, not in memory")
    parser.add_argument("--only", default="", help="an expression as for -k of pytest")
    given = parser.parse_args()
    install_libraries()
    failed = []
    for package in given.suites or SUITES:
        with queue_manager(given.kafka) as address:
            if run_suite(package, address, given.only):
                failed.append(package)
    print("failed: " + ", ".join(failed) if failed else "all passed")
    return 1 if failed else 0


@contextmanager
def queue_manager(on_kafka: bool) -> Iterator[str]:
    """Run a queue manager for a suite; yield its address."""
    if not on_kafka:
        with testing.queue_manager("QM1") as manager:
            yield manager.address
        return
    with LocalKafka() as kafka:
        servers = kafka.bootstrap_servers
        with testing.queue_manager("QM1", bootstrap_servers=servers) as manager:
            yield manager.address


if __name__ == "__main__":
    sys.exit(main())

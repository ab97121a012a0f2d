"""Where Java and Kafka's jars come from: the machine's Java and Maven, and a cache folder.

pom.xml beside this file names every version. The jars are resolved once into the cache, under a
lock, and moved into place whole, so that two processes never see half a folder.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from msgspec import Struct

from adapter.localkafka.errors import LocalKafkaError

ROOM = Path(__file__).parent
POM = ROOM / "pom.xml"
LOGGING = ROOM / "log4j2.properties"
JAVA_VERSION_MIN = 17

JAVA_TIMEOUT_S = 30
# About 45 MB from an empty repository, on a slow line.
RESOLVE_TIMEOUT_S = 900
LOCK_POLL_S = 0.1
QUOTED_LINES_MAX = 15

Say = Callable[[str], None]


def say_nothing(_text: str) -> None:
    """The listener for progress when nobody wants to hear of it."""


def kafka_version() -> str:
    """The version of Kafka that pom.xml names."""
    found = ElementTree.parse(POM).findtext(".//{*}kafka.version")  # noqa: S314 - our own file
    if found is None:
        raise LocalKafkaError(f"{POM} names no kafka.version: reinstall mqk")
    return found


def cache_folder() -> Path:
    """MQK_CACHE_DIR, else mqk in XDG_CACHE_HOME, else in ~/.cache."""
    if chosen := os.environ.get("MQK_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mqk"


def jars_folder() -> Path:
    """Where the jars of exactly this pom.xml lie, or will lie."""
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:8]
    return cache_folder() / f"kafka-{kafka_version()}-{digest}"


def java_version(printed: str) -> int | None:
    """The major version that `java -version` printed: 17 for 17.0.2, 8 for 1.8.0."""
    match = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(match[1]) if match else None


class Java(Struct, frozen=True):
    """A Java: its program, and a word that another Java's archives do not bear."""

    path: str
    identity: str


def find_java() -> Java:
    """The Java to use: JAVA_HOME's, else the one in PATH; checked to be new enough."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    advice = (
        f"install Java {JAVA_VERSION_MIN} or later (on Debian and Ubuntu: openjdk-17-jre-headless) "
        "or point JAVA_HOME at one"
    )
    if java is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise LocalKafkaError(f"Kafka runs on Java, and there is no java in {where}: {advice}")
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=JAVA_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise LocalKafkaError(f"{java} -version did not answer ({problem}): {advice}") from problem
    printed = done.stderr + done.stdout
    found = java_version(printed)
    if found is None or found < JAVA_VERSION_MIN:
        name = f"Java {found}" if found else "no Java that tells its version"
        raise LocalKafkaError(f"{java} is {name}, too old for Kafka {kafka_version()}: {advice}")
    return Java(java, f"{found}-{hashlib.sha256(printed.encode()).hexdigest()[:8]}")


def resolve_jars(say: Say) -> Path:
    """The folder with Kafka's jars; fetches them with Maven if this is the first time."""
    folder = jars_folder()
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent):
        if not folder.is_dir():
            say(f"fetching Kafka {kafka_version()} with Maven, once (45 MB)")
            _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="resolving-") as work:
        pom = shutil.copy(POM, work)
        jars = Path(work) / "jars"
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        _run_maven(["-f", str(pom), *goal, f"-DoutputDirectory={jars}"])
        jars.rename(folder)


def _run_maven(arguments: list[str]) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise LocalKafkaError(
            f"Maven fetches the jars of Kafka {kafka_version()} the first time, and there is no "
            "mvn in PATH: install Maven (on Debian and Ubuntu: maven)"
        )
    try:
        done = subprocess.run(
            [maven, "--batch-mode", "--quiet", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=RESOLVE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        raise LocalKafkaError(
            f"Maven did not fetch Kafka's jars in {RESOLVE_TIMEOUT_S} s: look at the network and "
            "at the repositories that Maven is configured to use, then try again"
        ) from problem
    if done.returncode != 0:
        words = "\n".join(done.stdout.strip().splitlines()[:QUOTED_LINES_MAX])
        raise LocalKafkaError(
            f"Maven could not fetch the jars of Kafka {kafka_version()} (exit status "
            f"{done.returncode}): look at the network and at the repositories that Maven is "
            f"configured to use, then try again. It said:\n{words}"
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the cache; another process that fills it is waited for, within a bound."""
    path = folder / "filling.lock"
    deadline_s = time.monotonic() + RESOLVE_TIMEOUT_S
    with path.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline_s:
                    raise LocalKafkaError(
                        f"another process has held {path} for {RESOLVE_TIMEOUT_S} s while fetching "
                        "Kafka's jars: end it and try again"
                    ) from None
                time.sleep(LOCK_POLL_S)
        yield

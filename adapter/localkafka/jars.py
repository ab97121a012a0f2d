"""Where Java and jars come from: the machine's Java and Maven, and a cache folder.

pom.xml beside this file names every version of Kafka's. Jars are resolved once into the cache,
under a lock, and moved into place whole, so that two processes never see half a folder. Those of
other rooms, with a pom.xml of their own, are fetched the same way.
"""

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

from adapter.host.file_locks import lock_if_free
from adapter.localkafka.errors import LocalKafkaError

ROOM = Path(__file__).parent
POM = ROOM / "pom.xml"
LOGGING = ROOM / "log4j2.properties"
JAVA_VERSION_MIN = 17

JAVA_TIMEOUT_S = 30
# About 45 MB from an empty repository, on a slow line.
RESOLVE_TIMEOUT_S = 900
LOCK_POLL_S = 0.1
OPTIONS_NOTE = re.compile(r"^(?:NOTE: )?Picked up .*\n?", re.MULTILINE)
"""What Java prints of options from its environment: they do not make it another Java."""
QUOTED_LINES_MAX = 15

Say = Callable[[str], None]


def say_nothing(_text: str) -> None:
    """A listener for progress that discards it."""


class Jars(Struct, frozen=True):
    """The jars that a pom.xml names: of what, the property that has its version, their size.

    chosen: another version than the pom.xml names.
    """

    pom: Path
    name: str
    version_property: str
    size_mb: int
    chosen: str = ""

    @property
    def version(self) -> str:
        """The version that is chosen, else the one that the pom.xml names."""
        if self.chosen:
            return self.chosen
        tree = ElementTree.parse(self.pom)  # noqa: S314 - our own file
        found = tree.findtext(".//{*}" + self.version_property)
        if found is None:
            raise LocalKafkaError(f"{self.pom} names no {self.version_property}: reinstall mqk")
        return found

    @property
    def folder(self) -> Path:
        """Where the jars of exactly this pom.xml lie, or will lie."""
        digest = hashlib.sha256(self.pom.read_bytes()).hexdigest()[:8]
        return cache_folder() / f"{self.name.lower()}-{self.version}-{digest}"


def kafka_jars() -> Jars:
    """Kafka's own."""
    return Jars(POM, "Kafka", "kafka.version", 45)


def kafka_version() -> str:
    """The version of Kafka that pom.xml names."""
    return kafka_jars().version


def cache_folder() -> Path:
    """MQK_CACHE_DIR, else mqk in XDG_CACHE_HOME, else in ~/.cache."""
    if chosen := os.environ.get("MQK_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mqk"


def jars_folder() -> Path:
    """Where Kafka's jars lie, or will lie."""
    return kafka_jars().folder


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
        raise LocalKafkaError(f"Kafka runs on Java, and java is not in {where}: {advice}")
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=JAVA_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise LocalKafkaError(f"{java} -version did not answer ({problem}): {advice}") from problem
    printed = OPTIONS_NOTE.sub("", done.stderr + done.stdout)
    found = java_version(printed)
    if found is None or found < JAVA_VERSION_MIN:
        name = f"Java {found}" if found else "of an unknown version"
        raise LocalKafkaError(f"{java} is {name}, too old for Kafka {kafka_version()}: {advice}")
    return Java(java, f"{found}-{hashlib.sha256(printed.encode()).hexdigest()[:8]}")


def resolve_jars(say: Say, wanted: Jars | None = None) -> Path:
    """The folder with the jars, Kafka's if not said; fetches them if this is the first time."""
    wanted = wanted or kafka_jars()
    folder = wanted.folder
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with cache_lock(folder.parent):
        if not folder.is_dir():
            what = f"{wanted.name} {wanted.version}"
            say(f"fetching {what} with Maven, once ({wanted.size_mb} MB)")
            _fetch(wanted, folder, what)
    return folder


def _fetch(wanted: Jars, folder: Path, what: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="resolving-") as work:
        copy = shutil.copy(wanted.pom, work)
        jars = Path(work) / "jars"
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        version = f"-D{wanted.version_property}={wanted.version}"
        _run_maven(["-f", str(copy), *goal, version, f"-DoutputDirectory={jars}"], what)
        jars.rename(folder)


def _run_maven(arguments: list[str], what: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise LocalKafkaError(
            f"Maven fetches the jars of {what} the first time, and mvn is not in PATH: "
            "install Maven (on Debian and Ubuntu: maven)"
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
            f"Maven did not fetch the jars of {what} in {RESOLVE_TIMEOUT_S} s: look at the network "
            "and at the repositories that Maven is configured to use, then try again"
        ) from problem
    if done.returncode != 0:
        words = "\n".join(done.stdout.strip().splitlines()[:QUOTED_LINES_MAX])
        raise LocalKafkaError(
            f"Maven could not fetch the jars of {what} (exit status {done.returncode}): look at "
            "the network and at the repositories that Maven is configured to use, then try again. "
            f"It said:\n{words}"
        )


@contextmanager
def cache_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of the cache; another process that fills it is waited for, within a bound."""
    path = folder / "filling.lock"
    deadline_s = time.monotonic() + RESOLVE_TIMEOUT_S
    while (held := lock_if_free(path, os.O_WRONLY | os.O_CREAT)) is None:
        if time.monotonic() > deadline_s:
            raise LocalKafkaError(
                f"another process has held {path} for {RESOLVE_TIMEOUT_S} s while fetching jars: "
                "end it and try again"
            )
        time.sleep(LOCK_POLL_S)
    try:
        yield
    finally:
        os.close(held)

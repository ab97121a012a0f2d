"""A queue manager's server in a process of its own, and how it says that it serves.

The server gets its settings on standard input (secrets do not belong on a command line), prints one
line when it serves, and logs to a file.
"""

from __future__ import annotations

import io
import os
import select
import subprocess
import time
from pathlib import Path

import click
import msgspec

from adapter.cli import output
from adapter.command import failures
from adapter.host import launch
from adapter.server.main import Ready
from adapter.server.settings import ServerSettings

START_TIMEOUT_S = 120.0
"""Until it serves: it reads its whole ledger first, on a loaded machine."""
LOOK_S = 0.2
QUOTED_LINES_MAX = 8
LINE_BYTES_MAX = 4096


class ReadyLine(io.StringIO):
    """Where a server prints that it serves: shown to people as a sentence."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def write(self, text: str) -> int:
        """Take the server's line."""
        if text.strip():
            self.show(msgspec.json.decode(text, type=Ready))
        return len(text)

    def show(self, ready: Ready) -> None:
        """Show where it serves."""
        if self._as_json:
            output.emit(msgspec.structs.asdict(ready))
        else:
            does = "stands by" if ready.standby else "serves"
            click.echo(f"queue manager {ready.queue_manager} {does} at {ready.host}:{ready.port}")
            if ready.http:
                click.echo(f"monitoring: {ready.http}/metrics, /live, /ready and /role")
        output.flush()


def log_file(name: str) -> Path:
    """Where the log of a queue manager goes: mqk/log in XDG_STATE_HOME, else in ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME")
    folder = (Path(base) if base else Path.home() / ".local" / "state") / "mqk" / "log"
    return folder / f"{name.replace('/', '%')}.log"


def start(settings: ServerSettings, log: Path) -> Ready:
    """Start a server that outlives us; return when it serves, Failed if it does not."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        begin = log.stat().st_size if log.exists() else 0
        with open(log, "ab", opener=_for_us_alone) as errors:
            process = subprocess.Popen(
                launch.program("adapter.server.main", settings.queue_manager),  # for `ps`
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                start_new_session=True,
            )  # fmt: skip
    except OSError as problem:
        raise failures.Failed(f"{log} cannot be written: {problem.strerror}") from problem
    assert process.stdin is not None, "a pipe was asked for"
    assert process.stdout is not None, "a pipe was asked for"
    process.stdin.write(msgspec.json.encode(settings))
    process.stdin.close()
    try:
        with process.stdout:
            return await_ready(process, settings.queue_manager, log, begin)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _for_us_alone(path: str, flags: int) -> int:
    """Open a log; a new one names users and objects, which other accounts need not read."""
    return os.open(path, flags, 0o600)


def await_ready(process: subprocess.Popen[bytes], name: str, log: Path, begin: int) -> Ready:
    """Read the line that it prints when it serves."""
    assert process.stdout is not None, "a pipe was asked for"
    deadline_s = time.monotonic() + START_TIMEOUT_S
    line = b""
    while not line.endswith(b"\n"):
        if time.monotonic() > deadline_s:
            raise failures.Failed(
                f"queue manager {name} was not ready after {START_TIMEOUT_S:.0f} s, and was ended: "
                f"{log} says what it waited for; without --background a start takes its time"
            )
        if not select.select([process.stdout], [], [], LOOK_S)[0]:
            continue
        piece = os.read(process.stdout.fileno(), LINE_BYTES_MAX)
        if not piece:
            process.wait()
            raise failures.Failed(f"queue manager {name} did not start: {last_words(log, begin)}")
        line += piece
    return msgspec.json.decode(line, type=Ready)


def last_words(log: Path, begin: int) -> str:
    """Return the last output of the server: its own sentence, if it printed one."""
    with log.open("rb") as file:
        file.seek(begin)
        lines = file.read().decode(errors="replace").strip().splitlines()
    sentences = [line.removeprefix("mqk: ") for line in lines if line.startswith("mqk: ")]
    if sentences:
        return sentences[-1]
    return "\n".join(lines[-QUOTED_LINES_MAX:]) or f"it printed nothing; its log is {log}"

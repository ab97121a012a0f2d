"""A reader who types the pages: a shell and a Python of their own, in an empty HOME.

The reader has a copy of the checkout, the machine's own programs, and nothing that the tests
have installed. Ports are other ones than the pages say, so that what listens on the machine does
not matter. This module knows how a block is run; which blocks there are it must not know.
"""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import adapter
from adapter.localkafka.jars import cache_folder
from adapter.localkafka.ports import free_ports
from tests.pages.blocks import OUTPUT, TOP, Block
from tests.support.pinned import constraints

BLOCK_TIMEOUT_S = 240.0
"""A machine that has never compiled the Go reader takes a minute and a half for it."""
BEGIN_TIMEOUT_S = 60.0
"""Some programs import large frameworks before they connect."""
END_TIMEOUT_S = 20.0
POLL_S = 0.05
LEFT_OUT = (".*", "build", "dist", "target", "__pycache__", "tests", "benchmarks")
DRIVER = Path(__file__).with_name("driver.py")
DONE = "\x04done\n"
READER = "pages"
"""The application of the reader's own connections."""


class Home:
    """What all pages share: the folders, the ports, the environment."""

    def __init__(self, folder: Path) -> None:
        self.checkout = folder / "mqk"
        self.notes = folder / "notes"
        shutil.copytree(TOP, self.checkout, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for name in ("home", "notes", "bin"):
            (folder / name).mkdir()
        (folder / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
        written = ("9092", "1414", "9414", "8081", "8000", "9093", "1415", "1416")
        self.ports = dict(zip(written, map(str, free_ports(len(written))), strict=True))
        self.environment = _bare_environment(folder) | {
            "MQK_QMGR": f"127.0.0.1:{self.ports['1414']}",
            "MQK_LISTEN": f"127.0.0.1:{self.ports['1414']}",
            "MQK_HTTP_PORT": self.ports["9414"],
        }
        (folder / "constraints.txt").write_text(constraints())
        self.environment["PIP_CONSTRAINT"] = str(folder / "constraints.txt")

    def stop(self) -> None:
        """Stop what README has started, whether it was read to its end or not."""
        mqk = self.checkout / ".venv" / "bin" / "mqk"
        for command in ("qmgr stop --immediate", "kafka stop") if mqk.exists() else ():
            subprocess.run(
                [mqk, *command.split()], env=self.environment, cwd=self.checkout, check=False
            )

    def typed(self, text: str) -> str:
        """A block with the ports of this run."""
        text = text.replace("mqk kafka start", "mqk kafka start --port 9092")
        text = re.sub(r"\badapter\.connect\(\)", 'adapter.connect("127.0.0.1:1414")', text)
        for written, port in self.ports.items():
            text = re.sub(rf"\b{written}\b", port, text)
        return text

    def connections(self) -> set[int]:
        """The connections of programs to the queue manager, by number, without this one."""
        with adapter.connect(self.environment["MQK_QMGR"], application=READER) as qm:
            return {one.number for one in qm.connections() if one.application != READER}

    def as_written(self, printed: str) -> str:
        """What a program has printed, with the ports that pages name."""
        for written, port in self.ports.items():
            printed = re.sub(rf"\b{port}\b", written, printed)
        return printed


def _bare_environment(folder: Path) -> dict[str, str]:
    """The machine's environment, without what is ours and without the tests' packages."""
    ours = ("MQK_", "MQSERVER", "VIRTUAL_ENV", "PYTHON", "XDG_", "PYTEST", "SPARK_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    tests = str(Path(sys.prefix) / "bin")
    path = [one for one in os.environ["PATH"].split(os.pathsep) if one != tests]
    cache = os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
    return kept | {
        "HOME": str(folder / "home"),
        "PATH": os.pathsep.join([str(folder / "bin"), *path]),
        "MQK_CACHE_DIR": str(cache_folder()),
        "PIP_CACHE_DIR": cache,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_COMPILE": "0",  # most of what is installed is never imported
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} '-gcflags=all=-N -l'",  # compiled sooner
        "GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache" / "go-build")),
        "GOMODCACHE": os.environ.get("GOMODCACHE", str(Path.home() / "go" / "pkg" / "mod")),
    }


class Reader:
    """Types one page; close() ends what the page has left running in the foreground."""

    def __init__(self, home: Home, before: "Reader | None" = None) -> None:
        self.home = home
        self._folder = home.checkout
        environment, folder = (home.environment, home.checkout)
        if before is not None:
            environment, folder = before.state()
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment, cwd=folder, start_new_session=True, text=True,
        )  # fmt: skip
        self._type("set -eo pipefail")
        self._python: subprocess.Popen[str] | None = None
        self._printed = ""
        self._running: list[tuple[Block, subprocess.Popen[bytes]]] = []

    def read(self, block: Block) -> None:
        """Do what a block says; AssertionError names the block."""
        if block.treatment == "file":
            (self.state()[1] / block.said).write_text(self.home.typed(block.text))
        elif block.language == OUTPUT:
            self._compare(block, block.text)
        elif block.language == "console":
            self._converse(block)
        elif block.treatment == "until stopped":
            self._start(block)
        else:
            self._printed = getattr(self, f"_run_{block.language}")(block)

    def _run_sh(self, block: Block) -> str:
        return self._source(block, block.text)

    def _run_mqsc(self, block: Block) -> str:
        return self._source(block, f"mqk mqsc <<'MQSC'\n{block.text}\nMQSC\n")

    def _run_toml(self, block: Block) -> str:
        name = self.home.notes / "page.toml"
        name.write_text(self.home.typed(block.text))
        return self._source(block, f"mqk config check {name}")

    def _run_python(self, block: Block) -> str:
        if self._python is None:
            environment, folder = self.state()
            self._python = subprocess.Popen(
                ["python3", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=environment, cwd=folder, start_new_session=True, text=True,
            )  # fmt: skip
        source = self.home.notes / "block.py"
        source.write_text(self.home.typed(block.text))
        assert self._python.stdin is not None
        self._python.stdin.write(f"{block.place}\n{source}\n{self.home.notes / 'out'}\n")
        self._python.stdin.flush()
        failed = self._await(block, self._python)
        printed = (self.home.notes / "out").read_text()
        assert not failed, f"{block.place} failed:\n{printed}"
        return printed

    def _start(self, block: Block) -> None:
        """Start a program that ends when it is stopped."""
        environment, folder = self.state()
        before = self.home.connections()
        program = ["bash", "-c", f"exec {self.home.typed(block.text).strip()}"]
        if block.language == "python":
            program = ["python3", "-c", self.home.typed(block.text)]
        running = subprocess.Popen(program, env=environment, cwd=folder, start_new_session=True)
        self._running.append((block, running))
        deadline_s = time.monotonic() + BEGIN_TIMEOUT_S
        while self.home.connections() <= before:  # by number: some of them may have ended
            assert running.poll() is None, f"{block.place} ended before it was stopped"
            assert time.monotonic() < deadline_s, f"{block.place} does not connect"
            time.sleep(POLL_S)

    def _converse(self, block: Block) -> None:
        """Commands after `$ `, each with what it prints."""
        command, expected = "", ""
        for line in [*block.text.splitlines(keepends=True), "$ "]:
            if line.startswith("$ "):
                if command:
                    self._printed = self._source(block, command)
                    self._compare(block, expected)
                command, expected = line[2:], ""
            elif command.endswith("\\\n"):
                command += line
            else:
                expected += line

    def _source(self, block: Block, text: str) -> str:
        script = self.home.notes / "block.sh"
        script.write_text(self.home.typed(text))
        out, err = self.home.notes / "out", self.home.notes / "err"
        self._type(f". {script} </dev/null >{out} 2>{err}")
        failed = self._await(block, self._shell)
        printed = out.read_text(errors="replace")
        assert not failed, f"{block.place} failed:\n{printed}{err.read_text(errors='replace')}"
        return printed

    def _type(self, line: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{line}\nprintf '\\004done\\n'\n")
        self._shell.stdin.flush()
        if line.startswith("set "):
            self._await(None, self._shell)

    def _await(self, block: Block | None, process: "subprocess.Popen[str]") -> bool:
        """Wait until the program has done what it was given; True if it failed."""
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], BLOCK_TIMEOUT_S)
        where = block.place if block is not None else "the shell"
        assert ready, f"{where} did not end within {BLOCK_TIMEOUT_S:.0f} s"
        return process.stdout.readline() != DONE

    def _compare(self, block: Block, expected: str) -> None:
        """As doctest does: `...` stands for anything."""
        parts = (re.escape(part) for part in _lines(expected).split("..."))
        printed = _lines(self.home.as_written(self._printed))
        assert re.fullmatch(".*?".join(parts), printed, re.DOTALL), (
            f"{block.place}: the page shows\n{expected}\nand this was printed:\n{printed}"
        )

    def state(self) -> tuple[dict[str, str], Path]:
        """The environment and the working directory that the page's commands have left."""
        variables, folder = self.home.notes / "variables", self.home.notes / "folder"
        self._type(f"env -0 >{variables}; pwd >{folder}")
        assert not self._await(None, self._shell)
        pairs = variables.read_text().rstrip("\0").split("\0")
        names = dict(pair.split("=", 1) for pair in pairs)
        return names, Path(folder.read_text().rstrip("\n"))

    def close(self) -> None:
        """End what runs; a program that was to run until stopped must still be running."""
        ended = [block.place for block, process in self._running if process.poll() is not None]
        for _, process in self._running:
            process.send_signal(signal.SIGTERM)
            _end(process)
        for other in (self._python, self._shell):
            if other is not None:
                assert other.stdin is not None
                assert other.stdout is not None
                with contextlib.suppress(BrokenPipeError):
                    other.stdin.close()
                _end(other)
                with contextlib.suppress(ProcessLookupError):  # what a page left in the background
                    os.killpg(other.pid, signal.SIGKILL)
                other.stdout.close()
        assert not ended, f"{', '.join(ended)}: it ended before it was stopped"


def _end(process: "subprocess.Popen[Any]") -> None:
    """Wait for the end of a program that was asked to end; kill it, and its children, if late."""
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(END_TIMEOUT_S)


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())

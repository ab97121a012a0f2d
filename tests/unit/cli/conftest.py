"""What the command's tests share: running it in this process, and a queue manager in memory."""

import io
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from msgspec import Struct

import adapter
import adapter.testing
from adapter.cli.main import run


class Said(Struct):
    """What a command line came to."""

    status: int
    out: str
    err: str


Mqk = Callable[..., Said]


class Input(io.TextIOWrapper):
    """Standard input with these bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))


@pytest.fixture
def mqk(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mqk:
    """Run `mqk ARGUMENTS`, with stdin=bytes if it reads any."""
    for name in ("MQK_DEBUG", "MQK_QMGR", "MQK_BOOTSTRAP_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # no local Kafka

    def call(*arguments: object, stdin: bytes = b"") -> Said:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", Input(stdin))
        status = run([os.fspath(a) if hasattr(a, "__fspath__") else str(a) for a in arguments])
        out, err = capsys.readouterr()
        return Said(status, out, err)

    return call


@pytest.fixture
def quiet() -> Iterator[None]:
    """A queue manager in this process would log between the command's own lines."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
def manager(quiet: None) -> Iterator[adapter.testing.TestQueueManager]:
    with adapter.testing.queue_manager("QM1") as running:
        yield running


@pytest.fixture
def at(manager: adapter.testing.TestQueueManager, mqk: Mqk, monkeypatch: pytest.MonkeyPatch) -> Mqk:
    """The same, with MQK_QMGR set to a queue manager that has the queue Q."""
    monkeypatch.setenv("MQK_QMGR", manager.address)
    with manager.connect() as qm:
        qm.define_queue("Q")
    return mqk

"""What a service manager hears, and when."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter.server.process.supervisor import Supervisor

WAIT_S = 20.0


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(str(tmp_path / "notify"))
        one.settimeout(WAIT_S)
        yield one


def environment(manager: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": manager.getsockname(), **more}


def heard(manager: socket.socket) -> str:
    return manager.recv(4096).decode()


def test_it_hears_of_service_life_and_stop(manager: socket.socket) -> None:
    told = environment(manager, WATCHDOG_USEC="40000", WATCHDOG_PID=str(os.getpid()))

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        supervisor = Supervisor(told)
        supervisor.serves("QM1 at 127.0.0.1:1414")
        assert heard(manager) == "READY=1\nSTATUS=QM1 at 127.0.0.1:1414"
        for _time in range(5):
            assert await loop.run_in_executor(None, heard, manager) == "WATCHDOG=1"
        supervisor.stops()
        said = iter(lambda: heard(manager), "STOPPING=1")
        assert set(said) <= {"WATCHDOG=1"}

    asyncio.run(serve())


@pytest.mark.parametrize(
    "more", [{}, {"WATCHDOG_USEC": "40000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "x"}]
)
def test_life_is_told_only_to_whoever_wants_it(
    manager: socket.socket, more: dict[str, str]
) -> None:
    async def serve() -> None:
        supervisor = Supervisor(environment(manager, **more))
        supervisor.serves("")
        supervisor.stops()

    asyncio.run(serve())
    assert [heard(manager), heard(manager)] == ["READY=1\nSTATUS=", "STOPPING=1"]


def test_names_of_the_abstract_kind_are_understood() -> None:
    name = f"mqk-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind("\0" + name)
        one.settimeout(WAIT_S)
        Supervisor({"NOTIFY_SOCKET": "@" + name}).stops()
        assert heard(one) == "STOPPING=1"


def test_without_a_service_manager_nothing_is_told(tmp_path: Path) -> None:
    async def serve() -> None:
        for told in ({}, {"NOTIFY_SOCKET": str(tmp_path / "gone")}, {"WATCHDOG_USEC": "1"}):
            supervisor = Supervisor(told)
            supervisor.serves("")
            supervisor.stops()

    asyncio.run(serve())

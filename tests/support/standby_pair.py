"""An owner and its standby as real processes, each with an address of its own."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

import adapter
from adapter.runtime.owner.parts import HEARTBEAT_S
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

WAIT_S = 60.0


class Pair:
    """An owner and its standby, each with an address of its own."""

    def __init__(
        self,
        name: str,
        kafka: AnyKafka,
        folder: Path,
        heartbeat_s: float = HEARTBEAT_S,
        *,
        network: bool = False,
        often_written: bool = False,
    ) -> None:
        """often_written: snapshots are written and ledgers trimmed after a few entries."""
        make = partial(
            ServerProcess,
            name,
            kafka.bootstrap_servers,
            folder,
            heartbeat_s=heartbeat_s,
            network=network,
            often_written=often_written,
        )
        self.owner, self.standby = make(), make(standby=True)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for process in (self.owner, self.standby):
                stack.enter_context(process).start()
            self._processes = stack.pop_all()
        return self

    def __exit__(self, *problem: object) -> None:
        self._processes.close()

    @property
    def addresses(self) -> str:
        return f"{self.standby.address},{self.owner.address}"


def await_standbys(owner: ServerProcess, count: int) -> None:
    """Wait until an owner has so many standbys."""
    with adapter.connect(owner.address) as qm:
        deadline_s = time.monotonic() + WAIT_S
        while len(qm.figures()["standbys"]) != count:
            assert time.monotonic() < deadline_s, qm.figures()["standbys"]
            time.sleep(0.05)

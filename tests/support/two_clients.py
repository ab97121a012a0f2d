"""Two clients that ask for what may be refused; each refusal is watched to change nothing."""

import pytest
from hypothesis.stateful import RuleBasedStateMachine

from tests.support import purity
from tests.support.core import Core
from tests.support.hard_state import check_snapshots


class TwoClients(RuleBasedStateMachine):
    """The clients, and their units; a machine makes its core and lets them come."""

    core: Core

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        purity.watch(self.patch)

    def teardown(self) -> None:
        self.patch.undo()
        check_snapshots(self.core.qm, self.core.replayed())

    def come(self) -> None:
        self.clients = [self.core.connect() for _ in range(2)]
        for client in self.clients:
            client.open_session(self.core.new_session_id())
        self.units: list[list[bytes]] = [[b"?" * 24, b"?" * 24] for _ in range(2)]

    def unit(self, who: int, slot: int) -> bytes:
        return self.units[who][slot] if slot >= 0 else b""

"""The ledger contract, kept by the ledger in memory."""

import pytest

from adapter.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.ledger.port import Ledger, LedgerReader, Position
from tests.contract.ledger_contract import LedgerContract, Place
from tests.contract.ownership_contract import OwnershipContract


class MemoryPlace:
    """A ledger topic in memory."""

    def __init__(self) -> None:
        self._log = MemoryLog()

    def ledger(self) -> Ledger:
        return MemoryLedger(self._log)

    def reader(self, position: Position | None = None) -> LedgerReader:
        return MemoryLedgerReader(self._log, position)

    def write(self, value: bytes) -> int:
        return self._log.write(value)

    def trim(self, before: int) -> None:
        self._log.trim(before)

    def recreate(self) -> None:
        self._log.recreate()


class TestMemoryLedger(LedgerContract, OwnershipContract):
    @pytest.fixture
    def place(self) -> Place:
        return MemoryPlace()

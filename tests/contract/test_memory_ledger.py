"""The ledger contract, kept by the ledger in memory."""

import pytest

from adapter.storage.ledger.envelope import ENTRY, NOBODY, CorruptRecord, NewerVersion, decode
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Ledger, LedgerReader, Position
from adapter.storage.ledger.seals import KEY_BYTES, NO_KEYS, SealKeys, Seals
from tests.contract.ledger_contract import LedgerContract, Place
from tests.contract.ownership_contract import OwnershipContract


class MemoryPlace:
    """A ledger topic in memory."""

    keys = NO_KEYS

    def __init__(self) -> None:
        self._log = MemoryLog()

    def ledger(self) -> Ledger:
        return MemoryLedger(self._log, keys=self.keys)

    def reader(self, position: Position | None = None) -> LedgerReader:
        return MemoryLedgerReader(self._log, position, self.keys)

    def write(self, value: bytes) -> int:
        return self._log.write(value)

    def trim(self, before: int) -> None:
        self._log.trim(before)

    def recreate(self) -> None:
        self._log.recreate()

    def refuse_writes(self, *, refused: bool) -> None:
        self._log.unwritable = "a test says so" if refused else ""


class SealedPlace(MemoryPlace):
    """The same, sealed; what is written there by hand is another process's that has the key."""

    keys = SealKeys((b"k" * KEY_BYTES,))

    def write(self, value: bytes) -> int:
        seals = Seals(self._log.topic, self.keys)
        key = seals.begins_with
        try:
            found = decode(value)
        except NewerVersion:
            return super().write(seals.seal(key, value))
        except CorruptRecord:
            return super().write(value)
        if found.kind == ENTRY or found.n:
            return super().write(seals.seal(key, value))
        owner = self._owner() if found.replaces is None else found.replaces
        return super().write(seals.change(found.owner, owner, key, found.payload))

    def _owner(self) -> bytes:
        """Say who an OWNER_CHANGED replaces that does not say it."""
        last = MemoryLedger(self._log, keys=self.keys).last_record()
        return NOBODY if last is None else last.owner


class TestMemoryLedger(LedgerContract, OwnershipContract):
    @pytest.fixture
    def place(self) -> Place:
        return MemoryPlace()


class TestSealedMemoryLedger(LedgerContract, OwnershipContract):
    @pytest.fixture
    def place(self) -> Place:
        return SealedPlace()

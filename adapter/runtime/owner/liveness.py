"""Whether another owner of a ledger is alive, as far as a start can know.

Taking over is safe at any time, so this only guards against accidents: a start by hand refuses
while the last record is fresh. Not if its owner has stopped cleanly, which it says in its last
entry, nor if it was a process of this machine that is gone: that its owner id tells.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import structlog

from adapter.core.contract.records import EventRaised
from adapter.core.rules.primitives.lifetime import FOR_GOOD, STOPPED, SUCCESSOR
from adapter.runtime.owner import clock, processes
from adapter.runtime.owner.announcement import read_announcement
from adapter.runtime.owner.processes import MARK_BYTES, PROC
from adapter.runtime.owner.replay import RANDOM_BYTES, check_readable
from adapter.storage.format import entries
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.port import LastRecord, Ledger

SILENCES = 3
"""An owner that has written nothing for so many heartbeats is not taken for alive."""

log = structlog.get_logger("mqk.owner")


class OwnedElsewhereError(Exception):
    """Another owner is alive; the text says which, and what to do."""


def new_owner_id(proc: Path = PROC) -> bytes:
    """Draw an owner id: 8 random bytes, then 4 that name this machine and 4 this process."""
    place = processes.machine(proc) or bytes(MARK_BYTES)
    return os.urandom(RANDOM_BYTES) + place + processes.process(os.getpid(), proc)


def check_free(
    name: str, ledger: Ledger, heartbeat_s: float, pause: Callable[[float], None] = clock.pause
) -> None:
    """Refuse to take over from an owner that is alive. Blocking.

    Its age is the difference of two times of the ledger's own clock; if that has been set back, it
    is watched for as long as it may be silent. Raises OwnedElsewhereError, LedgerUnavailable, and
    LedgerMismatch or LedgerUnreadableError for a later release's ledger.
    """
    sign = ledger.last_record()
    if sign is not None:
        check_readable(name, sign.payload)  # before anything is written
    if sign is None or has_stopped(sign.payload) or is_gone(sign.owner):
        return
    silent_s = (ledger.time_ms() - sign.time_ms) / 1000
    bound_s = SILENCES * heartbeat_s
    if silent_s < 0:
        log.warning("the clock of the ledger's broker was set back", name=name, wait_s=bound_s)
        silent_s = bound_s if _stays_silent(ledger, sign, heartbeat_s, pause) else 0.0
    if silent_s >= bound_s:
        return
    told = read_announcement(ledger.announcement_of(sign.owner))
    who = told.text or f"owner {sign.owner.hex()}"
    raise OwnedElsewhereError(
        f"queue manager {name} is owned by {who}, which wrote to its ledger {silent_s:.1f} s ago: "
        f"stop that one first; if it is dead, try again when it has been silent for {bound_s:g} s, "
        "or start with --take-over"
    )


def _stays_silent(
    ledger: Ledger, sign: LastRecord, heartbeat_s: float, pause: Callable[[float], None]
) -> bool:
    """Whether an owner writes nothing for so long that it is not taken for alive."""
    for _ in range(SILENCES):
        pause(heartbeat_s)
        if ledger.last_record() != sign:
            return False
    return True


def has_stopped(payload: bytes) -> bool:
    """Whether an entry is the last one of an owner that was stopped."""
    return _stop_in(payload) is not None


def is_stopped_for_good(payload: bytes) -> bool:
    """Whether an entry is the last one of an owner that an operator stopped."""
    stop = _stop_in(payload)
    return stop is not None and FOR_GOOD in stop.details


def successor_in(payload: bytes) -> str:
    """Return the standby to which the last entry of an owner hands over; "" if to none by name."""
    stop = _stop_in(payload)
    return stop.details.get(SUCCESSOR, "") if stop is not None else ""


def _stop_in(payload: bytes) -> EventRaised | None:
    """Return the record in an entry that says that its owner was stopped."""
    try:
        found = entries.decode(payload) if payload else []
    except UnreadableError:
        return None
    for record in found:
        if isinstance(record, EventRaised) and record.kind == STOPPED:
            return record
    return None


def is_gone(owner: bytes, proc: Path = PROC) -> bool:
    """Whether an owner was a process of this machine that does not run any more."""
    return OwnerProcess(owner, proc).has_ended()


class OwnerProcess:
    """The process of an owner, if it is one of this machine."""

    def __init__(self, owner: bytes, proc: Path = PROC) -> None:
        place = processes.machine(proc)
        self._proc = proc
        is_here = bool(place) and owner[RANDOM_BYTES : RANDOM_BYTES + MARK_BYTES] == place
        self._is_here = is_here and processes.are_all_seen(proc)  # else a hidden one looks ended
        self._mark = owner[RANDOM_BYTES + MARK_BYTES :]
        self._pid = self._find() if self._is_here else -1

    def has_ended(self) -> bool:
        """Whether it ran on this machine, and does not run any more; cheap while it runs."""
        if not self._is_here or processes.process(self._pid, self._proc) == self._mark:
            return False
        self._pid = self._find()
        return self._pid < 0

    def _find(self) -> int:
        for pid in processes.running(self._proc):
            if processes.process(pid, self._proc) == self._mark:
                return pid
        return -1

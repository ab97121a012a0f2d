"""What keeps clients waiting until Kafka works again: shown in the status, and logged once."""

from __future__ import annotations

import structlog

SLOW_S = 5.0
"""When nothing has become durable for so long, operators are told. Nothing else comes of it: the
ledger decides when an append is in doubt."""

log = structlog.get_logger("mqk.owner")


def not_written(queue_manager: str, ledger: str, pending: int, step: str = "") -> str:
    """Say what a stop leaves that could not write. pending: requests whose outcome is unknown.

    step: of the queue manager, which failed; "": Kafka is the cause.
    """
    clients = (
        f"requests whose outcome is unknown: {pending}, and their clients learn it when they "
        "connect again after the next start"
        if pending
        else "no client waits for an outcome"
    )
    why = f"without Kafka: {ledger} acknowledges no writes"
    when = " when Kafka can be reached"
    if step:
        why, when = f"before {ledger} was taken over again: {step}", ""
    return (
        f"queue manager {queue_manager} has stopped {why}, so the last entries and a snapshot were "
        f"not written there. Nothing that was acknowledged is lost; {clients}. Start it again{when}"
    )


class Stall:
    """Kafka that does not confirm, or a ledger that cannot be taken over."""

    def __init__(self, queue_manager: str) -> None:
        self._queue_manager = queue_manager
        self._reported = ""
        self.unavailable = ""
        """Why the ledger cannot be taken over, while that is tried."""

    def text(self, waits_ms: int) -> str:
        """Return what keeps clients waiting, or "". waits_ms: how long appends have waited."""
        waits_s = waits_ms / 1000
        if waits_s < SLOW_S:
            return self.unavailable
        return (
            f"Kafka has acknowledged no writes for {waits_s:.0f} s: puts and commits wait until it "
            "does, and nothing is lost; check the brokers"
        )

    def report(self, waits_ms: int, *, serves: bool) -> None:
        """Log that all clients wait, once, and that it is over: not before the owner serves."""
        now = self.text(waits_ms)
        if not now and not serves:
            return  # in doubt: nobody knows yet whether Kafka works again
        before, self._reported = self._reported, now
        name = self._queue_manager
        if self._reported and not before:
            log.warning("Kafka acknowledges no writes", queue_manager=name, reason=self._reported)
        elif before and not self._reported:
            log.info("Kafka acknowledges writes again", queue_manager=name)

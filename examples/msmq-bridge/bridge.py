r"""Move messages between a transactional queue of MSMQ and one of mqk, each exactly once.

    python bridge.py to-mqk    .\private$\orders  .\private$\orders
    python bridge.py from-mqk  .\private$\replies .\private$\replies

It runs on Windows, where it reaches MSMQ by COM (pip install pywin32), and mqk at MQK_QMGR or
127.0.0.1:1414.

Two systems have no common transaction. So one message at a time is received in a transaction of its
source, and sent in one of its target, with a mark of its id on a queue beside the target
(NAME-bridge-mark, transactional). The target commits first. If the bridge ends between the two
commits, the message returns to the source, and is received again: the mark says that the target
has it, and only the source commits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from adapter import msmq

PAUSE_S = 5.0
"""How long one receive waits for a message."""
MARK = "-bridge-mark"
MQ_RECEIVE_ACCESS, MQ_SEND_ACCESS, MQ_DENY_NONE = 1, 2, 0


class Carried:
    """What goes over: identifier is the source's, as text."""

    def __init__(self, body: Any, label: str = "", identifier: str = "", number: int = 0) -> None:
        self.body, self.label, self.identifier, self.number = body, label, identifier, number


class Side(Protocol):
    """One of the two systems, with one transaction at a time."""

    def begin(self) -> None:
        """Begin a transaction."""

    def commit(self) -> None:
        """Commit it, durably."""

    def abort(self) -> None:
        """Undo it, if one has begun."""

    def receive(self, path: str, wait_s: float) -> Carried | None:
        """Receive in the transaction; None if no message comes in time."""

    def send(self, path: str, message: Carried) -> None:
        """Send in the transaction."""


class MqkSide:
    """Queues of mqk. Their messages have bodies of text or bytes, as COM components write them."""

    def __init__(self, host: msmq.Host) -> None:
        self._host = host
        self._transaction = msmq.MessageQueueTransaction(host)

    def begin(self) -> None:
        self._transaction.begin()

    def commit(self) -> None:
        self._transaction.commit()

    def abort(self) -> None:
        if self._transaction.is_open:
            self._transaction.abort()

    def receive(self, path: str, wait_s: float) -> Carried | None:
        queue = self._host.open(path, access=msmq.QueueAccessMode.RECEIVE)
        queue.formatter = msmq.ActiveXMessageFormatter()
        try:
            found = queue.receive(wait_s, transaction=self._transaction)
        except msmq.MessageQueueTimeout:
            return None
        return Carried(found.body, found.label, found.id, found.app_specific)

    def send(self, path: str, message: Carried) -> None:
        queue = self._host.open(path, access=msmq.QueueAccessMode.SEND)
        sent = msmq.Message(message.body, formatter=msmq.ActiveXMessageFormatter())
        sent.label, sent.app_specific = message.label, message.number
        queue.send(sent, transaction=self._transaction)


class ComSide:
    """Queues of MSMQ, by its COM objects. dispatch: win32com.client.Dispatch."""

    def __init__(self, dispatch: Callable[[str], Any]) -> None:
        self._dispatch = dispatch
        self._dispenser = dispatch("MSMQ.MSMQTransactionDispenser")
        self._transaction: Any = None
        self._open: dict[tuple[str, int], Any] = {}

    def begin(self) -> None:
        self._transaction = self._dispenser.BeginTransaction()

    def commit(self) -> None:
        transaction, self._transaction = self._transaction, None
        transaction.Commit()

    def abort(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None:
            transaction.Abort()

    def receive(self, path: str, wait_s: float) -> Carried | None:
        queue = self._queue(path, MQ_RECEIVE_ACCESS)
        found = queue.Receive(self._transaction, False, True, int(wait_s * 1000))
        if found is None:
            return None
        return Carried(found.Body, found.Label, bytes(found.Id).hex(), found.AppSpecific)

    def send(self, path: str, message: Carried) -> None:
        sent = self._dispatch("MSMQ.MSMQMessage")
        sent.Body, sent.Label, sent.AppSpecific = message.body, message.label, message.number
        sent.Send(self._queue(path, MQ_SEND_ACCESS), self._transaction)

    def _queue(self, path: str, access: int) -> Any:
        if (path, access) not in self._open:
            info = self._dispatch("MSMQ.MSMQQueueInfo")
            info.PathName = path
            self._open[path, access] = info.Open(access, MQ_DENY_NONE)
        return self._open[path, access]


def move_one(source: Side, source_path: str, target: Side, path: str, wait_s: float) -> bool:
    """Move one message; False if none came in time. After an error nothing is lost or doubled."""
    try:
        source.begin()
        message = source.receive(source_path, wait_s)
        if message is None:
            source.abort()
            return False
        target.begin()
        mark = target.receive(path + MARK, 0)
        if mark is not None and mark.label == message.identifier.strip():
            target.abort()  # it was moved before, and the source did not learn of it
        else:
            target.send(path, message)
            target.send(path + MARK, Carried("", message.identifier.strip()))
            target.commit()
        source.commit()
    except BaseException:
        for side in (target, source):
            side.abort()
        raise
    return True


def main(direction: str, source_path: str, path: str) -> None:
    """Move messages until the program is ended; it may be ended at any moment."""
    dispatch = import_module("win32com.client").Dispatch  # which only Windows has
    with msmq.connect(os.environ.get("MQK_QMGR", "127.0.0.1:1414")) as host:
        windows, mqk = ComSide(dispatch), MqkSide(host)
        ways: dict[str, tuple[Side, Side]] = {"to-mqk": (windows, mqk), "from-mqk": (mqk, windows)}
        source, target = ways[direction]
        while True:
            move_one(source, source_path, target, path, PAUSE_S)


if __name__ == "__main__":
    main(*sys.argv[1:])

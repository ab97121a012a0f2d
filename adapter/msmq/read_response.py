r"""A read-response server: messages of a remote transactional queue, received in transactions.

A program that wants a message of another computer's queue sends a request to the read-request queue
there, with its own local queue as response queue. The server takes the request and a message of the
input queue, and sends that message to the response queue, all in one transaction.

    ReadResponseServer(host, r".\private$\orders", r".\private$\orders-requests").run()

This module uses what every program of MSMQ may use.
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta

from adapter.errors import Error
from adapter.msmq.enumerations import MessageType, QueueAccessMode
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import InvalidOperationError, MessageQueueException, MessageQueueTimeout
from adapter.msmq.host import Host
from adapter.msmq.message import Message
from adapter.msmq.names import absolute, is_of_several
from adapter.msmq.queue import MessageQueue
from adapter.msmq.transaction import MessageQueueTransaction

log = logging.getLogger("adapter.msmq")

PAUSE_S = 1.0
"""Between two attempts while the queue manager is away, or has no room."""
PASSING = frozenset(
    {Code.SERVICE_NOT_AVAILABLE, Code.REMOTE_MACHINE_NOT_AVAILABLE, Code.TRANSACTION_SEQUENCE,
     Code.INSUFFICIENT_RESOURCES, Code.MESSAGE_STORAGE_FAILED}
)  # fmt: skip
"""What is waited out: no request is to blame for it."""
NOT_OF_A_REQUEST = PASSING | {Code.OPERATION_CANCELLED, Code.IO_TIMEOUT, Code.GENERIC}
"""What may befall the sending of any answer: all else is wrong with the response queue."""
ANOTHER_WAS_FASTER = frozenset(
    {Code.IO_TIMEOUT, Code.MESSAGE_LOCKED_UNDER_TRANSACTION, Code.MESSAGE_ALREADY_RECEIVED,
     Code.MESSAGE_NOT_FOUND}
)  # fmt: skip
"""How a read fails if another server has received the message since it was looked at, or has it in
a transaction.
"""


class ReadResponseServer:
    """Serves read requests. Every method may be called from any thread."""

    def __init__(self, host: Host, input_queue: str, read_request_queue: str) -> None:
        """Open both queues. Raises MessageQueueException: TRANSACTION_USAGE if either is not
        transactional.
        """
        self._host = host
        self._stopping = threading.Event()
        self._served = self._rejected = 0
        self._input = _open(host, input_queue)
        self._requests = _open(host, read_request_queue)

    def run_once(self, timeout: float | timedelta | None = None) -> bool:
        """Serve one request; False if no request and message came within timeout, or stop() came.

        timeout: seconds; None: without limit.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        until_s = None if seconds is None else time.monotonic() + seconds
        while not self._stopping.is_set():
            left_s = None if until_s is None else max(until_s - time.monotonic(), 0)
            try:
                self._requests.peek(left_s)
                left_s = None if until_s is None else max(until_s - time.monotonic(), 0)
                if not self._has_response_queue():
                    continue
                self._input.peek(left_s)
                if self._serve():
                    return True
            except MessageQueueTimeout:
                return False
            except MessageQueueException:
                if self._stopping.is_set():
                    return False
                raise
        return False

    def run(self) -> None:
        """Serve requests until stop(), through restarts of the queue manager, and while it has no
        room for answers.

        Raises what cannot be waited out: QUEUE_DELETED, INVALID_HANDLE, ...
        """
        waits_for = ""
        while not self._stopping.is_set():
            try:
                self.run_once()
                waits_for = ""
            except MessageQueueException as problem:
                if problem.message_queue_error_code not in PASSING:
                    raise
                if str(problem) != waits_for:
                    waits_for = str(problem)
                    log.warning("read requests wait: %s", waits_for)
                self._stopping.wait(PAUSE_S)

    def stop(self) -> None:
        """Serve no more. A transaction that is pending ends first."""
        self._stopping.set()
        for queue in (self._requests, self._input):
            queue.close()

    def statistics(self) -> dict[str, int]:
        """Return how many requests were served, and rejected."""
        return {"requests_served": self._served, "requests_rejected": self._rejected}

    def _has_response_queue(self) -> bool:
        """Look at the first request; one that names no response queue is rejected."""
        try:
            request = self._requests.peek(0)
        except MessageQueueException as error:
            if error.message_queue_error_code not in ANOTHER_WAS_FASTER:
                raise
            return False
        problem = _problem_with(request)
        if problem:
            self._reject(request, problem)
        return not problem

    def _serve(self) -> bool:
        """Serve a request in one transaction; False if another server was faster."""
        bad: tuple[Message, str] | None = None
        try:
            with MessageQueueTransaction(self._host) as transaction:
                request = self._requests.receive(0, transaction=transaction)
                if _problem_with(request):
                    transaction.abort()  # another one than was looked at
                    return False
                message = self._input.receive(0, transaction=transaction)
                copy = message.copy()
                copy.use_dead_letter_queue = True
                try:
                    response_queue = response_queue_of(request)
                    with self._host.open(response_queue, access=QueueAccessMode.SEND) as target:
                        target.send(copy, transaction=transaction)
                except Error as problem:  # also WrongArgument, of a name that is none
                    if getattr(problem, "message_queue_error_code", None) in NOT_OF_A_REQUEST:
                        raise
                    bad = request, str(problem)
                    transaction.abort()
        except MessageQueueException as error:
            if error.message_queue_error_code not in ANOTHER_WAS_FASTER:
                raise
            return False
        if bad is not None:
            self._reject(*bad)
            return False
        self._served += 1
        return True

    def _reject(self, request: Message, why: str) -> None:
        """Receive a request that cannot be served, and reject it: its sender is told. What is no
        request is discarded: a dead letter would come back, if its dead-letter queue is this one.
        """
        try:
            with MessageQueueTransaction(self._host) as transaction:
                found = self._requests.receive_by_lookup_id(
                    request.lookup_id, transaction=transaction
                )
                if found.message_type is MessageType.NORMAL:
                    self._requests.mark_rejected(found)
        except InvalidOperationError:
            return  # it is gone: another server was faster
        except MessageQueueException as error:
            if error.message_queue_error_code not in ANOTHER_WAS_FASTER:
                raise
            return
        self._rejected += 1
        log.warning("read request %s was rejected: %s", request.id, why)


def _problem_with(request: Message) -> str:
    """Say why a message is no request; "" if it may be one."""
    if request.message_type is not MessageType.NORMAL:
        return f"it is no request, but of class {request.message_class:#x}"
    if is_of_several(request.response_queue):
        return "it names several response queues: a message is sent to one"
    return "" if request.response_queue else "it names no response queue"


def response_queue_of(request: Message) -> str:
    """Return the response queue of a request, where . means the computer of its sender."""
    return absolute(request.response_queue, request.source_computer)


def _open(host: Host, path: str) -> MessageQueue:
    queue = host.open(path, access=QueueAccessMode.RECEIVE)
    if not queue.transactional:
        queue.close()
        raise MessageQueueException(
            Code.TRANSACTION_USAGE,
            f"queue {path} is not transactional: a read-response server takes transactional queues",
            path,
        )
    return queue

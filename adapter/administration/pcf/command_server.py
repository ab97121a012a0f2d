"""The command server: takes requests from SYSTEM.ADMIN.COMMAND.QUEUE and puts the replies.

It runs in the queue manager's process as a client, connected within the process, on a thread of its
own: so a long answer delays only those who ask it. It gets requests as a part of the queue manager.
What a request asks for is done, and the replies are put, by a connection for the user of the
request's context: the audit shows that user, and the authorities that count are those of that user.
Only the queue manager's process can connect for another user: nothing in the protocol of clients
asks for it.

A user who may not connect is answered that by the queue manager itself, on a queue where who put
the request may put: an operator is, whatever its own user may. Replies go to the queue manager that
the request names; those that cannot be put are dead letters.

A message that is no request, as a report, is never taken for one: it goes to the dead-letter queue
with MQRC_MSG_TYPE_ERROR, and the audit says so.

A request is taken outside a unit: when the queue manager dies, it is lost and its program sees no
reply, rather than that it is done twice.

When it begins it puts the event message "Queue Manager Active" to SYSTEM.ADMIN.QMGR.EVENT, as IBM
MQ does at its start: tools find a queue that is not empty on every queue manager.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, Unpack

import structlog

from adapter.administration.pcf import structures as pcf
from adapter.administration.pcf.commands import ASKS, COMMAND_FAILED, Commands, Replies
from adapter.administration.status import COMMAND_SERVER
from adapter.character_sets import Order
from adapter.client.acting import put_by_name, put_for, put_on
from adapter.client.connection import ClientOptions, Connection, connect_in_process
from adapter.client.message import Message
from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract.answers import PASS_DISCARD_AND_EXPIRY, ids_of_answer
from adapter.core.contract.details import AND_CONTEXT, NO_USER, THE_QUEUE_MANAGER
from adapter.core.contract.parties import Principal, Proof
from adapter.errors import ConnectionBroken, Error, InDoubt, PersistentNotAllowed
from adapter.host import watched
from adapter.services.dead_letter_header import dead_letter_queue, with_header

COMMAND_QUEUE: str = KINDS[QUEUE_MANAGER]["command_queue"].default
FORMAT = "MQADMIN"
EVENT_QUEUE = "SYSTEM.ADMIN.QMGR.EVENT"
EVENT_FORMAT = "MQEVENT"
EVENT, QMGR_EVENT, QMGR_ACTIVE = 7, 44, 2222  # MQCFT_EVENT, MQCMD_Q_MGR_EVENT, MQRC_Q_MGR_ACTIVE
QMGR_NAME = 2015  # MQCA_Q_MGR_NAME
REQUEST, REPLY = 1, 2  # MQMT_*
MESSAGE_TYPE_ERROR = 2029  # MQRC_MSG_TYPE_ERROR
PARAMETER_ID = 1012  # MQIACF_PARAMETER_ID
FORMAT_ERROR = 3023  # MQRCCF_MD_FORMAT_ERROR
UNEXPECTED = 2195  # MQRC_UNEXPECTED_ERROR
FAILED = 2  # MQCC_FAILED
RETRY_S = 1.0
"""Pause after a failure, before the queue is opened again, so that failures cost little."""
STOP_S = 5.0
"""A command that is being done is waited for so long."""
UNIT_SIZE = 100
"""Replies are put so many at a time."""

log = structlog.get_logger("mqk.commands")
audit = structlog.get_logger("mqk.audit")


PutMessages = Callable[[Iterable[Message]], object]
"""Puts messages to the queue of the replies."""


class CommandTable(Protocol):
    """What does commands."""

    def execute(self, command: int, parameters: list[pcf.Parameter]) -> Replies:
        """Do one command. Raises PcfError."""
        ...


class RefusedCommands:
    """The commands of a user who may not connect: all are refused with the same reason."""

    def __init__(self, why: Error) -> None:
        self._why = why

    def execute(self, _command: int, _parameters: list[pcf.Parameter]) -> Replies:
        """Refuse a command. Raises PcfError."""
        raise pcf.PcfError(self._why.reason, self._why.text)


def replies_to(commands: CommandTable, request: Message) -> tuple[list[bytes], int]:
    """Do what a request says; return the replies, and MQENC_* that they are in."""
    order: Order = "<"
    command = 0
    try:
        if request.format.strip() != FORMAT:
            raise pcf.PcfError(FORMAT_ERROR, f"the format is {FORMAT}, not {request.format!r}")
        order = pcf.byte_order(request.body)
        asked = pcf.decode(request.body, request.ccsid)
        command = asked.header.command
        pcf.check_request(asked.header)
        if command not in ASKS:
            who = {"user": request.user, "application": request.application}
            log.info("command taken from the command queue", command=command, **who)
        replies = commands.execute(command, asked.parameters)
        told = _reply_messages(command, replies, order)
    except pcf.PcfError as problem:
        told = _refusal_messages(command, problem, order)
    except Exception as problem:
        log.exception("a command failed", command=command)
        told = _refusal_messages(command, pcf.PcfError(UNEXPECTED, str(problem)), order)
    return told, pcf.LITTLE_ENCODING if order == "<" else pcf.BIG_ENCODING


def _reply_messages(command: int, replies: list[list[pcf.Parameter]], order: Order) -> list[bytes]:
    """One message each, numbered, the last one marked; there is one also if it says nothing."""
    replies = replies or [[]]
    last = len(replies)
    return [
        pcf.encode(
            pcf.CommandHeader(
                command=command, sequence=at, control=pcf.LAST if at == last else pcf.NOT_LAST
            ),
            parameters,
            order,
        )
        for at, parameters in enumerate(replies, 1)
    ]


def _refusal_messages(command: int, problem: pcf.PcfError, order: Order) -> list[bytes]:
    """What is wrong, with the parameter if it is one, or in words; and that the command failed."""
    log.info("command refused", command=command, reason=problem.reason, why=problem.text)
    more = [] if problem.parameter is None else [pcf.Integer(PARAMETER_ID, problem.parameter)]
    summary = pcf.CommandHeader(command=command, comp_code=FAILED, reason=COMMAND_FAILED)
    if problem.reason == COMMAND_FAILED:
        summary.sequence = len(problem.told) + 1
        failed = {"command": command, "control": pcf.NOT_LAST, "comp_code": FAILED}
        headers = [
            pcf.CommandHeader(**failed, reason=COMMAND_FAILED, sequence=at)
            for at in range(1, summary.sequence)
        ]
        words = zip(headers, problem.told, strict=True)
        told = [pcf.encode(header, parameters, order) for header, parameters in words]
        return [*told, pcf.encode(summary, [], order)]
    what = pcf.CommandHeader(
        command=command, control=pcf.NOT_LAST, comp_code=FAILED, reason=problem.reason
    )
    summary.sequence = 2
    return [pcf.encode(what, more, order), pcf.encode(summary, [], order)]


class CommandServer:
    """Serves the command queue of the queue manager of this process, until it is stopped."""

    def __init__(
        self,
        queue_manager: str,
        loop: asyncio.AbstractEventLoop,
        accept: Callable[[Principal], asyncio.Protocol],
    ) -> None:
        """loop, accept: where the queue manager runs, and what makes its end of a connection for a
        principal.
        """
        self._own = Principal(queue_manager, Proof.OWN)
        self._loop = loop
        self._accept = accept
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._busy = threading.Lock()  # held while a command is being done
        self._qm: Connection | None = None
        self._is_announced = False
        self._answered = self._unanswerable = self._troubles = 0

    def start(self) -> None:
        """Begin to serve."""
        self._thread = watched.thread("mqk-commands", self._run, self._broke)

    def stop(self) -> None:
        """End; a command that is being done is waited for, not for ever."""
        self._stopping.set()
        done = self._busy.acquire(timeout=STOP_S)
        with self._lock:
            if self._qm is not None:
                self._qm.disconnect(abrupt=True)  # it holds nothing that a farewell would end
        if done:
            self._busy.release()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def statistics(self) -> dict[str, int]:
        """Return its figures."""
        return {
            "commands_answered": self._answered,
            "commands_unanswerable": self._unanswerable,
            "command_server_troubles": self._troubles,
        }

    def _broke(self, _what: str) -> None:
        """Serve on, in a new thread: a command that cannot be answered must not end the others."""
        self._troubles += 1
        if not self._stopping.wait(RETRY_S):
            self.start()

    def _run(self) -> None:
        told = ""
        while not self._stopping.is_set():
            try:
                self._serve()
            except Error as error:
                self._troubles += 1
                if told != str(error) and not self._stopping.is_set():
                    told = str(error)
                    log.warning("commands are not served; trying again", reason=told)
            self._stopping.wait(RETRY_S)

    def _serve(self) -> None:
        with self._connect(self._own) as qm:
            with self._lock:
                if self._stopping.is_set():
                    return
                self._qm = qm
            self._announce(qm)
            with qm.queue(COMMAND_QUEUE, open_for="input") as queue:
                while (request := queue.get(timeout=None)) is not None:
                    with self._busy:
                        if request.message_type != REQUEST:
                            self._refuse(qm, request)
                            continue
                        self._act(qm, request)

    def _act(self, qm: Connection, request: Message) -> None:
        """Do a request as the user of its context; one who may not connect is told so."""
        user = Principal(request.user, Proof.CONTEXT)
        try:
            acting = self._connect(user, reconnect_timeout_s=0.0)
        except ConnectionBroken:
            raise
        except Error as why:
            self._answer(qm, request, RefusedCommands(why), _put_by_queue_manager(qm, request))
            return
        with acting:
            self._answer(qm, request, Commands(acting), partial(_put, acting, request))

    def _connect(self, principal: Principal, **options: Unpack[ClientOptions]) -> Connection:
        options["application"] = COMMAND_SERVER
        return connect_in_process(self._loop, partial(self._accept, principal), **options)

    def _announce(self, qm: Connection) -> None:
        """Put the event message of the start, once; go on if the queue refuses it."""
        if self._is_announced:
            return
        self._is_announced = True
        event = pcf.CommandHeader(type=EVENT, command=QMGR_EVENT, reason=QMGR_ACTIVE)
        body = pcf.encode(event, [pcf.String(QMGR_NAME, qm.name, NAME_LENGTH_MAX)])
        try:
            qm.put(EVENT_QUEUE, Message(body, format=EVENT_FORMAT, persistent=False))
        except ConnectionBroken:
            raise
        except Error as error:
            log.info("the event of the start was not put", queue=EVENT_QUEUE, reason=str(error))

    def _refuse(self, qm: Connection, message: Message) -> None:
        """Put on the dead-letter queue what is no request: a report says what a program wanted, in
        the name of the user whose message it is about.
        """
        self._unanswerable += 1
        who = {"user": message.user, "application": message.application}
        what = {"queue": COMMAND_QUEUE, "message_type": message.message_type, **who}
        audit.warning("refused as a command: it is no request", reason=MESSAGE_TYPE_ERROR, **what)
        why = _bury(qm, message, MESSAGE_TYPE_ERROR, COMMAND_QUEUE, qm.name)
        if why:
            log.warning("a message was discarded that is no request", why=why, **what)

    def _answer(
        self, qm: Connection, request: Message, commands: CommandTable, put: PutMessages
    ) -> None:
        """Do a request and put its replies; those that cannot be put are dead letters, as on MQ."""
        bodies, encoding = replies_to(commands, request)
        if not request.reply_to:
            self._unanswerable += 1
            return
        fields = _fields(request) | {"encoding": encoding}
        messages = [Message(body, **fields) for body in bodies]
        try:
            _put_persistent_or_not(put, messages)
            self._answered += 1
        except ConnectionBroken:
            raise
        except Error as error:
            self._unanswerable += 1
            log.warning("a reply could not be put", queue=request.reply_to, reason=str(error))
            where = request.reply_to_queue_manager or qm.name
            for reply in messages[error.messages_put :] if not isinstance(error, InDoubt) else ():
                why = _bury(qm, reply, error.reason, request.reply_to, where)
                if why:
                    log.warning("a reply was discarded", queue=request.reply_to, why=why)


def _bury(qm: Connection, message: Message, reason: int, queue: str, queue_manager: str) -> str:
    """Put a message on the dead-letter queue in place of a queue; return why it was not, or ""."""
    dead = with_header(
        message,
        reason,
        queue=queue,
        queue_manager=queue_manager,
        application=COMMAND_SERVER,
        now_ms=int(time.time() * 1000),
    )
    try:
        put_on(qm, dead_letter_queue(qm), dead)
    except ConnectionBroken:
        raise
    except Error as error:
        return str(error)
    return ""


def _put(qm: Connection, request: Message, messages: list[Message]) -> None:
    """Put replies where the request says, which may be on another queue manager."""
    where = request.reply_to_queue_manager
    put_by_name(qm, request.reply_to, messages, queue_manager=where, unit_size=UNIT_SIZE)


def _put_by_queue_manager(qm: Connection, request: Message) -> PutMessages:
    """Return what puts to the queue of the replies by the authorities of who put the request."""
    kept = request.details.putter if request.details is not None else ""
    putter = kept.removeprefix(AND_CONTEXT)  # a refusal has nothing of what the request says
    if putter == THE_QUEUE_MANAGER:
        return partial(_put, qm, request)
    to, where = request.reply_to, request.reply_to_queue_manager
    return partial(put_for, qm, putter or request.user or NO_USER, to, queue_manager=where)


def _put_persistent_or_not(put: PutMessages, messages: list[Message]) -> None:
    """Put replies as their request was; to a temporary queue, which takes no other, not persistent.

    The messages that are put are those of the list, however they are.
    """
    try:
        put(messages)
    except PersistentNotAllowed:
        for message in messages:
            message.persistent = False
        put(messages)


def _fields(request: Message) -> dict[str, Any]:
    passed_id, correlation_id = ids_of_answer(
        request.report, request.message_id, request.correlation_id
    )
    fields: dict[str, Any] = {
        "correlation_id": correlation_id,
        "message_type": REPLY,
        "format": FORMAT,
        "persistent": request.persistent,
        "priority": request.priority,
    }
    if passed_id:
        fields["message_id"] = passed_id
    if request.report & PASS_DISCARD_AND_EXPIRY:
        fields["expiry_s"] = request.expiry_s
    return fields

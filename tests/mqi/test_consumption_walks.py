"""Random walks through MQCB and MQCTL, from a program and from its functions, against a model.

Each message says what its function does. The model is of the manual's text: STARTED, SUSPENDED and
STOPPED, and what a function asked for, which takes effect when it returns. It knows which call is
refused with what, which messages have been consumed, and how MQOP_START_WAIT ends.
"""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue as Results
from typing import Any

import ibmmq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibmmq import CMQC, ibmmqc
from msgspec import Struct, field

import adapter.testing
from adapter.client.connection import Connection
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname
from tests.support.examples import examples

WAIT_S = 20.0
FINE = 0
CONTROLS = {
    "START": CMQC.MQOP_START,
    "START_WAIT": CMQC.MQOP_START_WAIT,
    "STOP": CMQC.MQOP_STOP,
    "SUSPEND": CMQC.MQOP_SUSPEND,
    "RESUME": CMQC.MQOP_RESUME,
}
CONSUMER = {
    "register": CMQC.MQOP_REGISTER,
    "deregister": CMQC.MQOP_DEREGISTER,
    "suspend": CMQC.MQOP_SUSPEND,
    "resume": CMQC.MQOP_RESUME,
}
IN_FUNCTIONS = [*CONTROLS, *CONSUMER, "put", "disconnect", "raise"]
IN_PROGRAM = [*CONTROLS, *CONSUMER, "put", "message", "message", "message", "crash"]


def reason(name: str) -> int:
    return int(getattr(CMQC, f"MQRC_{name}"))


class Model(Struct):
    """What the manual says of one connection with one consumer."""

    state: str = "stopped"
    pending: str = ""
    """What a function asked for: it is so when the function returns."""
    is_registered: bool = True
    is_suspended: bool = False
    is_waited_for: bool = False
    why: int = FINE
    queue: list[list[str]] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        return self.is_registered and not self.is_suspended

    def ask(self, verb: str, *, inside: bool) -> int:
        """The reason code of a verb; what follows of it is done."""
        if verb in CONSUMER:
            return self._consumer(verb, inside)
        if verb == "put":
            return self._refused_outside(inside)
        if verb == "disconnect":
            return reason("CALL_IN_PROGRESS")
        return self._control_inside(verb) if inside else self._control(verb)

    def _refused_outside(self, inside: bool) -> int:
        is_owned = self.state == "started" and not inside
        return reason("HCONN_ASYNC_ACTIVE") if is_owned else FINE

    def _consumer(self, verb: str, inside: bool) -> int:
        refused = self._refused_outside(inside)
        if refused:
            return refused
        if verb != "register" and not self.is_registered:
            return reason("CALLBACK_NOT_REGISTERED")
        self.is_registered = verb != "deregister"
        self.is_suspended = verb == "suspend"
        return FINE

    def _control(self, verb: str) -> int:
        if verb in ("START", "START_WAIT"):
            if self.state != "stopped":
                return reason("OPERATION_NOT_ALLOWED")
            if verb == "START" and not self.is_registered:
                return reason("CALLBACK_NOT_REGISTERED")
            if verb == "START_WAIT" and not self.is_active:
                return reason("NO_CALLBACKS_ACTIVE")
            self.is_waited_for = verb == "START_WAIT"
            self.state = "started"
        elif verb == "STOP":
            self.state = "stopped"
        elif self.state == "stopped":
            return reason("OPERATION_NOT_ALLOWED")
        else:
            self.state = "started" if verb == "RESUME" else "suspended"
        return FINE

    def _control_inside(self, verb: str) -> int:
        if verb == "START_WAIT":
            return reason("ENVIRONMENT_ERROR")
        if verb == "STOP":
            self.pending = "stopped"
        elif verb == "START":
            if self.pending == "suspended":
                return reason("OPERATION_NOT_ALLOWED")
            self.pending = ""
        elif self.pending == "stopped":
            return reason("OPERATION_NOT_ALLOWED")
        else:
            self.pending = "" if verb == "RESUME" else "suspended"
        return FINE

    def consume(self) -> list[list[int]]:
        """What the functions are answered that are called now, one after the other."""
        answers: list[list[int]] = []
        self.why = FINE
        while self.state == "started":
            if self.is_waited_for and not self.is_active:
                self.state, self.why = "stopped", reason("NO_CALLBACKS_ACTIVE")
            elif not self.queue or not self.is_active:
                break
            else:
                script = self.queue.pop(0)
                answers.append([self.ask(one, inside=True) for one in script if one != "raise"])
                self.state, self.pending = self.pending or self.state, ""
                if self.is_waited_for and self.state == "suspended":
                    self.why = reason("CONNECTION_SUSPENDED")
        return answers


class Program:
    """The program of the model, with a true connection."""

    def __init__(self, manager: TestQueueManager) -> None:
        self.qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
        self.queue = ibmmq.Queue(self.qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
        self.answers: Results[list[int]] = Results()
        self.do("register")

    def do(self, verb: str) -> int:
        try:
            return self._do(verb)
        except ibmmq.MQMIError as refused:
            return int(refused.reason)

    def _do(self, verb: str) -> int:
        hconn = self.qmgr.get_handle()
        if verb in CONTROLS:
            return int(ibmmqc.MQCTL(hconn, CONTROLS[verb], ibmmq.CTLO().pack())[1])
        if verb == "disconnect":
            return int(ibmmqc.MQDISC(hconn)[1])
        if verb == "put":
            self.qmgr.put1("REPLIES", "x")
        elif verb == "register":
            cbd = ibmmq.CBD(CallbackFunction=self._consume)
            gmo = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)
            self.queue.cb(cbd=cbd, gmo=gmo, md=ibmmq.MD())
        else:  # not by the package: it would forget the function of one that goes on
            packed = ibmmq.CBD().pack(), self.queue.get_handle(), ibmmq.MD().pack()
            answer = ibmmqc.MQCB(hconn, CONSUMER[verb], *packed, ibmmq.GMO().pack())
            return int(answer[1])
        return FINE

    def _consume(self, **said: Any) -> None:
        if said["cbc"].CallType != CMQC.MQCBCT_MSG_REMOVED:
            return
        script = json.loads(said["msg"])
        self.answers.put([self.do(one) for one in script if one != "raise"])
        if "raise" in script:
            raise ZeroDivisionError


class Walk:
    """One program beside its model."""

    def __init__(self, manager: TestQueueManager, administrator: Connection, seed: int) -> None:
        self._manager = manager
        self._administrator = administrator
        self._draw = random.Random(seed)
        self._model = Model()
        self._program = Program(manager)
        self._crashes = 0

    def go(self, steps: int) -> None:
        for _ in range(steps):
            self._step(self._draw.choice(IN_PROGRAM))
        self._end()

    def _step(self, verb: str) -> None:
        model = self._model
        if verb == "message":
            self._message(self._draw.choices(IN_FUNCTIONS, k=self._draw.randrange(3)))
        elif verb == "crash":
            self._crash()
        else:
            waits = verb == "START_WAIT" and model.state == "stopped"
            waits |= verb == "RESUME" and model.is_waited_for and model.state == "suspended"
            if waits:  # something has to end it; one that is refused waits for nothing
                self._put(["STOP"])
            reason = model.ask(verb, inside=False)
            answers = model.consume()
            if waits and reason == FINE:
                reason = model.why
            assert self._program.do(verb) == reason, (verb, model)
            self._await(answers)

    def _put(self, script: list[str]) -> None:
        self._model.queue.append(script)
        self._administrator.put("ORDERS", json.dumps(script))

    def _message(self, script: list[str]) -> None:
        self._put(script)
        self._await(self._model.consume())

    def _await(self, answers: list[list[int]]) -> None:
        """The functions are called, and answered as the model says; then all has taken effect."""
        for expected in answers:
            assert self._program.answers.get(timeout=WAIT_S) == expected, self._model
        state = self._model.state
        if answers and state != "started":
            settle = "STOP" if state == "stopped" else "SUSPEND"
            assert self._program.do(settle) == FINE

    def _crash(self) -> None:
        if self._crashes < 1 and not self._model.is_waited_for:
            self._crashes += 1
            self._manager.crash()
            self._manager.start()

    def _end(self) -> None:
        """What was not consumed is there, in its order, and nothing more was called."""
        self._program.qmgr.disconnect()
        assert self._program.answers.empty()
        left = [json.loads(one.body) for one in self._administrator.queue("ORDERS").browse()]
        assert left == self._model.queue
        self._administrator.queue("ORDERS").purge()


@contextmanager
def running() -> Iterator[tuple[TestQueueManager, Connection]]:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as administrator:
        for name in ("ORDERS", "REPLIES"):
            administrator.define_queue(name)
        yield manager, administrator


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[TestQueueManager, Connection]]:
    with running() as found:
        yield found


@given(st.integers(0, 2**32), st.integers(1, 25), st.booleans())
@settings(max_examples=examples(40))
def test_walks(
    site: tuple[TestQueueManager, Connection], seed: int, steps: int, in_loop: bool
) -> None:
    """in_loop: the program is a coroutine, which makes no difference."""

    async def coroutine() -> None:
        Walk(*site, seed).go(steps)

    if in_loop:
        asyncio.run(coroutine())
    else:
        Walk(*site, seed).go(steps)

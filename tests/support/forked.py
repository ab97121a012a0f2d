"""Programs that fork with a connection open: `python -m tests.support.forked HOW ADDRESS COUNT`.

Each is the parent of the children that it forks, in a process of its own with one thread, as
preforking servers are. It prints what happened, one JSON object a line: put or got, a body;
refused, an error's type and text.
"""

import json
import multiprocessing
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import ibmmq

import adapter
from adapter import msmq, servicebroker
from adapter.client.unit import Unit

CHILDREN = 4
END_S = 10.0
_kept: dict[str, Any] = {}  # what a pool's functions find in their process


def say(what: str, text: str) -> None:
    """Print one line, whole, whatever other processes print."""
    os.write(1, (json.dumps([what, text]) + "\n").encode())


def refused(call: Callable[[], object]) -> None:
    """Use an inherited connection, and say how that was refused."""
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 -- the test looks at it
        say("refused", f"{type(error).__name__}: {error}")
    else:
        say("accepted", repr(result))


def in_children(count: int, work: Callable[[int], None]) -> None:
    """Fork children that do something each."""
    for number in range(count):
        if os.fork() == 0:
            try:
                work(number)
            except BaseException as error:  # noqa: BLE001 -- the test looks at it
                say("failed", repr(error))
            finally:
                os._exit(0)


def await_children() -> None:
    """Wait until every child has ended."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def work(qm: adapter.Connection, name: str, count: int) -> None:
    """Put and get so many messages."""
    queue = qm.queue("Q")
    for turn in range(count):
        body = f"{name} {turn}"
        queue.put(body)
        say("put", body)
        message = queue.get()
        assert message is not None
        say("got", message.text)


def all_uses(qm: adapter.Connection, queue: adapter.Queue, unit: Unit) -> None:
    """Use what was inherited in every way; then let go of it in every way."""
    refused(lambda: queue.put("child"))
    refused(queue.get)
    refused(lambda: queue.get(timeout=None))
    refused(lambda: queue.put("child", unit=unit, wait=False))
    refused(unit.commit)
    refused(lambda: list(queue.browse()))
    refused(lambda: list(queue.units(timeout=0)))
    refused(lambda: list(queue.units(timeout=0, prefetch=4)))
    refused(lambda: qm.put("Q", "child"))
    refused(lambda: qm.get("Q"))
    refused(lambda: qm.queue("Q", open_for="output"))
    refused(lambda: queue.request("child", timeout=1))
    refused(lambda: qm.define_queue("OTHER"))
    queue.close()
    qm.close()


def forked(address: str, count: int) -> None:
    """Children that were preloaded, and their parent, put and get at the same time."""
    with adapter.connect(address) as qm:
        queue, unit = qm.queue("Q"), qm.unit()
        queue.put("before")
        queue.get()
        unit.begin()
        queue.put("in the parent's unit", unit=unit)

        def child(number: int) -> None:
            all_uses(qm, queue, unit)
            with adapter.connect(address) as own:
                work(own, f"child {number}", count)

        in_children(CHILDREN, child)
        work(qm, "parent", count)
        await_children()
        unit.backout()


def _in_pool(number: int) -> None:
    refused(lambda: _kept["inherited"].put("child"))
    if "own" not in _kept:
        _kept["own"] = adapter.connect(_kept["address"])
    work(_kept["own"], f"task {number}", 1)


def pool(address: str, count: int) -> None:
    """The processes of a pool, which inherit a queue object that is used in the parent too."""
    with adapter.connect(address) as qm:
        _kept.update(inherited=qm.queue("Q"), address=address)
        work(qm, "before", 1)
        with multiprocessing.get_context("fork").Pool(CHILDREN) as workers:
            workers.map(_in_pool, range(count))
        work(qm, "parent", count)


def preforking(address: str, count: int) -> None:
    """A server that listens, preloads a connection, and forks the processes that accept."""
    listening = socket.create_server(("127.0.0.1", 0))
    qm = adapter.connect(address)
    queue = qm.queue("Q")
    work(qm, "preloaded", 1)

    def serve(number: int) -> None:
        own: adapter.Connection | None = None
        while True:
            accepted, _ = listening.accept()
            with accepted:
                request = accepted.recv(100).decode()
                if request == "stop":
                    accepted.sendall(b"stopped")
                    return
                refused(lambda: queue.put("child"))
                own = own or adapter.connect(address)
                work(own, f"server {number} {request}", 1)
                accepted.sendall(b"done")

    in_children(CHILDREN, serve)
    for request in [*map(str, range(count)), *["stop"] * CHILDREN]:
        with socket.create_connection(listening.getsockname()) as asking:
            asking.sendall(request.encode())
            assert asking.recv(100)
    await_children()
    work(qm, "parent", count)
    qm.close()


def faces(address: str, _count: int) -> None:
    """A connection of every face, inherited and used."""
    host = msmq.connect(address)
    mine = host.create(r".\private$\mine")
    session = servicebroker.connect(address)
    name, port = address.rsplit(":", 1)
    mq = ibmmq.connect("QM1", "DEV.APP.SVRCONN", f"{name}({port})")
    mq_queue = ibmmq.Queue(mq, "Q", ibmmq.CMQC.MQOO_OUTPUT | ibmmq.CMQC.MQOO_INPUT_SHARED)
    mq_queue.put(b"parent")

    def child(_number: int) -> None:
        refused(lambda: mine.send(b"child"))
        refused(lambda: session.create_message_type("Child"))
        refused(lambda: mq_queue.put(b"child"))
        refused(mq_queue.get)

    in_children(1, child)
    await_children()
    mq_queue.put(b"parent")
    mine.send(b"parent")
    say("got", mq_queue.get().decode())
    say("got", mq_queue.get().decode())
    session.create_message_type("Parent")
    mq.disconnect()
    session.close()
    host.close()


def locked(address: str, _count: int) -> None:
    """Every lock is held by another thread at the moment of the fork."""
    qm = adapter.connect(address)
    queue = qm.queue("Q")
    channel = qm._channel
    held, forked_now = threading.Event(), threading.Event()

    def hold() -> None:
        with channel._lock, channel._leadership._lead, queue._handles.lock, qm._replies._lock:
            held.set()
            forked_now.wait()

    holding = threading.Thread(target=hold)
    holding.start()
    held.wait()
    unit = qm.unit()
    unit.begin()
    in_children(1, lambda _number: all_uses(qm, queue, unit))
    await_children()
    forked_now.set()
    holding.join()
    work(qm, "parent", 1)
    qm.close()


def inside(address: str, _count: int) -> None:
    """A thread of the parent is in a verb of the MQI at the moment of the fork; a thread of the
    child, which may get the identity of that one, makes a connection of its own, and gives it up.
    """
    name, port = address.rsplit(":", 1)
    cno = ibmmq.CNO(Options=ibmmq.CMQC.MQCNO_HANDLE_SHARE_BLOCK)
    parents = ibmmq.connect("QM1", "DEV.APP.SVRCONN", f"{name}({port})", cno=cno)
    queue = ibmmq.Queue(parents, "Q", ibmmq.CMQC.MQOO_OUTPUT | ibmmq.CMQC.MQOO_INPUT_SHARED)
    gmo = ibmmq.GMO(Options=ibmmq.CMQC.MQGMO_WAIT, WaitInterval=ibmmq.CMQC.MQWI_UNLIMITED)
    waiting = threading.Thread(target=lambda: say("got", queue.get(None, ibmmq.MD(), gmo).decode()))
    waiting.daemon = True
    waiting.start()
    with adapter.connect(address) as qm:
        while not qm.queue("Q").status().waiting_gets:
            waiting.join(0.01)

    def put() -> None:
        own = ibmmq.connect("QM1", "DEV.APP.SVRCONN", f"{name}({port})", cno=cno)
        inner = ibmmq.Queue(own, "Q", ibmmq.CMQC.MQOO_OUTPUT)
        inner.put(b"child", ibmmq.MD(), ibmmq.PMO(Options=ibmmq.CMQC.MQPMO_SYNCPOINT))
        inner.close()
        own.disconnect()

    def child(_number: int) -> None:
        thread = threading.Thread(target=put)
        thread.start()
        thread.join(END_S)

    in_children(1, child)
    await_children()
    waiting.join(END_S)
    say("ended", str(not waiting.is_alive()))
    os._exit(0)


PROGRAMS = {
    "inside": inside,
    "forked": forked,
    "pool": pool,
    "preforking": preforking,
    "faces": faces,
    "locked": locked,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2], int(sys.argv[3]))

"""Exceptions of signal handlers at every point of a verb: the connection stays whole.

Each example is one verb, or a few, with an exception at one point of it. Afterwards the connection
works in this thread and in another one; no message is locked or removed that the program was not
given, no handle is open that the client does not know, no put is on the queue that was refused, and
what a commit says is true.

`python -m tests.unit.connection.channel.test_channel_interrupts` tries all points of all verbs; the
tests try some.
"""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress

import pytest
from msgspec import Struct, field

import adapter
from adapter import errors as e
from adapter.client.replies import MODEL
from adapter.client.work import Work
from tests.support.examples import examples
from tests.support.interrupted_at import Interruption, Interruptor, TimeLimit
from tests.support.loopback import Loopback, loopback

END_S = 5.0
"""No verb may take longer."""
POINTS = 8
"""That a test tries of each verb."""
INTERRUPTED = (Interruption, TimeLimit)


class UnitDone(Struct):
    """What the program has put and got in a unit. is_committed: it was told so."""

    ident: bytes
    put: list[bytes] = field(default_factory=list)
    got: list[bytes] = field(default_factory=list)
    is_committed: bool = False


class Site:
    """One connection of the program, a queue of its own, and what the program was told."""

    def __init__(self, server: Loopback, operator: adapter.Connection, name: str) -> None:
        self.server = server
        self.operator = operator
        self.name = name
        for one in (name, f"{name}.CHECK", f"{name}.BESIDE"):
            operator.define_queue(one)
        self.qm = adapter.connect(server.address, heartbeat_s=0, reconnect_timeout_s=5.0)
        self.queue = self.qm.queue(name)
        self.got: list[bytes] = []
        self.put: list[bytes] = []
        """Of which the program was told that they are put, outside units or in one committed."""
        self.offered: list[bytes] = []
        """All that it has tried to put."""
        self.units: list[UnitDone] = []

    def seed(self, *bodies: bytes) -> None:
        """Have messages on the queue."""
        for body in bodies:
            self.operator.put(self.name, body)
            self.put.append(body)
            self.offered.append(body)

    def begin(self, unit: adapter.Unit | Work) -> UnitDone:
        """Note what is done in a unit."""
        self.units.append(UnitDone(unit.id))
        return self.units[-1]

    def put_in(self, done: UnitDone, body: bytes, *, wait: bool = True) -> None:
        """Put in the unit of the with statement."""
        self.offered.append(body)
        self.queue.put(body, wait=wait)
        done.put.append(body)

    def get_in(self, done: UnitDone) -> None:
        """Get in the unit of the with statement."""
        message = self.queue.get()
        if message is not None:
            done.got.append(message.body)

    def count_units(self) -> None:
        """Count what was done in units that were committed, whether the program was told or not."""
        for done in self.units:
            outcome = self.qm.outcome(done.ident)
            assert outcome == "committed" or not done.is_committed, f"it is {outcome}"
            if outcome == "committed":
                self.put += done.put
                self.got += done.got
        self.units = []

    def close(self) -> None:
        self.qm.close()


class Verb(Struct, frozen=True):
    """What is interrupted. is_lossy: of a message that is got outside units the program may not
    hear.
    """

    prepare: Callable[[Site], None]
    run: Callable[[Site], None]
    is_lossy: bool = False


def nothing(_site: Site) -> None:
    """Prepare nothing."""


def warm(site: Site) -> None:
    """Have the session and the handle of puts open."""
    site.offered.append(b"warm")
    site.queue.put(b"warm")
    site.put.append(b"warm")


def warm_get(site: Site) -> None:
    """Have a message on the queue, and the handles open."""
    warm(site)
    message = site.queue.get()
    assert message is not None
    site.got.append(message.body)
    site.seed(b"1", b"2")


def put(site: Site) -> None:
    site.offered.append(b"a")
    site.queue.put(b"a")
    site.put.append(b"a")


def put_long(site: Site) -> None:
    """Put what does not go out in one piece."""
    body = bytes(3_000_000)
    site.offered.append(body)
    site.queue.put(body)
    site.put.append(body)


def get(site: Site) -> None:
    message = site.queue.get()
    if message is not None:
        site.got.append(message.body)


def get_waiting(site: Site) -> None:
    """Wait on a queue that stays empty; the check puts messages afterwards."""
    message = site.qm.queue(f"{site.name}.BESIDE").get(timeout=0.01)
    assert message is None, "a message that was not put"


def work_in_a_unit(site: Site) -> None:
    """Get and put in a unit; the interruption leaves it."""
    with site.qm.unit() as unit:
        done = site.begin(unit)
        site.get_in(done)
        site.put_in(done, b"x")
        site.put_in(done, b"y")
    done.is_committed = True


def defer_in_a_unit(site: Site) -> None:
    with site.qm.unit() as unit:
        done = site.begin(unit)
        for n in range(4):
            site.put_in(done, b"x%d" % n, wait=False)
    done.is_committed = True


def go_on_in_a_unit(site: Site) -> None:
    """Catch the interruption of each verb inside the unit, and commit."""
    with suppress(e.BackedOut), site.qm.unit() as unit:
        done = site.begin(unit)
        for n in range(3):
            with suppress(*INTERRUPTED):
                site.put_in(done, b"w%d" % n, wait=n == 1)
        with suppress(*INTERRUPTED):
            site.get_in(done)
        unit.commit()
        done.is_committed = True


def commit_in_flight(site: Site) -> None:
    for n in range(3):
        unit = site.qm.unit()
        unit.begin()
        done = site.begin(unit)
        try:
            site.offered.append(b"f%d" % n)
            site.queue.put(b"f%d" % n, unit=unit)
            done.put.append(b"f%d" % n)
            unit.commit(wait=False)
        except INTERRUPTED:
            with suppress(e.UnitEnded, e.BackedOut):
                unit.backout()
            raise
    site.qm.flush()
    for done in site.units:
        done.is_committed = True


def fail_in_a_unit(site: Site) -> None:
    with suppress(KeyError), site.qm.unit():
        site.queue.get()
        raise KeyError


def browse(site: Site) -> None:
    for _ in site.queue.browse():
        pass


def ask(site: Site) -> None:
    with suppress(e.NoReply):
        site.qm.queue(f"{site.name}.BESIDE").request(b"?", timeout=0.01)


def open_and_close(site: Site) -> None:
    with site.qm.queue(site.name, open_for="input_exclusive"):
        pass


def work(site: Site) -> None:
    _work(site, site.queue.units(timeout=0))


def work_ahead(site: Site) -> None:
    _work(site, site.queue.units(timeout=0, prefetch=4, commits=2))


def _work(site: Site, units: Iterator[Work]) -> None:
    for unit in units:
        done = site.begin(unit)
        with unit:
            done.got += [message.body for message in unit.messages]


def put_many(site: Site) -> None:
    bodies = [b"m%d" % n for n in range(4)]
    site.offered += bodies
    site.queue.put_many(bodies, unit_size=1)
    site.put += bodies


def cut(site: Site) -> None:
    """Lose the connection, which the verb notices and makes again."""
    warm_get(site)
    site.server.call(site.server.clients[max(site.server.clients)].cut)


VERBS = {
    "put": Verb(warm, put),
    "put, the first": Verb(nothing, put),
    "put, long": Verb(warm, put_long),
    "put, reconnecting": Verb(cut, put),
    "get": Verb(warm_get, get, is_lossy=True),
    "get, waiting": Verb(warm_get, get_waiting),
    "unit": Verb(warm_get, work_in_a_unit),
    "unit, deferred": Verb(warm_get, defer_in_a_unit),
    "unit, going on": Verb(warm_get, go_on_in_a_unit),
    "unit, reconnecting": Verb(cut, go_on_in_a_unit),
    "unit, failing": Verb(warm_get, fail_in_a_unit),
    "commits in flight": Verb(warm_get, commit_in_flight),
    "browse": Verb(warm_get, browse),
    "request": Verb(warm, ask),
    "open": Verb(warm, open_and_close),
    "units": Verb(warm_get, work),
    "units, ahead": Verb(warm_get, work_ahead),
    "put_many": Verb(warm_get, put_many),
}


@contextmanager
def beside(site: Site) -> Iterator[list[bytes]]:
    """Have another thread wait for a message on the connection, which leads then."""
    got: list[bytes] = []

    def wait() -> None:
        begun_s = time.monotonic()
        message = site.qm.queue(f"{site.name}.CHECK").get(timeout=3 * END_S)
        waited_s = time.monotonic() - begun_s
        got.append(message.body if message is not None else b"nothing in %.1f s" % waited_s)

    thread = threading.Thread(target=wait)
    thread.start()
    yield got
    site.operator.put(f"{site.name}.CHECK", b"for the other thread")
    thread.join(END_S)
    assert got == [b"for the other thread"], f"the other thread got {got}"


def try_point(site: Site, verb: Verb, number: int, has_other: bool) -> Interruptor:
    """Interrupt a verb at one point, and see that everything is whole."""
    verb.prepare(site)
    this = Interruptor(number, INTERRUPTED[number % 2])
    with beside(site) if has_other else nullcontext():
        with suppress(*INTERRUPTED):
            this.call(lambda: verb.run(site))
        check(site, verb)
    return this


def check(site: Site, verb: Verb) -> None:
    """See that the connection works, and that nothing is lost, doubled or locked."""
    with suppress(e.InDoubt, e.BackedOut):  # of commits in flight, once
        site.qm.flush()
    in_another(lambda: use(site))
    use(site)
    deadline_s = time.monotonic() + END_S
    while (left := what_is_left(site)) and time.monotonic() < deadline_s:
        use(site)
    assert not left, left
    site.count_units()
    there = site.server.bodies(site.name)
    seen = there + site.got
    assert len(set(seen)) == len(seen), f"doubled: {short(seen)}"
    lost = set(site.put) - set(seen)
    assert len(lost) <= verb.is_lossy, f"lost: {short(lost)}"
    assert set(seen) <= set(site.offered), short(seen)


def use(site: Site) -> None:
    """Put and get."""
    name = f"{site.name}.BESIDE"
    site.qm.put(name, b"for the check", unit=adapter.NO_UNIT)
    bodies = []
    while (message := site.qm.get(name, unit=adapter.NO_UNIT)) is not None:
        bodies.append(message.body)
    assert b"for the check" in bodies, "a message went to nobody"


def what_is_left(site: Site) -> str:
    """Say what of the connection is open at the queue manager that its client does not know."""
    handles, units = site.server.call(lambda: _open(site))
    known = site.qm.statistics()
    if units or known["units"] > 0:
        return f"{units} units are open, {known['units']} here"
    return "" if handles <= known["handles"] else f"{handles} handles, {known['handles']} known"


def _open(site: Site) -> tuple[int, int]:
    last = max(site.server.qm.connections)
    connection = site.server.qm.connections[last]
    return len(connection.handles), len(connection.units)


def in_another(work: Callable[[], None]) -> None:
    """Do something in another thread."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 -- it is raised where it is seen
            problems.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(END_S)
    stack = sys._current_frames().get(thread.ident or 0) if thread.is_alive() else None
    assert stack is None, "".join(["a verb does not end:\n", *traceback.format_stack(stack)])
    if problems:
        raise problems[0]


def short(bodies: object) -> list[bytes]:
    return [body[:10] for body in bodies]  # type: ignore[attr-defined]


def try_points(verb: Verb, has_other: bool, wanted: Callable[[int], list[int]]) -> list[str]:
    """Interrupt a verb at the points that are wanted of so many; return what was wrong."""
    problems: list[str] = []
    with loopback() as server, adapter.connect(server.address) as operator:
        operator.define_object("model", MODEL)
        site = Site(server, operator, "Q0")
        count = try_point(site, verb, 0, has_other).seen
        site.close()
        for number in wanted(count):
            site = Site(server, operator, f"Q{number}")
            try:
                try_point(site, verb, number, has_other)
            except Exception as error:  # noqa: BLE001 -- all points are tried
                problems.append(f"point {number} of {count}: {type(error).__name__}: {error}")
            finally:
                with suppress(e.Error):
                    site.close()
    return problems


@pytest.mark.filterwarnings(
    "ignore:.*unclosed <socket:pytest.PytestUnraisableExceptionWarning",  # being made just then
    "ignore:.*unclosed <socket:ResourceWarning",
)
@pytest.mark.parametrize("has_other", [False, True], ids=["alone", "beside another"])
@pytest.mark.parametrize("name", VERBS)
def test_an_exception_of_a_signal_handler_leaves_the_connection_whole(
    name: str, has_other: bool
) -> None:
    chance = random.Random(f"{name} {has_other}")

    def some(count: int) -> list[int]:
        return sorted(chance.sample(range(1, count + 1), min(examples(POINTS), count)))

    assert try_points(VERBS[name], has_other, some) == []


def main(only: str = "", first: str = "1", last: str = "") -> None:
    """Try every point of every verb, or of those whose names have this in them, from a point to
    another one.
    """
    failed = 0
    for name, verb in VERBS.items():
        for has_other in (False, True):
            if only not in name:
                continue
            found = try_points(
                verb,
                has_other,
                lambda count: list(range(int(first), min(int(last or count), count) + 1)),
            )
            failed += len(found)
            print(f"{name}, {'beside another' if has_other else 'alone'}: {len(found)}", flush=True)
            for problem in found:
                print("   ", problem, flush=True)
    sys.exit(min(failed, 1))


if __name__ == "__main__":
    main(*sys.argv[1:])

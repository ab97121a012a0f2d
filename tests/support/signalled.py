"""Signal handlers at random moments: `python -m tests.support.signalled COUNT SEED`.

In each round the main thread is in the midst of something (a get, units(), a browse, a commit, a
wait for a reconnection), and a handler of SIGALRM, SIGTERM or SIGINT closes the queue or the
connection, cancels a token or puts a message. The round must end, and a connection that is open
then must work. A round that hangs ends the process, with the stacks of its threads. Prints how
often each action was done and refused, as JSON.
"""

import faulthandler
import json
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import adapter
import adapter.testing
from adapter.errors import CallInProgress, ConnectionClosed, NotOpen
from adapter.testing import TestQueueManager

HANG_S = 30.0
MOMENT_S = 0.004
SIGNALS = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT)
ACTIONS = ("close the queue", "close the connection", "cancel", "put")


class Round:
    """One connection, and what a handler does to it."""

    def __init__(self, manager: TestQueueManager, action: str, is_local: bool) -> None:
        self.qm = manager.connect() if is_local else adapter.connect(manager.address)
        self.queue = self.qm.queue("Q")
        self.token = adapter.CancelToken()
        self.fired = False
        self.was_refused = False
        self._action = action

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        actions: dict[str, Callable[[], object]] = {
            "close the queue": self.queue.close,
            "close the connection": self.qm.close,
            "cancel": self.token.cancel,
            "put": lambda: self.qm.put("LOG", "stopping", unit=adapter.NO_UNIT),
        }
        try:
            actions[self._action]()
        except CallInProgress:
            self.was_refused = True
        finally:
            self.fired = True

    @property
    def timeout(self) -> float | None:
        """Of gets: those that a close ends wait without limit."""
        return None if self._action.startswith("close") else 0.02

    def get(self) -> None:
        while not self.fired:
            cancel = self.token if self._action == "cancel" else None
            self.queue.get(timeout=None if cancel else self.timeout, cancel=cancel)

    def units(self) -> None:
        while not self.fired:
            for unit in self.queue.units(timeout=self.timeout, prefetch=random.choice((0, 4))):
                with unit:
                    self.queue.put("again", wait=False)
                if self._is_over():
                    break

    def _is_over(self) -> bool:
        return self.fired and self.timeout is not None  # else the close ends the loop

    def browse(self) -> None:
        while not self.fired:
            list(self.queue.browse())

    def commit(self) -> None:
        while not self.fired:
            with self.qm.unit():
                self.queue.put("x", wait=False)

    def check(self) -> None:
        """See that a connection which was not closed works, also in another thread."""
        if self.qm.is_closed:
            return
        for work in (self.qm.queue("LOG").depth, self.qm.queue("OTHER").depth):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            work()


def fire(signal_number: int, after_s: float) -> None:
    """Have a signal come in a while."""
    if signal_number == signal.SIGALRM:
        signal.setitimer(signal.ITIMER_REAL, max(after_s, 1e-6))
        return
    main = threading.main_thread().ident
    assert main is not None

    def send() -> None:
        time.sleep(after_s)
        signal.pthread_kill(main, signal_number)

    threading.Thread(target=send, daemon=True).start()


def one_round(manager: TestQueueManager, chance: random.Random, done: Counter[str]) -> None:
    """One handler at one moment."""
    what = chance.choice(("get", "units", "browse", "commit", "reconnection"))
    action, number = chance.choice(ACTIONS), chance.choice(SIGNALS)
    this = Round(manager, action, is_local=chance.random() < 0.3)
    signal.signal(number, this.handle)
    is_away = what == "reconnection"
    if is_away:
        manager.crash()
        what = "get"
        threading.Timer(0.05, manager.start).start()
    fire(number, chance.random() * (0.03 if is_away else MOMENT_S))
    with suppress(NotOpen, ConnectionClosed):
        getattr(this, what)()
    while not this.fired:
        time.sleep(0.001)
    signal.signal(number, signal.SIG_IGN)
    while not manager.is_running:
        time.sleep(0.001)
    this.check()
    this.qm.close()
    done[action + (" refused" if this.was_refused else "")] += 1


def main(count: int, seed: int) -> None:
    """Run rounds, and print what was done."""
    chance, done = random.Random(seed), Counter[str]()
    with adapter.testing.queue_manager("QM1") as manager:
        with manager.connect() as qm:
            for name in ("Q", "LOG", "OTHER"):
                qm.define_queue(name)
        for number in range(count):
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            if number % 20 == 0:
                with manager.connect() as qm:
                    for name in ("Q", "LOG"):
                        qm.queue(name).purge()
            one_round(manager, chance, done)
            faulthandler.cancel_dump_traceback_later()
    print(json.dumps(done))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

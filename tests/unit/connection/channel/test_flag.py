"""A flag wakes every thread that waits for it."""

import subprocess
import sys
import threading
import time

from adapter.connection.channel.flag import Flag

WAIT_S = 20.0


def test_it_wakes_every_thread_that_waits() -> None:
    flag, woken = Flag(), []
    threads = [threading.Thread(target=lambda: woken.append(flag.wait(WAIT_S))) for _ in range(4)]
    for thread in threads:
        thread.start()
    flag.set()
    for thread in threads:
        thread.join(WAIT_S)
    assert woken == [True] * 4
    assert flag.is_set()
    assert flag.wait(WAIT_S)


def test_a_wait_has_an_end() -> None:
    flag, began_s = Flag(), time.monotonic()
    assert not flag.wait(0.01)
    assert not flag.wait(0)
    assert time.monotonic() - began_s < WAIT_S


def test_a_wait_ends_though_a_signal_handler_takes_longer() -> None:
    program = """
import signal, time
from adapter.connection.channel.flag import Flag
signal.signal(signal.SIGALRM, lambda *_: time.sleep(0.2))
signal.setitimer(signal.ITIMER_REAL, 0.05)
Flag().wait(0.1)
"""
    subprocess.run([sys.executable, "-c", program], timeout=WAIT_S, check=True)

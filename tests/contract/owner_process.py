"""An owner as a process of its own, for tests that stop it: appends, and prints every reply.

python owner_process.py BOOTSTRAP TOPIC OWNER_HEX ENTRIES

It prints a line for each step: taken OFFSET, append N (before it does), durable N, doubt TEXT,
done.
"""

import sys
import threading

from adapter.storage.ledger.kafka import KafkaLedger
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import LedgerClosed

IN_FLIGHT = 5
WAIT_S = 60.0


def payload_of(n: int) -> bytes:
    """What entry n holds."""
    return b"entry %d" % n


class Printer:
    """Prints lines from several threads, and ends the program's wait."""

    def __init__(self, ledger: KafkaLedger) -> None:
        self._lock = threading.Lock()
        self._durable_n = 0
        self.room = threading.Semaphore(IN_FLIGHT)
        self.doubted = threading.Event()
        ledger.on_durable = self._on_durable
        ledger.on_doubt = self._on_doubt

    def say(self, text: str) -> None:
        with self._lock:
            print(text, flush=True)

    def _on_durable(self, n: int) -> None:
        self.say(f"durable {n}")
        self.room.release(n - self._durable_n)
        self._durable_n = n

    def _on_doubt(self, text: str) -> None:
        self.say(f"doubt {text}")
        self.doubted.set()
        self.room.release()


def main() -> int:
    bootstrap_servers, topic, owner, entries = sys.argv[1:]
    ledger = KafkaLedger(LedgerSettings(bootstrap_servers=bootstrap_servers, topic=topic))
    printer = Printer(ledger)
    taken = ledger.take_over(bytes.fromhex(owner), "a process", lambda _entry: None)
    printer.say(f"taken {taken.offset}")
    for n in range(1, int(entries) + 1):
        if not printer.room.acquire(timeout=WAIT_S):
            return 1
        if printer.doubted.is_set():
            break
        printer.say(f"append {n}")
        try:
            ledger.append(payload_of(n))
        except LedgerClosed:
            printer.doubted.wait(WAIT_S)
            break
    ledger.close()
    printer.say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())

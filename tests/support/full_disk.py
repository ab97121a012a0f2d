"""A broker whose disk is full, on any Linux and without mounting anything.

The system refuses every write of the broker beyond a size of file, as it does on a full disk; Kafka
takes both alike: the log directory has failed, and the broker ends.
"""

from __future__ import annotations

import resource
import time

from adapter.localkafka import LocalKafka

END_S = 30.0
POLL_S = 0.02


class FullDisk:
    """The disk of one broker of a local Kafka."""

    def __init__(self, kafka: LocalKafka, broker: int = 1) -> None:
        self._kafka = kafka
        self._broker = broker

    def fill(self, topic: str, left_bytes: int) -> None:
        """Let a topic's log have room for so much more; larger files cannot grow at all."""
        pid = self._kafka.pid(self._broker)
        assert pid is not None, "the broker does not run"
        folder = self._kafka.data_dir / f"broker-{self._broker}" / "data" / f"{topic}-0"
        size = max(log.stat().st_size for log in folder.glob("*.log"))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + left_bytes, resource.RLIM_INFINITY))

    def await_end_of_broker(self) -> None:
        """Wait until the broker has ended, which Kafka does by itself."""
        deadline_s = time.monotonic() + END_S
        while self._kafka.pid(self._broker) is not None:
            assert time.monotonic() < deadline_s, "the broker lives on with a full disk"
            time.sleep(POLL_S)
        assert "all log dirs in" in self.log(), "it ended for another reason"

    def make_room(self) -> None:
        """Start the broker again, where writes succeed; returns when it answers."""
        self._kafka.start(self._broker)

    def log(self) -> str:
        """What the broker logged."""
        folder = self._kafka.data_dir / f"broker-{self._broker}"
        return (folder / "broker.log").read_text(errors="replace")

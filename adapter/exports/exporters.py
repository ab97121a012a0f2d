"""The exporters of a queue manager: a thread for each export that has messages.

An exporter ends when it has waited for messages for some time, and is started again when there are
some. After a failure it begins again, after pauses that get longer. This module must not know how
messages are written.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import structlog

from adapter import watched
from adapter.channel.channel import Channel
from adapter.errors import Error
from adapter.exports.exporter import (
    PAUSED,
    RETRYING,
    WAITING,
    Counts,
    Dial,
    Export,
    ExportSession,
    RefusedMessages,
)
from adapter.exports.port import (
    ExportError,
    ExportFigures,
    ExportTopics,
    RecordRefusedError,
    TopicRefusedError,
)
from adapter.network.sender import Pauses

PAUSE_S_MAX = 5.0
"""Between attempts, each pause twice as long as the one before."""
REFUSED_S_MAX = 2.0
"""While the topic is not there, or may not be written."""
STOP_S = 30.0

log = structlog.get_logger("mqk.exports")


class Exporter:
    """Writes for one export, in a thread of its own, until it is stopped or has long waited."""

    def __init__(self, export: Export, dial: Dial, topics: ExportTopics) -> None:
        self.export = export
        self._dial = dial
        self._topics = topics
        self._counts = Counts(since_s=time.monotonic())
        self._refused = RefusedMessages()
        self._stopping = threading.Event()
        self._again = threading.Event()
        self._channel: Channel | None = None
        self._lock = threading.Lock()
        self._thread = watched.thread(f"export-{export.name}", self._run, self._failed)

    def stop(self) -> None:
        """Let it end: what it has got and not committed is backed out."""
        self._stopping.set()
        self._again.set()
        with self._lock:
            channel = self._channel
        if channel is not None:
            with suppress(Error):
                channel.close()

    def join(self) -> None:
        """Wait for its end; bounded."""
        self._thread.join(STOP_S)

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    @property
    def has_waited(self) -> bool:
        """Whether it ended because there were no messages for some time."""
        return not self.is_alive and self._counts.state == WAITING

    def figures(self, waiting: int) -> ExportFigures:
        """Return its figures. waiting: messages on its queue."""
        at = self._counts
        return ExportFigures(
            state=at.state,
            for_s=round(time.monotonic() - at.since_s, 1),
            why=at.why,
            waiting=waiting,
            records=at.records,
            bytes=at.bytes,
            dead_letters=at.dead_letters,
            failures=at.failures,
            ends=at.ends,
        )

    def _failed(self, why: str) -> None:
        """Note that the thread has ended unexpectedly; another exporter takes its place."""
        self._counts.enter(RETRYING, why)
        self._counts.failures += 1

    def _run(self) -> None:
        pauses = Pauses()
        while not self._stopping.is_set():
            records = self._counts.records
            longest_s = PAUSE_S_MAX
            try:
                self._session()
                return
            except RecordRefusedError:
                continue  # the next attempt knows what becomes of it
            except (Error, ExportError) as error:
                if self._stopping.is_set():
                    return
                self._take_failure(error)
                longest_s = REFUSED_S_MAX if isinstance(error, TopicRefusedError) else longest_s
            if self._counts.records > records:
                pauses.begin_again()
            self._again.wait(pauses.next_s(longest_s))
            self._again.clear()

    def _session(self) -> None:
        channel = self._dial()
        with self._lock:
            self._channel = channel
        try:
            if not self._stopping.is_set():
                ExportSession(self.export, channel, self._topics, self._counts, self._refused).run()
        finally:
            with self._lock:
                self._channel = None
            channel.close()  # backs out what it holds

    def _take_failure(self, error: Error | ExportError) -> None:
        self._refused.by_place.clear()  # what waits may be taken the next time
        text = str(error)
        if text != self._counts.why:
            log.warning("not writing", export=self.export.name, reason=text)
        self._counts.failures += 1
        self._counts.enter(RETRYING, text)


def idle_figures(export: Export, waiting: int, *, has_queue: bool) -> ExportFigures:
    """Return the figures of an export that has no exporter. has_queue: its queue is there."""
    queue, state = export.attributes.queue, export.attributes.state
    if state == "RUNNING" and not has_queue:
        why = f"there is no local queue {queue}: define it, or name another queue in the export"
        return ExportFigures(state=RETRYING, why=why)
    return ExportFigures(state=PAUSED if state == "PAUSED" else WAITING, waiting=waiting)

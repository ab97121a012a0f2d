"""The exporters of a queue manager: a thread for each export that has messages.

An exporter ends when it has waited for messages for some time, and is started again when there are
some. After a failure it begins again, after pauses that get longer. This module must not know how
messages are written.
"""

from __future__ import annotations

import time

import structlog

from adapter.connection.channel.channel import Channel
from adapter.errors import Error
from adapter.host import logs
from adapter.runtime.exports.exporter import (
    PAUSED,
    RETRYING,
    WAITING,
    Counts,
    Export,
    ExporterEnd,
    ExportSession,
    RefusedMessages,
)
from adapter.runtime.exports.port import (
    ExportError,
    ExportFigures,
    ExportTopics,
    RecordRefusedError,
    TopicRefusedError,
)
from adapter.runtime.own_clients.client import Dial, OwnClient

PAUSE_S_MAX = 5.0
"""Between attempts, each pause twice as long as the one before."""
REFUSED_S_MAX = 2.0
"""While the topic is not there, or may not be written."""

APPLICATION = "mqk exporter"

log = structlog.get_logger("mqk.exports")
repetitions = logs.Repetitions()


class Exporter:
    """Writes for one export, in a thread of its own, until it is stopped or has long waited."""

    def __init__(
        self, export: Export, dial: Dial, topics: ExportTopics, before: Exporter | None = None
    ) -> None:
        """before: that of the same export, which has ended: its figures are counted on."""
        self.export = export
        self._topics = topics
        self._counts: Counts = (
            Counts(since_s=time.monotonic()) if before is None else before._counts
        )
        self._refused = RefusedMessages()
        self._ending = ExporterEnd()
        self._client = OwnClient(f"export-{export.name}", dial, self._run, self._failed)

    def stop(self) -> None:
        """Let it end: at once in a wait, and else when what it writes is gone from the queue."""
        self._client.stop(at_once=self._ending.want())

    def join(self) -> None:
        """Wait for its end; bounded."""
        self._client.join()

    @property
    def is_alive(self) -> bool:
        """Whether its thread runs."""
        return self._client.is_alive

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

    def _run(self, client: OwnClient) -> None:
        while not client.is_stopping():
            records = self._counts.records
            longest_s = PAUSE_S_MAX
            try:
                client.connected(self._write)
                return
            except RecordRefusedError:
                continue  # the next attempt knows what becomes of it
            except (Error, ExportError) as error:
                if client.is_stopping():
                    return
                self._take_failure(error)
                longest_s = REFUSED_S_MAX if isinstance(error, TopicRefusedError) else longest_s
            if self._counts.records > records:
                client.pauses.begin_again()
            client.pause(longest_s)

    def _write(self, channel: Channel) -> None:
        ExportSession(
            self.export, channel, self._topics, self._counts, self._refused, self._ending
        ).run()

    def _take_failure(self, error: Error | ExportError) -> None:
        self._refused.clear()  # what waits may be taken the next time
        text = str(error)
        repetitions.warn(log, "not writing", export=self.export.name, reason=text)
        self._counts.failures += 1
        self._counts.enter(RETRYING, text)


def idle_figures(export: Export, waiting: int, *, has_queue: bool) -> ExportFigures:
    """Return the figures of an export that has no exporter. has_queue: its queue is there."""
    queue, state = export.attributes.queue, export.attributes.state
    if state == "RUNNING" and not has_queue:
        why = f"there is no local queue {queue}: define it, or name another queue in the export"
        return ExportFigures(state=RETRYING, why=why)
    return ExportFigures(state=PAUSED if state == "PAUSED" else WAITING, waiting=waiting)

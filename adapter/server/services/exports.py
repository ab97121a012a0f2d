"""A queue manager's exports: an exporter for each one that has messages, as it is defined now, and
for initiation queues.

This module must not know what is written, nor how.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import structlog
from msgspec import structs

from adapter.core.attributes.export import ExportAttributes
from adapter.host import watched
from adapter.runtime.exports.exporter import Export
from adapter.runtime.exports.exporters import APPLICATION, Exporter, idle_figures
from adapter.runtime.exports.port import ExportFigures, ExportTopics
from adapter.runtime.own_clients.client import client_of
from adapter.runtime.owner.outgoing import Outgoing
from adapter.runtime.owner.owner import Owner

LOOK_S = 0.05
"""How often it is looked for messages of exports that have no exporter."""
RESTART_LOOKS = 40
"""An exporter that has ended unexpectedly is started again after so many looks."""

log = structlog.get_logger("mqk.exports")


class ExportService:
    """Writes for one queue manager. Methods are called on the event loop's thread."""

    def __init__(self, topics: ExportTopics, owner: Owner) -> None:
        self._topics = topics
        self._owner = owner
        self._exporters: dict[str, Exporter] = {}
        self._leaving: set[str] = set()
        """Those that were told to stop."""
        self._ended: dict[str, int] = {}
        """At which look an exporter was found to have ended."""
        self._looks = 0
        self._timer: asyncio.TimerHandle | None = None
        self._accept: Callable[[], asyncio.Protocol] | None = None

    def start(self, accept: Callable[[], asyncio.Protocol]) -> None:
        """Begin, when the owner serves. accept: makes the server's end of a connection, as the
        queue manager's own.
        """
        self._accept = accept
        self._look()

    async def stop(self) -> None:
        """End; what was got and not written is backed out. Bounded."""
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.get_running_loop().run_in_executor(None, self._join)

    def _join(self) -> None:
        """End all threads. Not on the event loop's: their clients are answered there."""
        exporters = list(self._exporters.values())
        for one in exporters:
            one.stop()
        for one in exporters:
            one.join()

    def figures(self) -> dict[str, ExportFigures]:
        """Return the figures of all exports, by name."""
        outgoing = self._outgoing()
        if outgoing is None:
            return {}
        found = {}
        for name, attributes in outgoing.exports.items():
            depth, exporter = outgoing.depth(attributes.queue), self._exporters.get(name)
            waiting, export = depth or 0, _export(outgoing, name, attributes)
            # One that was told to stop writes on until it has ended: it is not paused before.
            if exporter is not None and (exporter.is_alive or exporter.export == export):
                found[name] = exporter.figures(waiting)
            else:
                found[name] = idle_figures(export, waiting, has_queue=depth is not None)
        return found

    def _outgoing(self) -> Outgoing | None:
        return self._owner.term.outgoing if self._owner.running else None

    def _look(self) -> None:
        """Start exporters for exports with messages. End those of exports that are gone, paused or
        altered: they begin again as they are defined now.
        """
        self._timer = asyncio.get_running_loop().call_later(
            LOOK_S, watched.callback("the look at exports", self._look, self._owner.broke)
        )
        self._looks += 1
        outgoing = self._outgoing()
        if outgoing is None:
            return
        for name, exporter in list(self._exporters.items()):
            attributes = outgoing.exports.get(name)
            if (
                attributes is None
                or attributes.state != "RUNNING"
                or _export(outgoing, name, attributes) != exporter.export
            ):
                self._end(name, exporter)
        for name, attributes in outgoing.exports.items():
            if attributes.state == "RUNNING" and _has_work(outgoing, attributes):
                known = self._exporters.get(name)
                if known is None or self._is_due(known):
                    self._start(_export(outgoing, name, attributes))

    def _end(self, name: str, exporter: Exporter) -> None:
        """Stop an exporter, and forget it when it has ended. Its client is answered on this thread:
        so another one waits for that.
        """
        if not exporter.is_alive:
            del self._exporters[name]
            self._leaving.discard(name)
        elif name not in self._leaving:
            self._leaving.add(name)
            asyncio.get_running_loop().run_in_executor(None, exporter.stop)

    def _is_due(self, exporter: Exporter) -> bool:
        """Whether an exporter that has ended is to be started again now."""
        if exporter.is_alive:
            return False
        name = exporter.export.name
        return exporter.has_waited or (
            self._looks - self._ended.setdefault(name, self._looks) >= RESTART_LOOKS
        )

    def _start(self, export: Export) -> None:
        assert self._accept is not None
        loop = asyncio.get_running_loop()
        dial = partial(client_of, loop, self._accept, self._owner.name, APPLICATION)
        before = self._exporters.get(export.name)  # as it is defined now: others are forgotten
        self._exporters[export.name] = Exporter(export, dial, self._topics, before)
        self._ended.pop(export.name, None)


def _export(outgoing: Outgoing, name: str, attributes: ExportAttributes) -> Export:
    """Return an export as it is now, a copy: its attributes may change later."""
    return Export(name, structs.replace(attributes), outgoing.initiates(attributes.queue))


def _has_work(outgoing: Outgoing, export: ExportAttributes) -> bool:
    """Whether an exporter is needed; asked of every export at every look."""
    return outgoing.initiates(export.queue) or bool(outgoing.depth(export.queue))

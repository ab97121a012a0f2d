"""A queue manager's part in topics of other programs: its feeds and its exports, put together.

This module must not know what is read and written.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from adapter.runtime.exports.port import ExportTopics
from adapter.runtime.feeds.port import FeedTopics
from adapter.runtime.owner.owner import Owner
from adapter.server.process.figures import TopicFigures
from adapter.server.process.parts import AcceptOwn, Part
from adapter.server.services.exports import ExportService
from adapter.server.services.feeds import FeedService


class TopicLinks(Struct, frozen=True):
    """How a queue manager reaches topics of other programs; None: it does not."""

    feeds: FeedTopics | None = None
    exports: ExportTopics | None = None


class TopicServices(Part):
    """Reads and writes for one queue manager. Methods are called on the event loop's thread."""

    def __init__(self, topics: TopicLinks, owner: Owner) -> None:
        feeds, exports = topics.feeds, topics.exports
        self._feeds = FeedService(feeds, owner) if feeds is not None else None
        self._exports = ExportService(exports, owner) if exports is not None else None

    async def start(self, accept: AcceptOwn) -> None:
        if self._feeds is not None:
            self._feeds.start()
        if self._exports is not None:
            self._exports.start(accept)

    async def stop(self) -> None:
        for service in (self._feeds, self._exports):
            if service is not None:
                await service.stop()

    def figures(self) -> dict[str, Any]:
        topics = TopicFigures(
            feeds=self._feeds.figures() if self._feeds is not None else {},
            exports=self._exports.figures() if self._exports is not None else {},
        )
        return {"topics": topics}

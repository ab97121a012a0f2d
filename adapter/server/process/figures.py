"""The figures of a server: what `mqk qmgr status` and /metrics show. Data, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from adapter.runtime.exports.port import ExportFigures
from adapter.runtime.feeds.port import FeedFigures
from adapter.runtime.network.figures import NetworkFigures
from adapter.runtime.owner.figures import OwnerFigures


class TopicFigures(Struct, frozen=True):
    """Figures of feeds and exports, by their names."""

    feeds: dict[str, FeedFigures] = {}
    exports: dict[str, ExportFigures] = {}


class StandbyFigures(Struct, frozen=True, kw_only=True):
    """A standby, as its owner knows it. lag_records: of the ledger, which it has not applied.

    lag_s: for how long it has not applied what was durable then.
    """

    name: str
    address: str
    tls_address: str
    priority: int
    lag_records: int
    lag_s: float


class FollowerFigures(Struct, frozen=True, kw_only=True):
    """Of a standby. owner: whom it follows. linked: the owner answers it. lag_records: of the
    ledger, which it has not applied. lag_s: for how long it has not been at its end.
    """

    owner: str
    linked: bool
    lag_records: int
    lag_s: float


class RoleFigures(Struct, frozen=True, kw_only=True):
    """What a process is to its queue manager: an owner knows its standbys, by name, the one that
    goes first first; a standby knows how far it is.
    """

    role: str
    standbys: dict[str, StandbyFigures] | None = None
    follower: FollowerFigures | None = None


class ServerFigures(Struct, kw_only=True):
    """Figures of one server.

    movers: the figures of each, by its name. movers_hold: why something is not copied, or "".
    movers_parked: why a topic cannot be written, by its name. undone: what else is not done for
    now, and why; it keeps no client waiting. commands: of the command server, once it was needed.
    network: of what reaches other queue managers. topics: of feeds and exports. compiled_modules: 0
    in pure Python. process: "id", and "machine", its mark in hexadecimal ("" where the system does
    not tell). authorities_checked: clients may do only what is granted.
    """

    queue_manager: str
    connections: int
    owner: OwnerFigures
    log_lines_dropped: int
    version: str
    compiled_modules: int
    uptime_s: float
    address: str
    process: dict[str, int | str]
    kafka: str
    authorities_checked: bool
    mover_restarts: int
    movers: dict[str, dict[str, int]]
    movers_hold: str
    movers_parked: dict[str, str]
    undone: dict[str, str] = {}
    commands: dict[str, int] = {}
    network: NetworkFigures | None = None
    topics: TopicFigures = TopicFigures()
    roles: RoleFigures

    def by_name(self) -> dict[str, Any]:
        """Return all figures in one table, those of the owner and its term among them."""
        figures: dict[str, Any] = {}
        for name, value in msgspec.structs.asdict(self).items():
            figures |= _figures_by_name(name, value)
        return figures


SEVERAL = ("commands",)
"""Figures that are several by themselves."""
TOGETHER = ("feeds", "exports", "network", "standbys", "follower")
"""Figures that stay in a table of their own: the names in them are not unique."""


def _figures_by_name(name: str, value: object) -> dict[str, Any]:
    """Return a figure by its name; the owner, its term and the command server have several."""
    if value is None:
        return {}
    if name in TOGETHER:
        return {name: msgspec.to_builtins(value)}
    if isinstance(value, Struct):
        found: dict[str, Any] = {}
        for inner, one in msgspec.structs.asdict(value).items():
            found |= _figures_by_name(inner, one)
        return found
    if name in SEVERAL and isinstance(value, dict):
        return dict(value)
    return {name: value}

"""What a server is to its queue manager: its owner, or a standby; and what is between the two.

As a standby it links to the owner; as the owner it has the links of its standbys, and hands over to
one of them. All methods are called on the event loop's thread. This module knows neither how a
ledger is taken over nor how a server stops.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import structlog

from adapter.connection.wire.standby_frames import StandbyReport
from adapter.host import watched
from adapter.runtime.owner.following import LedgerFollower
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.owner_signs import LinkEvidence
from adapter.server.process.figures import FollowerFigures, RoleFigures
from adapter.server.standby.owner_link import OwnerLink
from adapter.server.standby.standbys import LinkedStandby, Standbys
from adapter.storage.ledger.port import LedgerError

OWNER = "owner"
STANDBY = OwnerState.FOLLOWING.value

Answered = Callable[[dict[str, Any]], None]

log = structlog.get_logger("mqk.server")


class ServerRoles:
    """The roles of one server, of which it has one at a time."""

    def __init__(self, owner: Owner, priority: int) -> None:
        self.standbys = Standbys(
            owner.name,
            lambda: owner.taking.place.key,
            lambda: owner.term.end_offset if owner.running else 0,
            self._show_life,
            owner.broke,
        )
        self.link: OwnerLink | None = None
        self.successor: LinkedStandby | None = None
        """To which this owner hands over, or has handed over."""
        self._has_prepared = False
        self._owner = owner
        self._priority = priority
        self._follower: LedgerFollower | None = None
        self._switch: asyncio.Task[None] | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._reporting: asyncio.Task[None] | None = None
        self._is_told_to_stop = False

    @property
    def name(self) -> str:
        """How this process is called as a standby: HOST:PORT, of its machine."""
        port = self._owner.taking.place.address.rpartition(":")[2]
        return f"{socket.gethostname()}:{port}"

    @property
    def successor_name(self) -> str:
        """To which standby this owner hands over; "" if to none."""
        report = self.successor.report if self.successor is not None else None
        return report.name if report is not None else ""

    @property
    def role(self) -> str:
        """ "owner", "standby", or the state in which it is neither."""
        return OWNER if self._owner.running else self._owner.lifecycle.state.value

    @property
    def is_mere_standby(self) -> bool:
        """Whether it follows another process, and is not about to take over from it. As long as it
        does not know where that process is reached, clients wait for it a moment.
        """
        is_linking = self.link is not None and self.link.is_new
        return self._owner.standby.follows and not self.is_prepared and not is_linking

    @property
    def is_prepared(self) -> bool:
        """Whether the owner hands over to this standby, which has done what it can do before."""
        return self.link is not None and self.link.is_wanted and self._has_prepared

    def make_link(self) -> OwnerLink:
        """Make the link of this standby to the owner."""
        self.link = OwnerLink(self._owner.name, self._report, self._want, self._owner.broke)
        return self.link

    def follow(self, follower: LedgerFollower) -> None:
        """Say from now on how far this standby is."""
        self._follower = follower

    def when_linked(self, report: Callable[[], None]) -> None:
        """Report that this standby stands by once its owner knows it, so that it can hand over to
        it from then on; or once it is known that the owner cannot be reached. A standby that takes
        over meanwhile reports nothing.
        """
        if self._reporting is not None:
            self._reporting.cancel()
        work = self._report_linked(report)
        self._reporting = watched.task("the report of a standby", work, self._owner.broke)

    async def _report_linked(self, report: Callable[[], None]) -> None:
        if self.link is not None:
            await self.link.await_known()
        if self._owner.standby.follows:
            report()

    def own(self) -> None:
        """It is the owner now."""
        self._end_link()
        if self._follower is not None:
            self._follower = None
            self.standbys.note_take_over()

    def stop(self) -> None:
        """Link to no other process any more."""
        self._end_link()
        self.standbys.stop()
        for task in (self._switch, self._preparing, self._reporting):
            if task is not None:
                task.cancel()

    def moved_to(self, *, with_tls: bool) -> str:
        """Where clients are to go that are connected with TLS, or without; "" if not known.

        That is the standby to which this owner hands over, or the owner that this standby follows.
        """
        if self.successor is not None:
            return self.successor.addresses(with_tls=with_tls)
        if self.link is not None and self.is_mere_standby:
            return self.link.addresses(with_tls=with_tls)
        return ""

    def switch(self, to: str, answered: Answered, stop: Callable[[], None]) -> None:
        """Hand over to a standby. to: its name or address, "" for the one that goes first.

        answered: is called with its "name" and "address", or with "why_not" nothing was done.
        stop: has the server stop; it is called when the standby is ready.
        """
        if self._switch is not None or self.successor is not None or not self._may_switch:
            name = self._owner.name
            answered({"why_not": f"queue manager {name} is being handed over or stopped already"})
            return
        work = self._hand_over(to, answered, stop)
        self._switch = watched.task("the switch to a standby", work, self._owner.broke)

    def note_stop(self) -> None:
        """The server was told to stop: it follows no more, and a switch that has chosen no standby
        yet comes too late.
        """
        self._is_told_to_stop = True
        self._owner.standby.give_up()

    @property
    def _may_switch(self) -> bool:
        owner = self._owner
        return owner.running and not owner.quiescing and not self._is_told_to_stop

    async def _hand_over(self, to: str, answered: Answered, stop: Callable[[], None]) -> None:
        try:
            chosen = await self.standbys.prepare(to)
        finally:
            self._switch = None
        if not isinstance(chosen, str) and not self._may_switch:
            chosen = f"queue manager {self._owner.name} was told to stop meanwhile"
        if isinstance(chosen, str):
            answered({"why_not": chosen})
            return
        report = chosen.report
        assert report is not None, "it is proven"
        self.successor = chosen
        log.info("hands over", queue_manager=self._owner.name, to=report.name)
        answered({"name": report.name, "address": report.address or report.tls_address})
        stop()

    def figures(self) -> RoleFigures:
        """Return the role, and the standbys of an owner or the lag of a standby."""
        if self._owner.running:
            standbys = {one.name: one for one in self.standbys.figures()}
            return RoleFigures(role=self.role, standbys=standbys)
        follower = self._follower
        if follower is None:
            return RoleFigures(role=self.role)
        progress = follower.progress
        figures = FollowerFigures(
            owner=follower.owner_text,
            linked=self.link is not None and self.link.evidence is LinkEvidence.ALIVE,
            lag_records=progress.behind,
            lag_s=round(progress.behind_s, 3),
        )
        return RoleFigures(role=self.role, follower=figures)

    def _report(self) -> StandbyReport:
        place = self._owner.taking.place
        progress = self._follower.progress if self._follower is not None else None
        return StandbyReport(
            name=self.name,
            address=place.address,
            tls_address=place.tls_address,
            priority=self._priority,
            next_offset=progress.next_offset if progress is not None else 0,
            is_prepared=self.is_prepared,
        )

    def _show_life(self) -> None:
        if self._owner.running:
            self._owner.loop.heartbeat()

    def _want(self, is_wanted: bool) -> None:
        """The owner is about to hand over to this standby, or is not any more."""
        self._has_prepared = False
        if is_wanted:
            work = self._prepare()
            self._preparing = watched.task("getting ready", work, self._owner.broke)

    async def _prepare(self) -> None:
        try:
            await self._owner.taking.prepare()
        except LedgerError as error:
            log.warning("not ready to take over", queue_manager=self.name, reason=str(error))
        else:
            self._has_prepared = True

    def _end_link(self) -> None:
        if self.link is not None:
            self.link.stop()
            self.link = None

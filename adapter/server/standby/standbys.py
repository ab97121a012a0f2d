"""The standbys of an owner, as they introduce themselves at its listener.

Each link is proven before it counts (link_proof). The owner answers every report, so that standbys
know that it lives, and says how many others go before each. When a link is lost without the owner's
doing, the owner writes to its ledger for a while: a standby that does not reach it sees so that it
lives. All methods are called on the event loop's thread.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from adapter.connection.wire import codec
from adapter.connection.wire.standby_frames import (
    NONCE_BYTES,
    StandbyChallenge,
    StandbyFrame,
    StandbyHello,
    StandbyOrder,
    StandbyReport,
)
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.host import watched
from adapter.runtime.owner.owner_signs import PING_S, PINGS_MISSED
from adapter.server.process.figures import StandbyFigures
from adapter.server.standby.link_proof import OWNER, STANDBY, link_proof, proves

LOST_S = PINGS_MISSED * PING_S
"""After so long without a report a standby is taken for gone."""
BEAT_S = 0.3
BEATS = 10
"""How often the owner writes to its ledger after a link was lost, and how many times."""
PREPARE_S = 5.0
"""How long a standby may take to get ready for a take-over."""
LINK_S = 5.0
"""How long a hand-over right behind a take-over waits for a standby to link: the other standbys are
about to, and the owner before if it handed over."""
LOOK_S = 0.02
READY_LAG_S = 1.0
"""A standby that is further behind would make clients wait for so long."""

log = structlog.get_logger("mqk.server")


class StandbyEnd(Protocol):
    """The owner's end of a link."""

    number: int

    def write(self, frame: bytes | bytearray) -> None:
        """Send one frame now."""

    def let_in(self) -> None:
        """It has proven what it is."""

    def goodbye(self, reason: Refused) -> None:
        """Say why, and close."""


class LinkedStandby:
    """One link: its nonces until it is proven, and the last report then."""

    def __init__(self, end: StandbyEnd, of_standby: bytes, of_owner: bytes) -> None:
        self.end = end
        self.of_standby = of_standby
        self.of_owner = of_owner
        self.report: StandbyReport | None = None
        self.is_wanted = False
        """The owner is about to hand over to it."""
        self.heard_s = 0.0
        self._mark = (0, 0.0)
        """An end of the ledger that it had not reached yet, and when that was the end."""
        self.lag_s = 0.0

    def take(self, report: StandbyReport, end_offset: int, now_s: float) -> None:
        """Take a report in. end_offset: where the ledger ends now."""
        self.report, self.heard_s = report, now_s
        offset, since_s = self._mark
        if report.next_offset >= offset:
            self._mark, self.lag_s = (end_offset, now_s), 0.0
        else:
            self.lag_s = now_s - since_s

    def addresses(self, *, with_tls: bool) -> str:
        """Where clients are to go that are connected with TLS, or without; "" for nowhere."""
        assert self.report is not None, "it is proven"
        return self.report.tls_address if with_tls else self.report.address


class Standbys:
    """All links of one owner."""

    def __init__(
        self,
        queue_manager: str,
        key: Callable[[], bytes],
        end_offset: Callable[[], int],
        beat: Callable[[], None],
        broke: watched.Ended,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """key: of this owner's links. end_offset: of the ledger, behind what is durable. beat: has
        the owner write to its ledger. broke: hears of what must not fail and did.
        """
        self._queue_manager = queue_manager
        self._key = key
        self._end_offset = end_offset
        self._beat = beat
        self._broke = broke
        self._now_s = now_s
        self._taken_over_s = float("-inf")
        self._links: dict[int, LinkedStandby] = {}
        self._beats = 0
        self._timer: asyncio.TimerHandle | None = None

    def note_take_over(self) -> None:
        """The owner was a standby until now."""
        self._taken_over_s = self._now_s()

    def take(self, end: StandbyEnd, frame: StandbyFrame) -> None:
        """Take a frame of a standby."""
        if isinstance(frame, StandbyHello):
            nonce = os.urandom(NONCE_BYTES)
            key = self._key()
            self._links[end.number] = LinkedStandby(end, frame.nonce, nonce)
            proof = link_proof(key, OWNER, frame.nonce, nonce) if key else b""
            end.write(codec.encode(StandbyChallenge(nonce=nonce, proof=proof)))
            return
        link = self._links.get(end.number)
        if link is not None:
            self._report(link, frame)

    def gone(self, end: StandbyEnd) -> None:
        """A link has ended."""
        self._lose(self._links.pop(end.number, None), "its connection ended")

    def figures(self) -> list[StandbyFigures]:
        """Return what is known of each, the one that goes first first."""
        end_offset = self._end_offset()
        return [
            StandbyFigures(
                name=report.name,
                address=report.address,
                tls_address=report.tls_address,
                priority=report.priority,
                lag_records=max(0, end_offset - report.next_offset),
                lag_s=round(link.lag_s, 3),
            )
            for link in self._in_turn()
            if (report := link.report) is not None
        ]

    async def prepare(self, to: str) -> LinkedStandby | str:
        """Choose a standby, and wait until it is ready to take over; else return why not.

        to: its name or address; "" for the one that goes first.
        """
        while isinstance(link := self._choose(to), str):
            if self._now_s() >= self._taken_over_s + LINK_S:
                return link
            await asyncio.sleep(LOOK_S)
        deadline_s = self._now_s() + PREPARE_S
        link.is_wanted = True
        self._order(link)
        while not self._is_ready(link):
            if link.end.number not in self._links:
                return (
                    f"standby {_name(link)} was lost before it got ready: see whether its process "
                    "runs, and look into its log; nothing was changed"
                )
            if self._now_s() > deadline_s:
                link.is_wanted = False
                return (
                    f"standby {_name(link)} did not get ready within {PREPARE_S:g} s: look into "
                    "its log; nothing was changed"
                )
            await asyncio.sleep(LOOK_S)
        return link

    def stop(self) -> None:
        """Look at links no more: the owner ends them itself."""
        self._links.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _report(self, link: LinkedStandby, report: StandbyReport) -> None:
        if link.report is None:
            nonces = link.of_standby, link.of_owner
            if not proves(report.proof, self._key(), STANDBY, *nonces):
                del self._links[link.end.number]
                text = "it does not know the key that this owner wrote to the ledger"
                log.warning("standby refused", name=report.name, reason=text)
                link.end.goodbye(Refused(Reason.NOT_AUTHORIZED, self._queue_manager, text))
                return
            link.end.let_in()
            log.info("standby linked", name=report.name, address=report.address)
        link.take(report, self._end_offset(), self._now_s())
        self._order(link)
        self._look_later()

    def _order(self, link: LinkedStandby) -> None:
        in_turn = self._in_turn()
        ahead = in_turn.index(link) if link in in_turn else 0
        order = StandbyOrder(end_offset=self._end_offset(), ahead=ahead, prepare=link.is_wanted)
        link.end.write(codec.encode(order))

    def _in_turn(self) -> list[LinkedStandby]:
        """Return the proven links: the highest priority first, then the one that came first."""
        proven = [link for link in self._links.values() if link.report is not None]
        return sorted(proven, key=lambda link: -link.report.priority if link.report else 0)

    def _choose(self, to: str) -> LinkedStandby | str:
        linked = self._in_turn()
        if not linked:
            return (
                f"queue manager {self._queue_manager} has no standby: start one with --standby, "
                "and see it in `mqk qmgr status`; nothing was changed"
            )
        if not to:
            return linked[0]
        found = [link for link in linked if to in _names(link)]
        if found:
            return found[0]
        names = ", ".join(_name(link) for link in linked)
        return (
            f"queue manager {self._queue_manager} has no standby {to}: its standbys are {names}; "
            "nothing was changed"
        )

    def _is_ready(self, link: LinkedStandby) -> bool:
        is_prepared = link.report is not None and link.report.is_prepared
        return is_prepared and link.lag_s < READY_LAG_S

    def _lose(self, link: LinkedStandby | None, why: str) -> None:
        if link is not None and link.report is not None:
            log.warning("standby lost", name=link.report.name, reason=why)
            self._beats = BEATS
            self._look_later()

    def _look_later(self) -> None:
        if self._timer is None:
            look = watched.callback("looking at standbys", self._look, self._broke)
            self._timer = asyncio.get_running_loop().call_later(BEAT_S, look)

    def _look(self) -> None:
        """Find standbys that are silent, and show in the ledger that this owner lives."""
        self._timer = None
        now_s = self._now_s()
        for number, link in list(self._links.items()):
            if link.report is not None and now_s - link.heard_s > LOST_S:
                del self._links[number]
                self._lose(link, f"it has reported nothing for {LOST_S:g} s")
                link.end.goodbye(
                    Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE, self._queue_manager, "silent")
                )
        if self._beats:
            self._beats -= 1
            self._beat()
        if self._links or self._beats:
            self._look_later()


def _name(link: LinkedStandby) -> str:
    return link.report.name if link.report is not None else "(unknown)"


def _names(link: LinkedStandby) -> tuple[str, ...]:
    """Return what a standby may be called by: its name, its addresses, its host."""
    report = link.report
    if report is None:
        return ()
    host = report.name.rpartition(":")[0]
    return tuple(one for one in (report.name, report.address, report.tls_address, host) if one)

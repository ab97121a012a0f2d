"""Visitors: who asks over HTTP, and whether the queue manager lets that be done.

Who a visitor is, admission decides; what it may do, core says. While no requests are served neither
channel rules nor authority records are known: what needs an authority waits, and what needs none,
as the pages for monitoring, is for each visitor that has proved who it is, so that a standby can be
watched. This module must not know what is served.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from adapter.core.contract.visitors import VisitorDecision, VisitorRequest
from adapter.runtime.owner.inquiries import Inquiries
from adapter.server.access.audit import AuditTrail
from adapter.server.listen.connections import ClientConnections


class Visitors:
    """What the queue manager says of visitors. On the event loop's thread."""

    def __init__(
        self,
        inquiries: Callable[[], Inquiries | None],
        audit: AuditTrail,
        *,
        checks_authorities: bool = False,
    ) -> None:
        """inquiries: while requests are served. audit: hears what was refused."""
        self._inquiries = inquiries
        self.audit = audit
        self._checks_authorities = checks_authorities

    @classmethod
    def of(cls, connections: ClientConnections, *, checks_authorities: bool) -> Self:
        """Those of the queue manager that serves these connections."""

        def inquiries() -> Inquiries | None:
            term = connections.term
            return None if term is None else term.inquiries

        return cls(inquiries, connections.audit, checks_authorities=checks_authorities)

    @property
    def password_check(self) -> str | None:
        """CHCKCLNT of the queue manager; None: it cannot be known now."""
        inquiries = self._inquiries()
        return None if inquiries is None else inquiries.password_check

    def judge(self, asked: VisitorRequest) -> VisitorDecision | None:
        """Say whether something may be done, and note what refuses it; None: ask again later."""
        inquiries = self._inquiries()
        judged = None if inquiries is None else inquiries.judge(asked)
        if judged is None:
            is_open = not self._checks_authorities or not asked.object_type
            return VisitorDecision(asked.party, is_allowed=True) if is_open else None
        for denial in judged.denied:
            self.audit.denied(denial, asked.party)
        return judged

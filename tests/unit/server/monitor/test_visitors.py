"""Visitors of a server: what it says of them, also while it serves no requests."""

import pytest

from adapter.core.contract import authorities as a
from adapter.core.contract.authorities import Denial
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.visitors import VisitorRequest
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.inquiries import Inquiries
from adapter.server.access.audit import AuditTrail
from adapter.server.monitor.visitors import Visitors

ANN = Party("HTTP client", Principal("ann", Proof.PASSWORD), "10.1.1.1:5", host="10.1.1.1")
CHANGES = VisitorRequest(ANN, "set the level", a.REGISTRY, "orders", a.CHANGE)


class Heard(AuditTrail):
    """An audit that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.denials: list[tuple[Denial, Party | None]] = []

    def denied(self, denial: Denial, party: Party | None) -> None:
        self.denials.append((denial, party))


def test_what_is_refused_is_on_record_with_who_asked() -> None:
    qm, audit = QueueManager("QM1", b"owner"), Heard()
    qm.authorities.are_checked = True
    visitors = Visitors(lambda: Inquiries(qm), audit, checks_authorities=True)
    judged = visitors.judge(CHANGES)
    assert judged is not None
    assert not judged.is_allowed
    ((denial, party),) = audit.denials
    assert (denial.missing, denial.name, party) == (a.CHANGE, "orders", ANN)
    assert visitors.password_check == ""


@pytest.mark.parametrize(
    "inquiries", [lambda: None, lambda: Inquiries(None)], ids=["no term", "no state"]
)
def test_while_nothing_is_served_only_what_needs_no_authority_is_allowed(
    inquiries: object,
) -> None:
    open_to_all = Visitors(inquiries, Heard())  # type: ignore[arg-type]
    assert open_to_all.judge(CHANGES) is not None
    checking = Visitors(inquiries, Heard(), checks_authorities=True)  # type: ignore[arg-type]
    assert checking.judge(CHANGES) is None
    assert checking.judge(VisitorRequest(ANN)) is not None

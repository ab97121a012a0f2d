"""A watch on the first rule of core: a decision that refuses, or needs a page, changes nothing.

Every rule of adapter.core.tables.DECIDE is wrapped: all that the queue manager holds, and the
command if it is to be decided again, must be the same after a refusal as before.
"""

from collections.abc import Callable
from typing import Any

import pytest

from adapter.core import tables
from adapter.core.contract.commands import Commit
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.results import Refused
from adapter.core.model.manager import QueueManager
from adapter.core.rules.drive import serving
from tests.support.digest import Digest, changed, digest


def watch(patch: pytest.MonkeyPatch) -> None:
    """Watch every decision from now on."""
    for kind, rule in tables.DECIDE.items():
        patch.setitem(tables.DECIDE, kind, _watched(rule))
    patch.setattr(serving, "next_served", _watched(serving.next_served))


def _watched(rule: Callable[..., Any]) -> Callable[..., Any]:
    def decide(qm: Any, *given: Any) -> Any:
        before = digest(qm, *given)
        backs_out = _backs_out(qm, given)
        try:
            decision = rule(qm, *given)
        except PageNeeded as needed:
            _compare(rule, f"needs {needed}", before, digest(qm, *given))
            raise
        except Refusal as refusal:
            _compare(rule, f"refuses ({refusal})", _state(before), _state(digest(qm, *given)))
            raise
        if isinstance(getattr(decision, "result", None), Refused) and not backs_out:
            _compare(rule, "refuses", _state(before), _state(digest(qm, *given)))
        return decision

    return decide


def _backs_out(qm: QueueManager, given: tuple[Any, ...]) -> bool:
    """Whether this is the one refusal that ends something: a commit behind a refused put."""
    if not isinstance(given[-1], Commit):
        return False
    unit = qm.connections[given[0].connection].units.get(given[-1].unit)
    return unit is not None and unit.refusal is not None


def _state(whole: Digest) -> Digest:
    """Leave out the command: nobody decides it again."""
    return whole[:1]


def _compare(rule: Callable[..., Any], how: str, before: Digest, after: Digest) -> None:
    name = getattr(rule, "__name__", str(rule))
    assert before == after, f"{name} {how}, and changed {changed(before, after)}"

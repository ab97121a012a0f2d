"""A removal of a poison message that is refused changes nothing."""

from typing import Any

import pytest

from adapter.errors import Error
from adapter.servicebroker import ServiceBrokerError
from tests.support.broker_site import EXPENSES, broker_site

DESCRIPTION = "it cannot be processed"


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"description": "x" * 3_001}, ValueError),
        ({"description": None}, TypeError),
        ({"error": 2**31}, ValueError),
        ({"error": 0}, ValueError),
        ({"error": "127"}, TypeError),
        ({"error": None}, TypeError),
        ({"clear_state": "me"}, TypeError),
    ],
    ids=lambda one: str(one)[:30],
)
def test_a_wrong_argument_leaves_the_queue_off(wrong: dict[str, Any], kind: type) -> None:
    with broker_site() as at:
        handle = at.submitted("poison")
        at.fail(EXPENSES, times=5)
        given: dict[str, Any] = {"error": 127, "description": DESCRIPTION} | wrong
        with pytest.raises(Error) as refused:
            at.admin.remove_poison(EXPENSES, handle, **given)
        assert isinstance(refused.value, ServiceBrokerError)
        assert isinstance(refused.value, kind) or "3000 characters" in str(refused.value)
        assert not at.is_on()
        assert at.texts() == ["poison"]
        at.admin.remove_poison(EXPENSES, handle, error=127, description=DESCRIPTION)
        assert at.is_on()

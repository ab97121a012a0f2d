"""What no queue manager can read is refused before it is sent, and costs neither link nor unit."""

from collections.abc import Callable
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.checking import CHECKED, check_commands
from adapter.connection.channel.requests import Pending
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.traits import TRAITS

Call = Callable[[adapter.Connection], Any]
LONG = "x" * (4 * 1024 * 1024)
MANY: dict[str, Any] = dict.fromkeys(map(str, range(1_001)), 1)
CALLS: list[tuple[Call, type[adapter.Error], str]] = [
    (lambda qm: qm.define_queue(LONG), e.InvalidValue, "without a message 4194304 is the most"),
    (lambda qm: qm.alter_queue("Q", description=LONG), e.InvalidValue, "without a message"),
    (
        lambda qm: qm.define_queue("R", **MANY),
        e.InvalidValue,
        "attributes: expected `object` of length <= 1000",
    ),
    (
        lambda qm: qm.authorities(of=b"records"),  # type: ignore[arg-type]
        e.InvalidType,
        "of: expected `str`, got `bytes`",
    ),
    (
        lambda qm: qm.authorities(of=None),  # type: ignore[arg-type]
        e.InvalidType,
        "of: expected `str`, got `None`",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), CALLS)
def test_an_argument_that_cannot_be_read(
    qm: adapter.Connection, call: Call, error: type[adapter.Error], text: str
) -> None:
    with qm.unit() as unit:
        qm.put("Q", "before", unit=unit)
        with pytest.raises(error, match=text):
            call(qm)
        qm.put("Q", "behind", unit=unit)
    assert [message.text for message in qm.queue("Q").browse()] == ["before", "behind"]
    assert qm.statistics()["reconnects"] == 0


def test_what_programs_give_for_each_message_is_not_looked_at_twice() -> None:
    assert not CHECKED & {c.Put, c.Get, c.Browse, c.Begin, c.Commit, b.BrokerSend}
    assert {command for command, trait in TRAITS.items() if trait.audit is not None} <= CHECKED


def test_each_command_is_looked_at() -> None:
    unread: Any = {"share": b"1"}
    good, wrong = c.DefineQueue("Q", {}), c.DefineQueue("Q", unread)
    check_commands([Pending(good), Pending(c.Put(1, []))])
    with pytest.raises(e.InvalidType, match=r"attributes: expected .*, got `bytes`"):
        check_commands([Pending(good), Pending(wrong)])

"""What is said of a request whose answer is not to be had."""

import pytest

from adapter.channel.outstanding import Outstanding
from adapter.channel.requests import Pending
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.errors import ConnectionBroken
from adapter.wire.frames import AskServer


@pytest.mark.parametrize("question", [c.AskLowest(1), b.BrokerAwaitEvent("s"), AskServer()])
def test_finding_reliability_questions_are_asked_again(question: c.Command | AskServer) -> None:
    outstanding = Outstanding()
    asked = Pending(question)
    outstanding.register(outstanding.prepare([asked], None), sent=True)
    outstanding.give_up("it is cut")
    assert isinstance(asked.answer, ConnectionBroken)
    assert "ask again" in str(asked.answer)

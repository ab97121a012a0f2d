"""A monitored queue with a message that is not on its topic."""

import pytest

from adapter.connection.channel.requests import Pending
from adapter.core.contract.message import Delivered
from adapter.msmq import MessageQueue, MessageQueueException
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.triggers import Processing
from adapter.msmq.triggers import monitor as monitor_module
from tests.support.msmq_site import MsmqSite, activated, labels, running, send, trigger

TIMES = 5


@pytest.mark.parametrize("serialized", [True, False])
def test_a_damaged_message_activates_no_trigger_again_for_those_before_it(
    at: MsmqSite, serialized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = at.create()
    send(queue, "a", "b", "c")
    await_peek = MessageQueue.await_peek
    failures: list[str] = []

    def damaged(self: MessageQueue, request: Pending) -> Delivered | None:
        found = await_peek(self, request)
        label = found.message.msmq.label if found is not None and found.message.msmq else ""
        if label == "c" and len(failures) < TIMES:
            failures.append(label)
            text = "message 3 of lane 3"
            raise MessageQueueException(Code.MESSAGE_STORAGE_FAILED, text, self.path)
        return found

    monkeypatch.setattr(MessageQueue, "await_peek", damaged)
    monkeypatch.setattr(monitor_module, "PAUSE_S", 0.001)
    watched = trigger(queue, processing=Processing.PEEKING, serialized=serialized)
    with running(at.home, watched) as service:
        assert activated(service)[:2] == ["a", "b"]
        assert "a" not in activated(service)[2:]
    assert failures
    assert labels(queue) == ["a", "b", "c"]

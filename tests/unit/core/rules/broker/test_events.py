"""Event notifications of Service Broker."""

from tests.support.broker_site import EXPENSES, NOTES, ROLLBACKS_MAX, broker_site


def test_each_of_several_notifications_of_an_event_puts_its_message() -> None:
    """To one queue: messages of one step are numbered one behind the other."""
    with broker_site() as at:
        at.notify()
        at.admin.create_event_notification("Of a queue", NOTES, on_queue=EXPENSES)
        at.submit("poison")
        at.fail(EXPENSES, times=ROLLBACKS_MAX)
        assert at.disabled() == [EXPENSES] * 2
        assert len(at.admin.receive(NOTES) + at.admin.receive(NOTES)) == 2

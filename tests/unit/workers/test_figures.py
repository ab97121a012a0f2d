"""What a process has done: counted by threads and tasks, added up by the supervisor."""

from adapter.workers.figures import WorkFigures, WorkTally


def test_a_message_is_in_hand_until_it_has_ended_whatever_becomes_of_it() -> None:
    tally = WorkTally()
    first, second, third = tally.begin(), tally.begin(), tally.begin()
    assert tally.figures(is_connected=True).in_hand == 3
    tally.end(first)
    tally.count(failed=False)
    tally.end(second)
    tally.count(failed=True)
    tally.end(third - 5)  # it ended its thread
    found = tally.figures(is_connected=False)
    assert (found.done, found.failed, found.in_hand, found.is_connected) == (1, 1, 0, False)
    assert found.seconds >= 5


def test_processes_are_added_up() -> None:
    both = WorkFigures(1, 2, 0.5, 1).plus(WorkFigures(10, 20, 5, 0, is_connected=False))
    assert both == WorkFigures(11, 22, 5.5, 1, is_connected=False)

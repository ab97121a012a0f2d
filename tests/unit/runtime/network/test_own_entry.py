"""A queue manager's own entry in the directory."""

from adapter.runtime.network.directory import Directory, DirectoryEntry, entry_record
from adapter.runtime.network.memory import MemoryNetwork
from adapter.runtime.network.own_entry import OwnEntry
from adapter.storage.format.names import DIRECTORY_TOPIC


def test_a_frozen_process_that_was_replaced_does_not_enter_itself_again() -> None:
    """It finds out that it was replaced before the second look."""
    network, directory = MemoryNetwork(), Directory()
    mine, successors = (entry_record(DirectoryEntry("QM1", one)) for one in ("a:1414", "b:1414"))
    own = OwnEntry(network, directory)
    own.want(lambda: mine, int)
    own.open_topic()

    def looked() -> list[bytes | None]:
        own.look()
        own.write()
        return [one.value for one in network.topics[DIRECTORY_TOPIC].records]

    directory.take(mine.key, mine.value)
    assert looked() == [mine.value]
    directory.take(successors.key, successors.value)
    assert looked() == [mine.value]
    assert looked() == [mine.value] * 2


def test_who_enters_itself_is_told_when_it_knows_the_others_too() -> None:
    """Else what a program sends to another queue manager right behind a start would be refused."""
    network, told = MemoryNetwork(), []
    own = OwnEntry(network, Directory())
    own.open_topic()
    own.note_opened(3, 5)
    own.want(lambda: entry_record(DirectoryEntry("QM1", "a:1414")), lambda: told.append("told"))
    own.write()
    own.note_read(3)
    assert told == []
    own.note_read(4)
    assert told == ["told"]
    own.note_read(5)
    own.note_failed()
    assert told == ["told"], "once for each time that it is written"


def test_who_enters_itself_is_told_when_the_others_cannot_be_read() -> None:
    told: list[str] = []
    own = OwnEntry(MemoryNetwork(), Directory())
    own.open_topic()
    own.note_opened(0, 2)
    own.want(lambda: entry_record(DirectoryEntry("QM1", "a:1414")), lambda: told.append("told"))
    own.write()
    own.note_failed()
    assert told == ["told"]

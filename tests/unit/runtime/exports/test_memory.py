"""Topics in memory as exports write them: all of a transaction or nothing, and one writer."""

import pytest

from adapter.runtime.exports.memory import MemoryExports
from adapter.runtime.exports.port import ExportError, RecordRefusedError, TopicRefusedError
from adapter.storage.format.exports import ExportedRecord, ExportProgress
from adapter.storage.topics.memory import MemoryTopics

PROGRESS = ExportProgress(7, "Q", 3, frozenset({(0, 1, 0), (0, 2, 0)}))


@pytest.fixture
def exports() -> MemoryExports:
    topics = MemoryTopics()
    topics.create("T", 2)
    return MemoryExports(topics)


def record(value: bytes | None = b"1", partition: int = 0) -> ExportedRecord:
    return ExportedRecord(value, b"k", [("x", b"1"), ("x", None)], 5, partition)


def test_records_and_progress(exports: MemoryExports) -> None:
    writer = exports.writer("QM1", "E", "T")
    assert writer.resume() == ExportProgress()
    assert writer.ends == {}
    writer.write([record(), record(None, 1)], PROGRESS)
    writer.check_shown()
    found = exports.topics.records("T")
    assert [(one.partition, one.offset, one.value) for one in found] == [(0, 0, b"1"), (1, 0, None)]
    assert found[0].headers == [("x", b"1"), ("x", None), ("mqk-export", b"QM1 E 7")]
    assert (found[0].key, found[0].time_ms) == (b"k", 5)
    assert writer.ends == {0: 1, 1: 1}
    writer.close()
    assert exports.writer("QM1", "E", "T").resume() == PROGRESS


def test_exports_are_told_apart(exports: MemoryExports) -> None:
    for ident in (("QM1", "E"), ("QM1", "F"), ("QM2", "E")):
        writer = exports.writer(*ident, "T")
        assert writer.resume() == ExportProgress()
        writer.write([record()], PROGRESS)


def test_a_writer_that_was_replaced_writes_nothing(exports: MemoryExports) -> None:
    old, new = exports.writer("QM1", "E", "T"), exports.writer("QM1", "E", "T")
    old.resume()
    new.resume()
    with pytest.raises(ExportError, match="another writer has taken over"):
        old.write([record()], PROGRESS)
    assert exports.topics.records("T") == []
    new.write([record()], PROGRESS)
    old.resume()
    with pytest.raises(ExportError, match="another writer has taken over"):
        new.write([record()], PROGRESS)


@pytest.mark.parametrize(
    ("unfit", "is_too_long"),
    [(record(b"x" * 1_048_576), True), (record(partition=2), False)],
    ids=["too long", "no partition"],
)
def test_a_record_that_does_not_fit(
    exports: MemoryExports, unfit: ExportedRecord, is_too_long: bool
) -> None:
    writer = exports.writer("QM1", "E", "T")
    writer.resume()
    with pytest.raises(RecordRefusedError) as caught:
        writer.write([record(), record(), unfit], PROGRESS)
    assert (caught.value.at, caught.value.is_too_long) == (2, is_too_long)
    assert exports.topics.records("T") == []
    assert exports.writer("QM1", "E", "T").resume() == ExportProgress()


def test_a_topic_that_is_not_there(exports: MemoryExports) -> None:
    writer = exports.writer("QM1", "E", "NONE")
    with pytest.raises(TopicRefusedError, match="topic NONE does not exist: create it"):
        writer.resume()
    writer = exports.writer("QM1", "E", "T")
    writer.resume()
    exports.topics.delete("T")
    with pytest.raises(TopicRefusedError, match="topic T does not exist: create it"):
        writer.write([record()], PROGRESS)
    assert writer.ends == {}

"""What it means that a topic of Kafka refuses records, of an attempt or of those written again."""

from confluent_kafka import KafkaError
from msgspec import Struct

from adapter.runtime.exports.port import ExportError, RecordRefusedError, TopicRefusedError
from adapter.runtime.exports.refused_records import NOT_A_RECORD, OF_BATCH, RefusedRecords
from adapter.storage.format.exports import ExportedRecord
from adapter.storage.ledger.failures import TOPIC_FORBIDDEN, TOPIC_MISSING
from adapter.storage.movers.settings import BATCH_BYTES, KafkaCluster

SHORT = ExportedRecord(b"x", None, [], 5)
LONG = ExportedRecord(bytes(BATCH_BYTES), None, [], 5)


class SomeTopics(Struct):
    cluster: KafkaCluster
    one_by_one: set[str]


def topics(*one_by_one: str) -> SomeTopics:
    return SomeTopics(KafkaCluster("nowhere:9"), set(one_by_one))


def is_not_there(_partition: int) -> bool:
    return False


def test_each_refusal_has_a_meaning_whichever_record_it_is_of() -> None:
    """Also of a record that is written again, which is none of the attempt."""
    for code in NOT_A_RECORD | TOPIC_MISSING | TOPIC_FORBIDDEN:
        for at in (None, 0, 1):
            for begun in (topics(), topics("T")):
                refused = RefusedRecords("T", begun)
                refused.begin([SHORT, LONG])
                refused.note(at, KafkaError(code), "T")
                meaning = refused.meaning(is_not_there)
                assert isinstance(meaning, ExportError)
                assert isinstance(meaning, TopicRefusedError) == (
                    code in TOPIC_MISSING | TOPIC_FORBIDDEN
                )
                is_alone = code not in OF_BATCH or at == 1 or "T" in refused._topics.one_by_one
                if at is None:
                    assert not isinstance(meaning, RecordRefusedError)
                elif code in NOT_A_RECORD and is_alone and isinstance(meaning, RecordRefusedError):
                    assert meaning.at == at


def test_a_record_that_is_written_again_says_what_the_topic_refuses() -> None:
    refused = RefusedRecords("T", topics("T"))
    refused.begin(())
    refused.note(None, KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), "T")
    text = str(refused.meaning(is_not_there))
    assert text.startswith("topic T does not take again what it has taken")
    assert "MSG_SIZE_TOO_LARGE" in text


def test_all_refusals_of_an_attempt_are_said_together() -> None:
    refused = RefusedRecords("T", topics("T"))
    refused.begin([SHORT] * 5)
    for at in (3, 1, 3, 4):
        refused.note(at, KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), "T")
    meaning = refused.meaning(is_not_there)
    assert isinstance(meaning, RecordRefusedError)
    assert [meaning.at, *(one.at for one in meaning.others)] == [3, 1, 4]
    refused.begin([SHORT])
    assert refused.meaning(is_not_there) is None


def test_a_batch_is_refused_for_one_of_its_records_and_written_one_by_one() -> None:
    some = topics()
    refused = RefusedRecords("T", some)
    refused.begin([SHORT, SHORT])
    for at in (0, 1):
        refused.note(at, KafkaError(KafkaError.INVALID_RECORD), "T")
    meaning = refused.meaning(is_not_there)
    assert not isinstance(meaning, RecordRefusedError)
    assert some.one_by_one == {"T"}

"""The independent judge of ledger tests: what was appended, what was promised, what the log holds.

It shares no code with the ledger: the envelope and the rule of validity are written out a second
time here, as plainly as can be.
"""

from confluent_kafka import Consumer, KafkaError, TopicPartition

WAIT_S = 20.0


def raw_records(bootstrap_servers: str, topic: str) -> list[bytes]:
    """Every record of the topic's only partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "audit",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )
    values: list[bytes] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(WAIT_S)
            assert message is not None, f"{topic} cannot be read"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return values
            value = message.value()
            assert isinstance(value, bytes)
            values.append(value)
    finally:
        consumer.close()


def valid_entries(records: list[bytes]) -> list[tuple[bytes, int, bytes]]:
    """(owner, n, payload) of the valid entries."""
    valid: list[tuple[bytes, int, bytes]] = []
    owner, last_n, broken = b"", 0, False
    for record in records:
        its_owner, its_n = record[2:18], int.from_bytes(record[18:26], "big")
        if record[1] == 0:
            if its_owner != owner:
                owner, last_n, broken = its_owner, 0, False
        elif its_owner == owner and not broken and its_n == last_n + 1:
            last_n = its_n
            valid.append((owner, its_n, record[26:]))
        elif its_owner == owner and its_n > last_n:
            broken = True
    return valid


class Account:
    """What one owner appended and what it was promised."""

    def __init__(self, owner: bytes) -> None:
        self.owner = owner
        self.appended: list[bytes] = []
        self.promised_n = 0

    def check(self, records: list[bytes]) -> int:
        """Every promise is kept, and nothing else is there; how many entries are valid."""
        mine = [(n, payload) for owner, n, payload in valid_entries(records) if owner == self.owner]
        assert [n for n, _ in mine] == list(range(1, len(mine) + 1))
        assert [payload for _, payload in mine] == self.appended[: len(mine)]
        assert self.promised_n <= len(mine), f"n {self.promised_n} was promised: {len(mine)} valid"
        assert len(mine) <= len(self.appended)
        return len(mine)

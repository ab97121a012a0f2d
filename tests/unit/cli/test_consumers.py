"""mqk consumer: who takes queues in batches, and forgetting one."""

import json

from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk


def test_a_consumer_is_listed_and_deleted(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        opened = qm.consumer("Q", "ARCHIVE", timeout=60)
        (row,) = [x.split() for x in at("consumer", "list").out.splitlines() if "ARCHIVE" in x]
        assert row[:2] == ["Q", "ARCHIVE"]
        assert row[-5:] == ["60", "0", "0", "0", "0"]
        said = at("consumer", "delete", "Q", "ARCHIVE")
        assert said.status == 1
        assert "consumer ARCHIVE is in use" in said.err
        opened.close()
    (told,) = map(json.loads, at("consumer", "list", "--json").out.splitlines())
    assert (told["name"], told["connection"], told["claim"]) == ("ARCHIVE", 0, opened.claim.hex())
    said = at("consumer", "delete", "Q", "ARCHIVE")
    assert said.out == "consumer ARCHIVE of queue Q deleted; 0 messages returned\n"
    assert at("consumer", "list", "--json").out == ""


def test_as_data(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.consumer("Q", "ARCHIVE").close()
    told = json.loads(at("consumer", "delete", "Q", "ARCHIVE", "--json").out)
    assert told == {"queue": "Q", "consumer": "ARCHIVE", "deleted": True, "messages_back": 0}
    said = at("consumer", "delete", "Q", "ARCHIVE")
    assert said.status == 1
    assert "consumer ARCHIVE does not exist" in said.err

"""mqk ledger show: how a record is laid out, and wrong use. Real ledgers are read elsewhere."""

import pytest

from adapter.cli import explain
from adapter.cli.ledger import as_text
from adapter.core.contract.records import QueueDeleted
from adapter.storage.format import entries
from adapter.storage.ledger.envelope import ENTRY, Envelope
from adapter.storage.ledger.validity import Verdict
from tests.unit.cli.conftest import Mqk

OWNER = bytes(range(16))
PAYLOAD = entries.encode([QueueDeleted("Q")])


def text(verdict: Verdict, envelope: Envelope | None) -> str:
    return as_text(explain.explain(12, 1_700_000_000_000, 44, verdict, envelope))


def test_a_record_is_a_heading_and_its_lines() -> None:
    assert text(Verdict.VALID, Envelope(ENTRY, OWNER, 4, PAYLOAD)).splitlines() == [
        "12  2023-11-14T22:13:20.000Z  owner 000102030405 n 4  44 bytes  valid",
        "    queue Q deleted, with what was on it",
    ]


@pytest.mark.parametrize(
    ("verdict", "words"), [(Verdict.VOID, "  void: "), (Verdict.DUPLICATE, "  duplicate: ")]
)
def test_what_does_not_count_is_marked(verdict: Verdict, words: str) -> None:
    shown = text(verdict, Envelope(ENTRY, OWNER, 4, PAYLOAD))
    assert words in shown
    assert "does not count" in shown


def test_a_damaged_record_has_no_owner() -> None:
    assert "no owner  44 bytes  corrupt" in text(Verdict.CORRUPT, None)


SHOW = ["ledger", "show", "QM", "--bootstrap-server", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ledger", "show"], "Missing argument 'NAME'"),
        ([*SHOW, "--from", "-1"], "-1 is not in the range x>=0"),
        ([*SHOW, "--limit", "0"], "0 is not in the range x>=1"),
        ([*SHOW, "-X", "x"], "is not key=value"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, mqk: Mqk) -> None:
    said = mqk(*arguments)
    assert said.status == 2
    assert words in said.err


def test_settings_that_no_client_takes_are_a_sentence(mqk: Mqk) -> None:
    said = mqk(*SHOW, "-X", "no.such=1")
    assert said.status == 1
    assert "no.such" in said.err
    assert said.err.startswith("mqk: mq.QM.ledger")

"""What was sent as text is read as the same text."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adapter.testing
from adapter.servicebroker import DEFAULT, Row
from adapter.servicebroker.statements import as_body


def row(body: bytes | None) -> Row:
    at = datetime.fromtimestamp(0, UTC)
    return Row(1, 5, 0, UUID(int=1), UUID(int=2), 0, "S", DEFAULT, DEFAULT, "N", body, at)


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_a_text_is_read_as_it_was_sent(text: str) -> None:
    body = as_body(text)
    assert body is not None
    read = row(body).text
    halves = text.encode("utf-16-le", "surrogatepass")  # two that are side by side: one character
    assert read.encode("utf-16-le", "surrogatepass") == halves.removeprefix(b"\xff\xfe")


@given(st.binary(max_size=9))
def test_any_body_has_a_text(body: bytes) -> None:
    text = row(body).text
    assert text.endswith("\ufffd") or not len(body) % 2


@pytest.mark.parametrize("text", ["a\ud800b", "\udc00", "a\ud800", "\U0001f600"])
def test_half_a_surrogate_pair_comes_back(text: str) -> None:
    with adapter.testing.queue_manager() as manager, manager.connect_servicebroker() as broker:
        broker.create_queue("Q")
        broker.create_service("S", "Q", contracts=[DEFAULT])
        broker.send(broker.begin_dialog("S", "S"), body=text)
        assert [one.text for one in broker.receive("Q")] == [text]

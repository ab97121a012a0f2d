"""Messages of kombu on a queue: the body as it is, the rest beside it."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import adapter
from adapter.core.contract.message import Property
from adapter.errors import InvalidOption
from adapter.kombu.envelope import body_of, payload_of, put_fields
from tests.support.bad_envelopes import BAD_ENVELOPES, ODD_ENVELOPES


def prepared(**properties: Any) -> dict[str, Any]:
    """A message as a channel of kombu prepares it."""
    return {
        "body": '[[2, 3], {}, {}]',
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": "shop.add", "id": "1", "retries": 0},
        "properties": {"delivery_info": {"exchange": "", "routing_key": "celery"}, **properties},
    }  # fmt: skip


def test_a_message_is_what_was_published() -> None:
    published = prepared(priority=3, correlation_id="1")
    fields = put_fields(published, is_delayed=False)
    got = adapter.Message(body_of(published), properties=fields["properties"])
    payload = payload_of(got, 7, "", "celery")
    assert payload.pop("body") == b"[[2, 3], {}, {}]"
    info = {"exchange": "", "routing_key": "celery", "redelivered": False}
    assert payload == {
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": published["headers"],
        "properties": {"priority": 3, "correlation_id": "1", "delivery_tag": 7,
                       "delivery_info": info},
    }  # fmt: skip


def test_a_task_can_be_selected_by_its_name_and_id() -> None:
    properties = put_fields(prepared(), is_delayed=False)["properties"]
    assert (properties["task"], properties["id"]) == ("shop.add", "1")


@pytest.mark.parametrize(
    ("given", "put"),
    [(None, 0), (4, 4), (12, 9), (-1, 0), ("x", 0), (math.inf, 0), (math.nan, 0), (2**70, 9)],
)
def test_priorities_are_those_of_the_queue(given: object, put: int) -> None:
    assert put_fields(prepared(priority=given), is_delayed=False)["priority"] == put


@pytest.mark.parametrize(("mode", "is_persistent"), [(1, False), (2, True)])
def test_transient_messages_are_not_persistent(mode: int, is_persistent: bool) -> None:
    fields = put_fields(prepared(delivery_mode=mode), is_delayed=False)
    assert fields["persistent"] is is_persistent


def test_an_expiration_is_in_milliseconds() -> None:
    assert put_fields(prepared(expiration="1500"), is_delayed=False)["expiry_s"] == 1.5


def test_a_task_with_an_eta_stays_with_the_queue_manager() -> None:
    message = prepared()
    eta = datetime.now(UTC) + timedelta(hours=1)
    message["headers"]["eta"] = eta.isoformat()
    assert put_fields(message, is_delayed=True)["deliver_at"] == eta
    assert "deliver_at" not in put_fields(message, is_delayed=False)


@pytest.mark.parametrize("eta", ["2020-01-01T00:00:00+00:00", "no time", None])
def test_a_task_without_a_future_eta_is_not_delayed(eta: str | None) -> None:
    message = prepared()
    message["headers"]["eta"] = eta
    assert "deliver_at" not in put_fields(message, is_delayed=True)


def test_an_eta_that_is_too_far_is_delayed_as_long_as_possible() -> None:
    message = prepared()
    message["headers"]["eta"] = "2999-01-01T00:00:00"
    delay = put_fields(message, is_delayed=True)["deliver_at"] - datetime.now(UTC)
    assert timedelta(days=1094) < delay <= timedelta(days=1095)


def test_a_message_of_another_program_has_its_properties_as_headers() -> None:
    got = adapter.Message(b"[[], {}, {}]", properties={"task": "shop.tidy", "id": "7"})
    payload = payload_of(got, 1, "", "celery")
    assert payload["headers"] == {"task": "shop.tidy", "id": "7"}
    assert (payload["content-type"], payload["content-encoding"]) == ("application/json", "utf-8")
    assert payload["properties"]["correlation_id"] == "7"


def test_a_task_of_another_program_without_an_id_has_that_of_its_message() -> None:
    got = adapter.Message(b"", properties={"task": "shop.tidy"}, message_id=b"i" * 24)
    payload = payload_of(got, 1, "", "celery")
    assert payload["headers"] == {"task": "shop.tidy", "id": "69" * 24}
    assert payload["properties"]["correlation_id"] == "69" * 24


@pytest.mark.parametrize(
    "name", ["content_type", "content_encoding", "correlation_id", "reply_to", "id"]
)
@pytest.mark.parametrize("value", [5, 1.5, True, b"\xff", ""])
def test_properties_of_another_program_that_are_no_text_are_headers(
    name: str, value: Property
) -> None:
    payload = payload_of(adapter.Message(b"", properties={name: value}), 1, "", "celery")
    assert payload["content-type"] == "application/json"
    assert payload["content-encoding"] == "utf-8"
    if value:
        assert payload["headers"][name] == value


@pytest.mark.parametrize("envelope", BAD_ENVELOPES, ids=range(len(BAD_ENVELOPES)))
def test_what_is_no_envelope_is_a_header_like_any_other(envelope: Property) -> None:
    got = adapter.Message(b"[]", properties={"kombu": envelope, "task": "t", "id": "7"})
    payload = payload_of(got, 3, "", "celery")
    assert payload["headers"] == {"kombu": envelope, "task": "t", "id": "7"}
    assert payload["properties"]["delivery_tag"] == 3
    assert payload["body"] == b"[]"


@pytest.mark.parametrize("envelope", ODD_ENVELOPES, ids=range(len(ODD_ENVELOPES)))
def test_an_envelope_may_say_less_and_more(envelope: str) -> None:
    got = adapter.Message(b"[]", properties={"kombu": envelope})
    payload = payload_of(got, 3, "", "celery")
    assert payload["headers"] == {"task": "t"}
    assert payload["properties"]["delivery_info"]["redelivered"] is False


def test_a_message_that_came_back_is_redelivered() -> None:
    got = adapter.Message(b"", backout_count=1)
    assert payload_of(got, 1, "", "Q")["properties"]["delivery_info"]["redelivered"] is True


@pytest.mark.parametrize("expiration", [float("inf"), float("nan"), "soon", [1], -5, "-0.1"])
def test_an_expiration_that_is_no_time_is_refused(expiration: object) -> None:
    with pytest.raises(InvalidOption, match="expiration is a number of milliseconds"):
        put_fields(prepared(expiration=expiration), is_delayed=True)

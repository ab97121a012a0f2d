"""Errors of arguments of faces that have no reason codes of IBM MQ."""

from collections.abc import Callable
from typing import Any

import pytest

from adapter import msmq, servicebroker
from adapter.errors import InvalidOption, InvalidType, InvalidValue
from adapter.msmq import Message
from adapter.msmq.transaction import resolve

ANY: Any = 3


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: msmq.connect(user=ANY), InvalidType, "user is a str or None, not 3"),
        (lambda: msmq.connect(ANY), InvalidType, "address is a str such as"),
        (lambda: msmq.connect("host:x"), InvalidValue, "'host:x' in address 'host:x' is not"),
        (lambda: msmq.connect(computer="c" * 256), InvalidOption, "computer has at most 255"),
        (lambda: servicebroker.connect(password=ANY), InvalidType, "password is a str or None"),
        (lambda: servicebroker.connect(connect_timeout_s=-1), InvalidValue, "connect_timeout_s is"),
        (lambda: Message("x", app_specific="y"), InvalidType, "app_specific is an int, not 'y'"),
        (lambda: Message("x", colour="y"), InvalidOption, "a message has no property 'colour'"),
        (lambda: resolve(ANY, ANY), InvalidType, "transaction is a MessageQueueTransaction"),
    ],
)
def test_they_name_no_reason_code(call: Callable[[], object], kind: type, text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert "MQRC" not in str(caught.value)

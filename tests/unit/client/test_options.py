"""Arguments that are passed on are refused where they are given."""

import inspect
from typing import Any

import pytest

from adapter.aio import connection as aio
from adapter.client.connection import connect
from adapter.client.options import check_connecting, check_put
from adapter.errors import InvalidOption, InvalidTimeout, InvalidType, InvalidValue

TAKEN = list(inspect.signature(connect).parameters)


@pytest.mark.parametrize("name", TAKEN)
def test_an_argument_of_connect_is_taken_and_no_misspelt_one(name: str) -> None:
    options: dict[str, Any] = {} if name.endswith("_s") else {name: None}
    check_connecting(options)
    for misspelt in (name[1:], f"{name}s", name.upper()):
        with pytest.raises(InvalidOption, match=f"no option '{misspelt}'"):
            check_connecting({misspelt: None})


def test_tasks_connect_with_the_same_arguments() -> None:
    assert list(inspect.signature(aio.connect).parameters) == TAKEN


@pytest.mark.parametrize("name", [one for one in TAKEN if one.endswith("_s")])
def test_a_time_that_no_connection_has_is_refused(name: str) -> None:
    check_connecting({name: 1})
    for wrong, error in (("1", InvalidType), (-1, InvalidTimeout), (float("nan"), InvalidValue)):
        with pytest.raises(error):
            check_connecting({name: wrong})


def test_fields_that_no_message_has_are_refused() -> None:
    check_put({"priority": 9, "expiry_s": 1.5})
    for wrong in ({"priority": 10}, {"expiry_s": 0}, {"properties": {"a": object()}}, {"prio": 1}):
        with pytest.raises((InvalidValue, InvalidType)):
            check_put(wrong)

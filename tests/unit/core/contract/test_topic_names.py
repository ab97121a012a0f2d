"""How long a queue's name is in its topic's name."""

import pytest

from adapter.core.contract.topic_names import topic_length
from adapter.storage.format.names import escape


@pytest.mark.parametrize("name", ["Orders.1", "a_b-c/d%e", "broker$\\;held//x y", "経費", "", "-"])
def test_it_is_what_the_escaped_name_has(name: str) -> None:
    assert topic_length(name) == len(escape(name))

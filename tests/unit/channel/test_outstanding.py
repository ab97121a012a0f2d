"""What is said of a request whose answer is not to be had."""

from typing import get_args

from adapter.channel.outstanding import QUESTIONS
from adapter.core.contract import commands as c
from adapter.core.tables import ALWAYS_DURABLE
from adapter.wire.frames import ServerCommand

ASKING = ("Ask", "Inquire", "Browse", "Locate", "ReadBatches", "AwaitEvent")


def test_finding_reliability_questions_every_command_that_writes_nothing_is_one() -> None:
    commands = get_args(c.Command | ServerCommand)
    asking = {one for one in commands if any(word in one.__name__ for word in ASKING)}
    assert asking == set(QUESTIONS)
    assert not asking & set(ALWAYS_DURABLE)

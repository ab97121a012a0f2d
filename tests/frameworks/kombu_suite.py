"""kombu's own integration tests of transports, on the queue manager at MQK_QMGR."""

import os

import kombu
import pytest
from t.integration import common  # of kombu's source distribution

from adapter.kombu import MqkTransport

URL = f"mqk://{os.environ['MQK_QMGR']}"
NOBODY = "mqk://127.0.0.1:9"
assert MqkTransport.default_port  # importing it makes mqk:// known


@pytest.fixture
def connection() -> kombu.Connection:
    return kombu.Connection(URL)


@pytest.fixture
def invalid_connection() -> kombu.Connection:
    return kombu.Connection(NOBODY)


@pytest.fixture
def failover_connection() -> kombu.Connection:
    return kombu.Connection([NOBODY, URL])


class TestBasicFunctionality(common.BasicFunctionality):
    pass


class TestExchangeTypes(common.BaseExchangeTypes):
    pass


class TestTimeToLive(common.BaseTimeToLive):
    pass


class TestPriority(common.BasePriority):
    PRIORITY_ORDER = "asc"


class TestMessage(common.BaseMessage):
    pass


class TestEventLoop(common.BaseEventLoop):
    pass


class TestFailover(common.BaseFailover):
    pass

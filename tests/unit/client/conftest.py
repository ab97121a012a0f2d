"""The scripted queue manager that these tests share with those of the channel."""

from tests.unit.connection.channel.conftest import (
    connect,
    driver,
    pytest_generate_tests,
    pytest_pyfunc_call,
    qm,
    server,
)

__all__ = ["connect", "driver", "pytest_generate_tests", "pytest_pyfunc_call", "qm", "server"]

"""The drivers of the SDK, for tests of what clients meet."""

from tests.drivers import driver, pytest_generate_tests, pytest_pyfunc_call

__all__ = ["driver", "pytest_generate_tests", "pytest_pyfunc_call"]

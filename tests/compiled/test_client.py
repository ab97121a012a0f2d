"""A client on compiled modules: which libraries it loads, and what differs from Python.

Every test runs on modules in Python too, with the same result.
"""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import weakref

import pytest

import adapter.aio
from adapter import testing
from adapter.client.unit import ProducingUnit
from adapter.connection.channel import requests
from adapter.connection.channel.books import ChannelBooks

LIBRARIES = """import sys
import adapter.aio, adapter.client.connection
print(*sorted(one for one in sys.modules if one.endswith("__mypyc")))"""


def test_a_client_loads_its_own_library_alone() -> None:
    is_compiled = str(requests.__file__).endswith(".so")
    done = subprocess.run(
        [sys.executable, "-P", "-c", LIBRARIES],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == (["mqk_client__mypyc"] if is_compiled else [])


def test_the_warning_of_a_dropped_unit_names_the_line_that_dropped_it() -> None:
    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("Q")
        unit = qm.unit()
        unit.begin()
        qm.put("Q", b"x", unit=unit)
        with pytest.warns(ResourceWarning, match="dropped without commit or backout") as warned:
            del unit
        assert {one.filename for one in warned} == {__file__}


def test_a_connection_that_was_dropped_leaves_no_weak_reference() -> None:
    """Of a compiled class with a base that is not compiled they are not cleared."""

    async def connect_and_drop() -> weakref.ref[ChannelBooks]:
        qm = await adapter.aio.connect(manager.address)
        await qm.close()
        return weakref.ref(qm._channel)

    with testing.queue_manager() as manager:
        left = asyncio.run(connect_and_drop())
        gc.collect()
        assert left() is None


def test_a_program_may_derive_a_unit_from_a_compiled_one() -> None:
    class Counted(ProducingUnit):
        ended = 0

        def _commit_at_end(self) -> None:
            type(self).ended += 1
            super()._commit_at_end()

        def __exit__(self, *_: object) -> None:
            self._leave(None)

    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("Q")
        unit = Counted(qm._channel)
        with unit:
            qm.put("Q", b"x")
        assert Counted.ended == 1
        assert qm.queue("Q").depth() == 1

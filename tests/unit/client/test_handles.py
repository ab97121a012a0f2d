"""Handles of a queue object: every verb that takes cancel=, with every way to open the queue."""

from collections.abc import Callable

import pytest

import adapter
from adapter import errors as e
from adapter.client.handles import OpenFor
from tests.support.loopback import Loopback

Verb = Callable[[adapter.Queue, adapter.CancelToken], object]
VERBS: dict[str, Verb] = {
    "get": lambda queue, token: queue.get(cancel=token),
    "units": lambda queue, token: next(queue.units(timeout=0, cancel=token), None),
    "units ahead": lambda queue, token: next(
        queue.units(timeout=0, prefetch=2, cancel=token), None
    ),
}
WAYS: tuple[OpenFor | None, ...] = (None, "input", "input_exclusive", "output", "browse")


@pytest.mark.parametrize("open_for", WAYS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_token_works_or_is_refused_before_anything_is_asked(
    server: Loopback, verb: str, open_for: OpenFor | None
) -> None:
    with adapter.connect(server.address) as qm:
        qm.define_queue("Q")
        queue, token = qm.queue("Q", open_for=open_for), adapter.CancelToken()
        if open_for != "input_exclusive":
            assert VERBS[verb](queue, token) is None
            return
        asked = len(server.executed)
        with pytest.raises(e.InvalidOption, match="goes with neither"):
            VERBS[verb](queue, token)
        assert len(server.executed) == asked
        assert queue.get() is None, "the queue object is as it was"

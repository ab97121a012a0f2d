"""A thread that does one thing which waits for its answer, however long and across what."""

import threading
from collections.abc import Callable

WAIT_S = 60.0


class Asking(threading.Thread):
    """Does one thing, which waits for its answer across the fail-over."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(name="asking", daemon=True)
        self._act = act
        self._problem: BaseException | None = None
        self._answer: object = None

    def run(self) -> None:
        try:
            self._answer = self._act()
        except BaseException as problem:  # noqa: BLE001 -- raised in the test's thread
            self._problem = problem

    def answer(self) -> object:
        self.join(WAIT_S)
        assert not self.is_alive(), "it still waits for its answer"
        if self._problem is not None:
            raise self._problem
        return self._answer

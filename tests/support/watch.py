"""Waiting for what passes a proxy, without polling."""

import threading

WAIT_S = 20.0


class Watch:
    """Counts bytes on both ways through a proxy: give its ``tap`` to the proxy."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.request_bytes = 0
        self.reply_bytes = 0

    def tap(self, _connection: int, from_client: bool, data: bytes) -> None:
        with self._changed:
            if from_client:
                self.request_bytes += len(data)
            else:
                self.reply_bytes += len(data)
            self._changed.notify_all()

    def wait_request(self, more_bytes: int = 1) -> None:
        """Wait until so many more bytes of requests have reached the proxy."""
        self._wait(self.request_bytes + more_bytes, from_client=True)

    def wait_reply(self, after_bytes: int, more_bytes: int = 1) -> None:
        """Wait until the replies are past after_bytes (reply_bytes as it was before)."""
        self._wait(after_bytes + more_bytes, from_client=False)

    def _wait(self, wanted: int, *, from_client: bool) -> None:
        def reached() -> bool:
            return (self.request_bytes if from_client else self.reply_bytes) >= wanted

        with self._changed:
            assert self._changed.wait_for(reached, WAIT_S), "nothing came through the proxy"

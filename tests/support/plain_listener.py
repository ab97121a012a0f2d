"""A listener without TLS, where a program expects one with it: what does it hear?"""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

WITHIN_S = 10.0
SILENCE_S = 0.1
TLS_RECORD = b"\x16\x03"
"""How a client begins that wants TLS: the type of a handshake, and the version of its record."""


class PlainListener:
    """Keeps all that each connection sends, and says one thing to it."""

    def __init__(self, says: bytes = b"") -> None:
        self._says = says
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(WITHIN_S)
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.heard: list[bytes] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._socket.accept()
                sock.settimeout(WITHIN_S)
                self.heard.append(b"")
                with sock, suppress(OSError):
                    self.heard[-1] += sock.recv(65_536)  # a client speaks first
                    sock.sendall(self._says)
                    sock.settimeout(SILENCE_S)
                    while more := sock.recv(65_536):
                        self.heard[-1] += more

    def close(self) -> None:
        """Listen no more; heard is complete."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(WITHIN_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

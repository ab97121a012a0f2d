"""The clients of a transcript. This module knows no verb."""

from adapter.core.contract import commands as c


class Person:
    """One client: what it has to remember itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.session = name.encode().ljust(16, b".")
        self.connected = False
        self.opened = False
        self.requests = 0
        self.issued = 0
        self.handles: dict[str, int] = {}
        self.units: dict[str, bytes] = {}
        self.sent: dict[int, c.Command] = {}
        self.waits: dict[int, str] = {}
        self.numbers: dict[int, int] = {}
        self.unheard: set[int] = set()

"""What a client says of itself, whatever its protocol: nothing of it is proven yet."""

from __future__ import annotations

from msgspec import Struct


class Claim(Struct, frozen=True):
    """A user, what is to prove it, and the program that asks.

    user: "" if it names none. password, token: "" if it gives none. application: the program's
    name. channel: the server connection channel that it asks for by name, "" for none.
    """

    user: str = ""
    password: str = ""
    token: str = ""
    application: str = ""
    channel: str = ""

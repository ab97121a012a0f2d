"""MessageReadPropertyFilter: which properties of messages a program reads from a queue.

The whole message arrives in any case; a filter has reading of what it leaves out refused, as
System.Messaging does. This module knows no message.
"""

from __future__ import annotations

from adapter.connection.channel.plain_arguments import WrongArgumentType

PROPERTIES = (
    "acknowledge_type", "acknowledgment", "administration_queue", "app_specific", "arrived_time",
    "body", "correlation_id", "dead_letter_queue", "destination_queue", "extension", "id",
    "is_first_in_transaction", "is_last_in_transaction", "label", "lookup_id", "message_class",
    "abort_count", "move_count", "priority", "recoverable", "response_queue", "sent_time",
    "source_computer", "time_to_be_received", "time_to_reach_queue", "transaction_id",
    "use_dead_letter_queue", "use_journal_queue",
)  # fmt: skip
DEFAULTS = frozenset({
    "acknowledge_type", "acknowledgment", "administration_queue", "body", "id", "label",
    "lookup_id", "message_class", "response_queue", "use_dead_letter_queue", "use_journal_queue",
})  # fmt: skip
"""What System.Messaging reads unless a program says otherwise."""


class MessageReadPropertyFilter:
    """A flag for each property of a message; all are read unless a program says otherwise."""

    def __init__(self, **flags: bool) -> None:
        self.set_all()
        for name, flag in flags.items():
            setattr(self, name, flag)

    def set_all(self) -> None:
        """Read every property."""
        self.__dict__.update(dict.fromkeys(PROPERTIES, True))

    def clear_all(self) -> None:
        """Read no property."""
        self.__dict__.update(dict.fromkeys(PROPERTIES, False))

    def set_defaults(self) -> None:
        """Read what System.Messaging reads unless a program says otherwise."""
        self.__dict__.update({name: name in DEFAULTS for name in PROPERTIES})

    def unread(self) -> frozenset[str]:
        """Return the properties that are left out."""
        return frozenset(name for name in PROPERTIES if not self.__dict__[name])

    def __setattr__(self, name: str, value: object) -> None:
        if name not in PROPERTIES:
            raise AttributeError(f"a message has no property {name!r}: it has {PROPERTIES}")
        if not isinstance(value, bool):
            raise WrongArgumentType(f"{name} is True or False, not {value!r}")
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> bool:
        raise AttributeError(f"a message has no property {name!r}: it has {PROPERTIES}")

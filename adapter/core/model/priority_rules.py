"""Rules that decide a message's priority: conditions, of which the first that is true counts.

The text of rules is "9: tier = 'gold'; 5: KafkaOffset < 100": a priority, a colon and a selection
string, with semicolons between them. This module does not know where messages come from.
"""

from __future__ import annotations

import re

from msgspec import Struct

from adapter.core.contract.message import MessageData
from adapter.core.model.selector import Fits, SelectorError, parse

RULES_MAX = 10
"""As many as there are priorities."""
_RULE = re.compile(r"""\s*([0-9])\s*:((?:[^;'"] | '[^']*' | "[^"]*")*)(?:;|\Z)""", re.VERBOSE)


class PriorityRule(Struct):
    """The priority of messages that fit a condition."""

    priority: int
    fits: Fits


def parse_rules(text: str) -> tuple[PriorityRule, ...]:
    """Return the rules of a text; none of an empty one. SelectorError if they are invalid."""
    rules: list[PriorityRule] = []
    at, end = 0, len(text.rstrip().removesuffix(";"))
    while at < end:
        match = _RULE.match(text, at)
        if match is None:
            raise SelectorError(
                f"character {at + 1}: a rule is a priority from 0 to 9, a colon and a condition"
            )
        if len(rules) == RULES_MAX:
            raise SelectorError(f"it has more than {RULES_MAX} rules")
        try:
            rules.append(PriorityRule(int(match[1]), parse(match[2])))
        except SelectorError as error:
            raise SelectorError(f"rule {len(rules) + 1}: {error}") from error
        at = match.end()
    return tuple(rules)


def priority_of(rules: tuple[PriorityRule, ...], message: MessageData) -> int | None:
    """Return the priority of the first rule that a message fits; None if it fits none."""
    for rule in rules:
        if rule.fits(message):
            return rule.priority
    return None

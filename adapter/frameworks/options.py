"""Options of programs and frameworks: they are checked where they are given.

At its use a wrong one would be taken for a refusal of the queue manager. This module does not know
which framework has which option.
"""

from __future__ import annotations

from adapter.client.options import check_connecting, check_put
from adapter.errors import InvalidOption

__all__ = ["as_kept_s", "check_connecting", "check_put"]

KEPT_MAX_S = 99_999_999.9
"""The longest life of a message: nine digits of tenths of a second (MQMD.Expiry), three years."""


def as_kept_s(name: str, value: float | None) -> float | None:
    """Take how long messages are kept: seconds, up to KEPT_MAX_S; None: without end.

    name: of the option. Raises InvalidOption.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (is_number and 0 < value <= KEPT_MAX_S):
        return value
    raise InvalidOption(
        f"{name} is a positive number of seconds, {KEPT_MAX_S:.0f} at most, not {value!r}; "
        "None: without end"
    )

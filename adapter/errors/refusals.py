"""The total table from core's reasons to the errors of every face, and to their sentences."""

from __future__ import annotations

from collections.abc import Iterator

from adapter.core.contract.reasons import Reason
from adapter.errors import Error, UnexpectedAnswer
from adapter.errors.root import Case


def _tree(error: type[Error]) -> Iterator[type[Error]]:
    yield error
    for kind in error.__subclasses__():
        yield from _tree(kind)


REFUSALS: dict[Reason, Case] = {
    case.reason: case for error in _tree(Error) for case in error.__dict__.get("cases", ())
}
"""Every reason of core has exactly one row here."""


def refusal(reason: int, name: str = "", detail: str = "") -> Error:
    """Make the error for a refusal of the queue manager; of a newer one, maybe, than this."""
    try:
        case = REFUSALS[Reason(reason)]
    except ValueError:
        return UnexpectedAnswer(
            f"the queue manager refused with the unknown reason {reason} ({detail}); "
            "install the same release on both sides",
            name,
        )
    happened = case.happened.format(name=name)
    if detail and detail != happened:
        happened = f"{happened} ({detail})"
    error = case.error(f"{happened}: {case.remedy}", name)
    error.happened, error.remedy, error.detail = happened, case.remedy, detail
    error.refused = Reason(reason)
    return error

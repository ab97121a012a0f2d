"""The root of the error tree: what every error has.

Import it from adapter.errors, which draws the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from msgspec import Struct

from adapter.core.contract.reasons import Reason

KindT = TypeVar("KindT", bound="type[Error]")
TEXT_MAX = 8000
"""Characters of an error: it may repeat an argument, and an argument may be a body of megabytes."""
TEXT_END = 2000
FAILED = 2  # MQCC_FAILED; MQCC_WARNING is 1, and no error here is a mere warning


class Case(Struct, frozen=True):
    """What a refusal becomes: the error, what happened ({name} is the object), what to do."""

    reason: Reason
    error: type[Error]
    happened: str
    remedy: str


class Error(Exception):
    """Any error of mqk. comp: MQCC; reason: MQRC; object_name: the object concerned, or "".

    messages_put: how many messages put_many() had put, durably, when this ended it. refused: why
    the queue manager refused, if it was that. happened, remedy: the text in two, where it was
    refused: a face may name the remedy in its own words. detail: what the queue manager said of it
    besides, which happened repeats. units_failed: if commits in flight failed,
    every unit that did, the first one's error being this.
    """

    comp: ClassVar[int] = FAILED
    reason: ClassVar[int] = 2195
    reason_name: ClassVar[str] = "MQRC_UNEXPECTED_ERROR"
    cases: ClassVar[tuple[Case, ...]] = ()

    def __init__(self, text: str, object_name: str = "") -> None:
        text = _with_bound(text)
        super().__init__(text, object_name)
        self.text = text
        self.object_name = object_name
        self.messages_put = 0
        self.units_failed: list[UnitFailure] = []
        self.refused: Reason | None = None
        self.happened, self.remedy, self.detail = text, "", ""

    def __str__(self) -> str:
        return f"{self.text} [{self.reason_name}]"


def raised_for(reason: Reason, happened: str, remedy: str) -> Callable[[KindT], KindT]:
    """Return a decorator: the error is raised if the queue manager refuses for this reason."""

    def add(error: KindT) -> KindT:
        error.cases = (Case(reason, error, happened, remedy), *error.__dict__.get("cases", ()))
        return error

    return add


def _with_bound(text: str) -> str:
    """Leave out the middle of a long text: what to do stands at its end."""
    left_out = len(text) - TEXT_MAX
    if left_out <= 0:
        return text
    head, end = text[: TEXT_MAX - TEXT_END], text[-TEXT_END:]
    return f"{head} [... {left_out} characters left out ...] {end}"


def text_of_mistake(error: Error) -> str:
    """Return the text of a wrong argument: it has a code only if the queue manager refused it."""
    return error.text if error.refused is None else Error.__str__(error)


class UnitFailure(Struct, frozen=True):
    """A unit whose commit failed after the program had gone on.

    message_ids: of the messages that it got, and of those that it put with wait=False.
    """

    unit_id: bytes
    message_ids: list[bytes]
    error: Error

    def __str__(self) -> str:
        messages = ", ".join(ident.hex() for ident in self.message_ids) or "not known"
        return f"unit {self.unit_id.hex()}: {self.error}; messages: {messages}"

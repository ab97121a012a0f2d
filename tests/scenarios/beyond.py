"""What transcripts say beyond the usual of puts, gets and messages: groups, segments, cursors."""

from __future__ import annotations

from adapter.core.contract import answers, backout
from adapter.core.contract import commands as c
from adapter.core.contract.details import (
    IN_GROUP,
    LAST_IN_GROUP,
    LAST_SEGMENT,
    SEGMENT,
    SEGMENTATION_ALLOWED,
)
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, PutDone, Subscribed
from adapter.core.model import report
from adapter.core.model.groups import is_in_group, is_segment, segment_status
from tests.scenarios.language import Call

FLAGS = {
    "in_group": IN_GROUP,
    "last_in_group": LAST_IN_GROUP,
    "segment": SEGMENT,
    "last_segment": LAST_SEGMENT,
    "may_be_cut": SEGMENTATION_ALLOWED,
}
PUT_OPTIONS = {
    "logical": c.LOGICAL_ORDER,
    "retain": c.RETAIN,
    "warn": c.WARN_NO_SUBSCRIBERS,
    "deferred": c.DEFERRED,
}
PUT_WORDS = ("np", "hard", *PUT_OPTIONS, *FLAGS)
REPORTS = {
    "coa": report.CONFIRM_ON_ARRIVAL,
    "exception": report.EXCEPTION,
    "exception_data": 3 * report.EXCEPTION,
    "exception_all": 7 * report.EXCEPTION,
    "cod": report.CONFIRM_ON_DELIVERY,
    "cod_data": 3 * report.CONFIRM_ON_DELIVERY,
    "cod_all": 7 * report.CONFIRM_ON_DELIVERY,
    "expiry": report.EXPIRATION,
    "expiry_all": 7 * report.EXPIRATION,
    "pass_id": answers.PASS_MESSAGE_ID,
    "pass_correl": answers.PASS_CORRELATION_ID,
    "pass_expiry": answers.PASS_DISCARD_AND_EXPIRY,
    "discard": answers.DISCARD,
    "pan": report.POSITIVE_ACTION,
    "nan": report.NEGATIVE_ACTION,
}
OPTIONS = {
    "logical": c.LOGICAL_ORDER,
    "all": c.ALL_MESSAGES,
    "all_segments": c.ALL_SEGMENTS,
    "complete": c.COMPLETE,
    "cursor": c.UNDER_CURSOR,
    "lock": c.LOCK,
    "unlock": c.UNLOCK,
    "if_persistent": c.IF_PERSISTENT,
    "mark": c.MARK_HANDLE,
    "mark_co_op": c.MARK_CO_OP,
    "unmarked": c.UNMARKED,
    "unmark": c.UNMARK_HANDLE,
    "unmark_co_op": c.UNMARK_CO_OP,
}


def report_of(text: str) -> int:
    """Read report=coa+cod+all as MQMD.Report."""
    return sum(REPORTS[word] for word in text.split("+") if word)


def options_of(call: Call) -> tuple[int, int, int]:
    """Read what a get or browse asks for beyond ids: options, number in a group, offset."""
    options = sum(OPTIONS.get(word, 0) for word in call.words[1:])
    seq, offset = call.options.pop("seq", ""), call.options.pop("seg", "")
    options |= c.MATCH_GROUP_SEQ * bool(seq) | c.MATCH_OFFSET * bool(offset)
    return options, int(seq or 1), int(offset or 0)


def group_parts(message: MessageData) -> list[str]:
    """Print what a report is about, where a message is in its group, a segment in its message, and
    from where it was moved.
    """
    parts = []
    if message.message_type == report.REPORT:
        parts.append(f"report {message.feedback}")
    if is_in_group(message):
        parts.append(f"{message.group_seq}{'L' * message.last_in_group} of its group")
    moved = message.properties or {}
    if backout.QUEUE in moved:
        parts.append(f"moved from {moved[backout.QUEUE]} after {moved[backout.COUNT]} backouts")
    if is_segment(message):
        parts.append(f"segment at {message.offset}{'L' * (segment_status(message) == 'L')}")
    return parts


def warning(result: PutDone | Messages | Done | Subscribed) -> str:
    """Say the warning that a result carries, if it does."""
    return f", warning {Reason(result.warning).name}" if result.warning else ""

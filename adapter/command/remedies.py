"""What to do about a refusal, in the words of the command line.

The sentences of adapter.errors name arguments of the SDK; a person who typed a command needs its
options. What is not listed here has a remedy that fits both.
"""

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors import Error

REMEDIES: dict[Reason, str] = {
    Reason.QUEUE_EXISTS: "use `mqk queue alter`, or define it with --replace",
    Reason.QUEUE_NOT_EMPTY: "delete it with --purge, or get its messages first",
    Reason.QUEUE_FULL: "get messages from it, or raise its --max-depth (mqk queue alter)",
    Reason.GET_INHIBITED: "use `mqk queue alter` with --no-inhibit-get",
    Reason.PUT_INHIBITED: "use `mqk queue alter` with --no-inhibit-put",
    Reason.PERSISTENT_NOT_ALLOWED: "put it with --non-persistent, or to a permanent queue",
    Reason.MESSAGE_TOO_LONG: "raise --max-message-length of the queue (mqk queue alter), or put "
    "a shorter message",
    Reason.NOT_AUTHORIZED: "set MQK_USER and MQK_PASSWORD; `mqk user list` shows the users",
    Reason.AUTHORITY_MISSING: "an administrator may grant it with `mqk auth grant`; the "
    "queue manager's log says what is missing",
    Reason.PRIORITY_ERROR: "use 0 to 9",
    Reason.EXPIRY_ERROR: "use a positive number of seconds",
    Reason.MISSING_REPLY_TO: "name a queue with --reply-to",
    Reason.CONNECTION_NOT_FOUND: "see `mqk connection list`",
}


def sentence(problem: Error) -> str:
    """What happened and what to do, with the reason code if it has one."""
    if problem.refused in REMEDIES:
        return f"{problem.happened}: {REMEDIES[problem.refused]} [{problem.reason_name}]"
    return str(problem)

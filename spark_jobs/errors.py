"""What goes wrong between queues and Spark, as one sentence that says what to do."""

from __future__ import annotations

import re

from adapter.errors import Error

CAUSE = re.compile(r"(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error):\s?")
OURS = re.compile(r"(?<!\")mqk: (.*)")  # and no line of the program that raises it
PLAN = re.compile(r"=== Streaming Query ===.*?(?=\n\s+at |\Z)", re.DOTALL)
"""What Spark prints of a query: also our own sentences, which the plan would raise."""
TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")
NEXT_TRACEBACK = re.compile(r"\n.*Traceback \(most recent call last\)")
FROM_JVM = "py4j.protocol.Py4JJavaError: "
"""Begins the last line of a traceback where Python called the JVM: what went wrong stands below."""
LOST = re.compile(
    r"Some data may have been lost.*?\nReason: ([^\n]+?)(?:\. SQLSTATE.*)?\n", re.DOTALL
)
"""What Spark's Kafka source says when it does not find what it is to read."""
CALLING = re.compile(r"An error occurred while calling \S+\n: (\S+: *\n.+|.*)")
"""Some texts of Spark begin on the line behind the exception's name."""
STATE = re.compile(r" SQLSTATE: \w+.*")
QUOTED_MAX = 500
NESTED_MAX = 20  # causes within causes; Spark nests five


class SparkJobError(Error):
    """A job or a source of messages for Spark could not go on."""

    def __str__(self) -> str:
        return self.text  # what went wrong is rarely a queue manager's, so a code would mislead


def explain(problem: BaseException) -> str:
    """Find the sentence in what Spark, the JVM and Python wrapped around it.

    What this package raised inside Spark begins with "mqk: ", and is told alone.
    """
    text = PLAN.sub("", _text_of(problem))
    ours = OURS.findall(text)
    if ours:  # the last one: before it comes the line of the program that raised it
        return _short(STATE.sub("", ours[-1]))
    if lost := LOST.search(text):
        return (
            "records of the queue's topic have been deleted before this query has read them, or "
            f"the queue was deleted and defined again ({_short(lost[1])}): consumed messages are "
            "kept for kafka.consumed_retention_ms. Begin with a new checkpoint"
        )
    return _short(CAUSE.sub("", _cause(text)) or type(problem).__name__)


def _cause(text: str) -> str:
    """The innermost cause that a text names: in Python, in the JVM, or what it begins with."""
    if traced := TRACEBACK.findall(text):
        if not traced[-1].startswith(FROM_JVM):
            return str(traced[-1])
        text = NEXT_TRACEBACK.split(text[text.index(traced[-1]) :])[0]
    lines = [line.strip() for line in text.splitlines()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    if causes:
        return causes[-1].removeprefix("Caused by: ")
    if found := CALLING.findall(text):
        return str(found[0])
    return next(filter(None, lines), "")


def _text_of(problem: BaseException) -> str:
    """Everything that an exception, and what caused it, says."""
    parts: list[str] = []
    found: BaseException | None = problem
    while found is not None and len(parts) < NESTED_MAX:
        parts.append(str(found))
        trace = getattr(found, "_stackTrace", None)  # a JVM's, of pyspark's exceptions
        if isinstance(trace, str):
            parts.append(trace)
        found = found.__cause__ or found.__context__
    return "\n".join(parts)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= QUOTED_MAX else words[: QUOTED_MAX - 3] + "..."

"""Writes docs/reference from the code: `python -m tests.docs.reference`, from the top.

What is said of a command is its --help, what is said of the SDK its docstrings.
"""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

import adapter
from adapter import testing
from adapter.cli.main import mqk
from adapter.core.attributes.table import Row
from adapter.errors import Error
from adapter.mqi import TriggerMessage, values
from adapter.mqi.kinds import DEFINED, Kind
from adapter.mqi.trigger_monitor import TriggerMonitor
from adapter.testing import TestQueueManager
from tests.docs import mqi_coverage

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
WIDTH = 100
MADE = "<!-- Written by `python -m tests.docs.reference` from the code: change it there. -->\n"


def pages() -> dict[str, str]:
    """Each page of docs/reference, by its file name."""
    return {
        "attributes.md": attributes(),
        "cli.md": cli(),
        "mqi-coverage.md": mqi_coverage.page(MADE),
        "sdk.md": sdk(),
    }


HEADING = ("| name | keyword | number | values | default | meaning |", "|---|---|---|---|---|---|")
ATTRIBUTES = """# Attributes

The name is the SDK's, the keyword MQSC's, the number that of MQINQ and PCF. What has *told* beside
it cannot be given. MQSC's words are beside the SDK's values where they differ; PCF's numbers are in
parentheses.
"""


def attributes() -> str:
    """All attributes of all kinds of objects, from core's table."""
    parts = [
        MADE,
        ATTRIBUTES,
    ]
    for kind in DEFINED.values():
        parts.append(
            f"## {kind.word}\n\n`{kind.kind}` for the SDK; its name is {kind.name_keyword}, "
            f"{kind.name_number} in PCF.\n"
        )
        rows = [
            f"| `{row.name}` | {row.attribute.keyword} | {row.attribute.number} | {taken(row)} "
            f"| {default_of(kind, row)} | {row.attribute.meaning} |"
            for row in kind.rows.values()
        ]
        heading = (
            "| name | keyword | number | values | default | meaning |\n|---|---|---|---|---|---|"
        )
        parts.append("\n".join([heading, *rows, ""]))
    return "\n".join(parts)


def taken(row: Row) -> str:
    """The values that an attribute takes."""
    members = values.members(row)
    if members:
        every = zip(members, values.words(row), values.numbers(row), strict=True)
        return ", ".join(
            f"{value} ({number})" if value == word else f"{value}: {word} ({number})"
            for value, word, number in every
        )
    bound = row.attribute
    if bound.low is not None:
        return f"{bound.low} to {bound.high}"
    return f"text, {bound.length} at most" if bound.length else row.type.__name__


def default_of(kind: Kind, row: Row) -> str:
    """The default of what can be given."""
    if row.name in kind.told:
        return "*told*"
    shown = f"`{row.default}`" if row.default != "" else "none"
    return f"{shown}, *told*" if row.attribute.fixed else shown


def cli() -> str:
    """All commands, as their --help says."""
    parts = [MADE, "# The mqk command\n"]
    for words, command in commands("mqk", mqk):
        context = click.Context(command, info_name=words, terminal_width=WIDTH)
        context.max_content_width = WIDTH
        parts.append(f"## {words}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def commands(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, with the words that call them."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(f"{words} {name}", below)


def sdk() -> str:
    """What programs use, as its docstrings say."""
    parts = [
        MADE,
        "# The SDK\n",
        said(adapter),
        "## adapter.connect\n",
        call("connect", adapter.connect),
    ]
    for kind in (
        adapter.Connection,
        adapter.Queue,
        adapter.Subscription,
        adapter.Unit,
        adapter.Message,
        adapter.PutResult,
        adapter.DeadLetter,
    ):
        parts += of_class(f"adapter.{kind.__name__}", kind)
    parts += ["## adapter.testing\n", said(testing), call("queue_manager", testing.queue_manager)]
    parts += of_class("adapter.testing.TestQueueManager", TestQueueManager)
    parts += of_class("adapter.mqi.trigger_monitor.TriggerMonitor", TriggerMonitor)
    parts += of_class("adapter.mqi.TriggerMessage", TriggerMessage)
    kafka = importlib.import_module("adapter.kafka")
    parts += ["## adapter.kafka\n", said(kafka)]
    for name, function in inspect.getmembers(kafka, inspect.isfunction):
        if function.__module__ == kafka.__name__ and not name.startswith("_"):
            parts.append(call(name, function))
    return "\n".join([*parts, "## adapter.errors\n", *errors()])


def of_class(title: str, kind: type) -> list[str]:
    """A class and its public members, in the order of its text."""
    parts = [f"## {title}\n", said(kind)]
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            parts.append(f"**`{name}`** {said(member)}")
        elif inspect.isfunction(member):
            parts.append(call(name, member))
    fields = getattr(kind, "__struct_fields__", ())
    if fields:
        parts.append("Fields: " + ", ".join(f"`{field}`" for field in fields) + ".\n")
    return parts


def call(name: str, function: object) -> str:
    """A function's heading and text."""
    assert callable(function)
    signature = str(inspect.signature(function)).replace("'", "").replace("(self, ", "(")
    return f"### `{name}{signature.replace('(self)', '()')}`\n\n{said(function)}"


def errors() -> Iterator[str]:
    """The error tree: a row for each class."""
    yield "| error | reason | meaning |\n|---|---|---|"
    for kind in sorted(tree(Error), key=lambda one: one.__name__):
        text = (inspect.getdoc(kind) or "").partition("\n")[0]
        yield f"| `{kind.__name__}` ({kind.__mro__[1].__name__}) | {kind.reason_name} | {text} |"
    yield "\nWhat to do about each: [errors](../errors.md).\n"


def tree(root: type[Error]) -> list[type[Error]]:
    """A class of adapter.errors and all below it there."""
    below = [one for kind in root.__subclasses__() for one in tree(kind)]
    return [one for one in [root, *below] if one.__module__.startswith("adapter.errors")]


def said(of: object) -> str:
    """A docstring, as Markdown: indented examples stay as they are."""
    text = re.sub(r"`{1,2}", "`", inspect.getdoc(of) or "")
    return f"{text}\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)

"""Writes docs/reference from the code: `python -m tests.docs.reference`, from the top.

What is said of a command is its --help, what is said of the SDK its docstrings, and what is said of
a requirement the docstring of its test.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from adapter.administration import values
from adapter.administration.kinds import DEFINED, Kind
from adapter.cli.main import mqk
from adapter.core.attributes.table import AttributeRow
from tests.docs import mqi_coverage, requirements, sdk_reference

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
WIDTH = 100
HELP = mqk.context_settings["help_option_names"]
MADE = "<!-- Written by `python -m tests.docs.reference` from the code: change it there. -->\n"


def pages() -> dict[str, str]:
    """Each page of docs/reference, by its file name."""
    return {
        "attributes.md": attributes(),
        "cli.md": cli(),
        "mqi-coverage.md": mqi_coverage.page(MADE),
        "requirements.md": requirements.page(MADE),
        "sdk.md": sdk_reference.page(MADE),
    }


HEADING = ("| name | keyword | number | values | default | meaning |", "|---|---|---|---|---|---|")
ATTRIBUTES = """# Attributes

The name is the SDK's, the keyword MQSC's, the number that of MQINQ and PCF. What is *read-only*
cannot be set. MQSC's words are beside the SDK's values where they differ; PCF's numbers are in
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
    return "\n".join([*parts, *without_effect()])


WITHOUT_EFFECT = """## Attributes without effect

Attributes of IBM MQ whose feature does not exist here. They may be given in MQSC and PCF; the value
in bold holds whatever is given, and MQINQ, MQSC and PCF report it. A value that does not hold is
reported as without effect or, where *refused* is in the last column, refused.
"""


def without_effect() -> Iterator[str]:
    """What is read and has no effect, by kind of object."""
    yield WITHOUT_EFFECT
    for kind in DEFINED.values():
        if not kind.unsupported:
            continue
        rows = [
            f"| {row.attribute.keyword} | {row.attribute.number or ''} "
            f"| **{values.text(row, row.default) or 'blank'}** | {row.attribute.meaning} "
            f"| {'*refused*' if row.attribute.promise else ''} |"
            for row in kind.unsupported.values()
        ]
        heading = "| keyword | number | value | meaning | others |\n|---|---|---|---|---|"
        yield "\n".join([f"### {kind.word}: without effect\n", heading, *rows, ""])


def taken(row: AttributeRow) -> str:
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
    if not bound.length:
        return str(row.type.__name__)
    return f"text, {bound.length} {'bytes ' if bound.in_bytes else ''}at most"


def default_of(kind: Kind, row: AttributeRow) -> str:
    """The default of what can be given."""
    if row.name in kind.reported:
        return "*read-only*"
    shown = f"`{row.default}`" if row.default != "" else "none"
    return f"{shown}, *read-only*" if row.attribute.fixed else shown


def cli() -> str:
    """All commands, as their --help says."""
    parts = [MADE, "# The mqk command\n"]
    for words, command in commands("mqk", mqk):
        context = click.Context(
            command, info_name=words, terminal_width=WIDTH, help_option_names=HELP
        )
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


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)

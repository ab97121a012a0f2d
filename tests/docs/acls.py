"""Writes the tables of rights on Kafka into docs/operations/security.md, from
adapter.host.settings.acls.

`python -m tests.docs.acls`, from the top.
"""

from collections.abc import Iterator
from pathlib import Path

from adapter.host.settings.acls import table
from adapter.host.settings.acls.table import AclEntry, AclNeeds

TOP = Path(__file__).parents[2]
PAGE = TOP / "docs" / "operations" / "security.md"
BEGIN = (
    "<!-- Written by `python -m tests.docs.acls` from adapter/host/settings/acls/table.py. -->\n"
)
END = "<!-- Written by hand again. -->\n"
EXAMPLE = AclNeeds(
    queue_manager="QM1",
    schema_topic="_schemas",
    peers=("QM2",),
    feed_topics=("orders",),
    export_topics=("results",),
    queues=("ORDERS",),
    groups=("readers",),
)


def lines() -> Iterator[str]:
    """Return the tables, one for each role."""
    for name, role in table.ROLES.items():
        yield from ("", f"**`--role {name}`**, {role.meaning}:", "")
        yield "| resource | operation | needed to |"
        yield "|---|---|---|"
        for entry in table.entries(name, EXAMPLE):
            yield from (
                f"| {where(entry)} | {right.operation} | {right.purpose} |"
                for right in entry.rights
            )
    yield ""


def where(entry: AclEntry) -> str:
    """Say which resources an entry is about."""
    return f"{entry.resource} `{entry.name}`{', prefixed' if entry.is_prefix else ''}"


def written(text: str) -> str:
    """Return the page with the tables of now."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + "\n".join(lines()) + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))

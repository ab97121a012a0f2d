"""A group whose commands are imported when they are used, so that `mqk put` starts quickly.

It knows names and one line of help for each command; it must not know what the commands do.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

from adapter.host import memory


class LazyCommand(Struct, frozen=True):
    """A command that is not imported yet. target: `module:name`; help: its line in the list."""

    target: str
    help: str


Table = Mapping[str, LazyCommand]
"""Commands by name."""


def load(entry: LazyCommand) -> click.Command:
    """Import a command that a table names."""
    module, name = entry.target.split(":")
    with memory.load_without_collecting():
        command = getattr(importlib.import_module(module), name)
    assert isinstance(command, click.Command), "the table names commands"
    return command


class LazyGroup(click.Group):
    """The commands of a table, in its order."""

    def __init__(self, *arguments: Any, table: Table, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.table = table

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, _context: click.Context, cmd_name: str) -> click.Command | None:
        return load(self.table[cmd_name]) if cmd_name in self.table else None

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=entry.help)
            for name, entry in self.table.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as problem:
            raise self._explain(ctx, problem) from problem

    def _explain(self, ctx: click.Context, problem: click.NoSuchCommand) -> click.UsageError:
        """The same error, naming groups that have such a command, else similar commands."""
        wanted = problem.command_name
        found = [f"{ctx.command_path} {name}" for name in self.table if self._has(name, wanted)]
        if not found:
            return click.NoSuchCommand(wanted, possibilities=self.table, ctx=ctx)
        return click.UsageError(
            f"{problem.message} Did you mean {' or '.join(f'`{one} {wanted}`' for one in found)}?",
            ctx,
        )

    def _has(self, name: str, wanted: str) -> bool:
        command = load(self.table[name])
        if isinstance(command, LazyGroup):
            return wanted in command.table
        return isinstance(command, click.Group) and wanted in command.commands

"""A command whose --help lists its options by subject. It does not know what the subjects are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

Groups = Mapping[str, Sequence[str]]
"""The names of parameters by the heading of their group, in the order of the help."""


class GroupedCommand(click.Command):
    """A command with groups of options. What is in none comes last, under Options."""

    def __init__(self, *arguments: Any, groups: Groups, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        heading_of = {name: heading for heading, names in self.groups.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in self.groups}
        others: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None and isinstance(parameter, click.Option):
                rows.get(heading_of.get(str(parameter.name), ""), others).append(row)
        for heading, some in [*rows.items(), ("Options", others)]:
            with formatter.section(heading):
                formatter.write_dl(some)

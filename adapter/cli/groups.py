"""mqk group add, remove and list: the file of groups whose members have what the groups have."""

from __future__ import annotations

from pathlib import Path

import click

from adapter.cli import output
from adapter.command import failures, options
from adapter.server.access import groups

in_file = click.option(
    "--file",
    "path",
    required=True,
    envvar="MQK_GROUPS_FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of groups: the queue manager's setting groups_file.",
)


@click.group()
def group() -> None:
    """Groups of users, for authorities (`mqk auth grant --group`)."""


@group.command()
@click.argument("name")
@click.argument("users", nargs=-1, required=True)
@in_file
@options.json_output
def add(name: str, users: tuple[str, ...], path: Path, as_json: bool) -> None:
    """Put users into a group, which need not exist.

    A user is named as the queue manager knows it: `mqk connection list` shows that. A running queue
    manager takes the change within seconds; what is open stays open.
    """
    problems = [
        (name, groups.problem_of_group(name)),
        *((one, groups.problem(one)) for one in users),
    ]
    for one, why in problems:
        if why:
            raise click.UsageError(f"{one!r}: {why}")
    if ":" in name:
        raise click.UsageError(f"{name!r}: a group has no colon in its name")
    with groups.changing(path) as members:
        known = members.setdefault(name, [])
        known += [one for one in dict.fromkeys(users) if one not in known]
    _done(name, path, users, "added", as_json)


@group.command()
@click.argument("name")
@click.argument("users", nargs=-1)
@in_file
@options.json_output
def remove(name: str, users: tuple[str, ...], path: Path, as_json: bool) -> None:
    """Take users out of a group; without users all of them, which is the end of the group."""
    with groups.changing(path) as members:
        known = members.get(name)
        if known is None:
            raise failures.Failed(f"group {name} does not exist in {path}: see `mqk group list`")
        for one in users:
            if one not in known:
                raise failures.Failed(f"user {one} is not in group {name}: see `mqk group list`")
        members[name] = [one for one in known if users and one not in users]
    _done(name, path, users or tuple(known), "removed", as_json)


@group.command("list")
@in_file
@options.json_output
def show(path: Path, as_json: bool) -> None:
    """List the groups, each with its users."""
    for name, users in sorted(_members(path).items()):
        output.done(f"{name}: {', '.join(users)}", as_json, group=name, users=users)


def _done(name: str, path: Path, users: tuple[str, ...], what: str, as_json: bool) -> None:
    text = f"group {name} of {path}: {', '.join(users)} {what}"
    output.done(text, as_json, group=name, file=str(path), users=list(users), done=what)


def _members(path: Path) -> groups.Members:
    return groups.read(path) if path.exists() else {}

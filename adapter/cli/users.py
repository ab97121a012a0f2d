"""mqk user add, remove and list: the file of users whose passwords a queue manager checks."""

from __future__ import annotations

from pathlib import Path

import click

from adapter.cli import output
from adapter.command import failures, options, streams
from adapter.server.access import credentials

PASSWORD_LINE_MAX = 10_000
in_file = click.option(
    "--file",
    "path",
    required=True,
    envvar="MQK_CREDENTIALS_FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of users: the queue manager's setting credentials_file.",
)


@click.group()
def user() -> None:
    """Users and their passwords, for clients that must authenticate."""


@user.command()
@click.argument("name")
@in_file
@options.json_output
def add(name: str, path: Path, as_json: bool) -> None:
    """Add a user, or give one another password.

    The password is asked for twice, or read from standard input if that is not a terminal. Only a
    hash of it is kept. A running queue manager takes the change at once.
    """
    if not credentials.NAME.fullmatch(name):
        raise click.UsageError("a user's name has 1 to 64 of A-Z a-z 0-9 . _ @ -")
    password = _password()
    if not 0 < len(password.encode()) <= credentials.PASSWORD_BYTES_MAX:
        most = credentials.PASSWORD_BYTES_MAX
        raise click.UsageError(f"a password has 1 to {most} bytes")
    hashed = credentials.hash_password(password)
    with credentials.changing(path) as users:
        known = name in users
        users[name] = hashed
    done(name, path, "password changed" if known else "added", as_json)


@user.command()
@click.argument("name")
@in_file
@options.json_output
def remove(name: str, path: Path, as_json: bool) -> None:
    """Remove a user; open connections of the user continue."""
    with credentials.changing(path) as users:
        if users.pop(name, None) is None:
            raise failures.Failed(f"user {name} does not exist in {path}: see `mqk user list`")
    done(name, path, "removed", as_json)


@user.command("list")
@in_file
@options.json_output
def show(path: Path, as_json: bool) -> None:
    """List the users."""
    for name in sorted(_users(path)):
        output.done(name, as_json, user=name)


def done(name: str, path: Path, what: str, as_json: bool) -> None:
    """Report what was done to a user."""
    output.done(f"user {name} of {path}: {what}", as_json, user=name, file=str(path), done=what)


def _users(path: Path) -> dict[str, str]:
    return credentials.read(path) if path.exists() else {}


def _password() -> str:
    if streams.is_terminal():
        asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return asked
    return next(streams.text_lines(PASSWORD_LINE_MAX), "").rstrip("\n")

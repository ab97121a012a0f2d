"""mqk user add, remove and list: the file of users whose passwords a queue manager checks."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path

import click

from adapter.server import credentials

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
    """Users and their passwords, for clients that must say who they are."""


@user.command()
@click.argument("name")
@in_file
def add(name: str, path: Path) -> None:
    """Add a user, or give one another password.

    The password is asked for, or read from standard input if that is no terminal. Only a hash of it
    is kept. A running queue manager takes the change at once.
    """
    if not credentials.NAME.fullmatch(name):
        raise click.UsageError("a user's name has 1 to 64 of A-Z a-z 0-9 . _ @ -")
    password = _password()
    if not 0 < len(password.encode()) <= credentials.PASSWORD_BYTES_MAX:
        most = credentials.PASSWORD_BYTES_MAX
        raise click.UsageError(f"a password has 1 to {most} bytes")
    users = _users(path)
    users[name] = credentials.hashed(password)
    credentials.write(path, users)


@user.command()
@click.argument("name")
@in_file
def remove(name: str, path: Path) -> None:
    """Remove a user; connections that there are stay."""
    users = _users(path)
    if users.pop(name, None) is None:
        raise click.UsageError(f"there is no user {name} in {path}")
    credentials.write(path, users)


@user.command("list")
@in_file
def show(path: Path) -> None:
    """List the users."""
    for name in sorted(_users(path)):
        click.echo(name)


def _users(path: Path) -> dict[str, str]:
    return credentials.read(path) if path.exists() else {}


def _password() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\n")

"""mqk auth: who may do what with which objects: grant, revoke, list, explain, check.

It passes words on; what they mean, the queue manager knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from adapter.cli import output
from adapter.cli.connected import connect
from adapter.client.authorities import ROLES
from adapter.command import options
from adapter.core.contract.authorities import (
    APPLICABLE,
    QUEUE,
    QUEUE_MANAGER,
    WORDS,
    AuthorityRecord,
    bits_of,
    words_of,
)

APPLICATION = "mqk auth"
NOT_CHECKED = (
    "authorities are not checked: every client may do everything, until the queue manager is "
    "started with the setting authorities = yes"
)
object_type = click.option(
    "--type",
    "object_type",
    type=click.Choice(sorted(APPLICABLE)),
    default=QUEUE,
    show_default=True,
    help="Type of the objects.",
)
Command = Callable[..., Any]


@click.group()
def auth() -> None:
    """Authorities: grant, revoke, list, explain who may do what.

    They count where the queue manager is started with the setting authorities = yes.
    """


def entities(command: Command) -> Command:
    """Options that name users and groups."""
    users = click.option("--user", "users", multiple=True, metavar="USER", help="For this user.")
    groups = click.option(
        "--group", "groups", multiple=True, metavar="GROUP",
        help="For this group; `everyone` is that of all clients.",
    )  # fmt: skip
    return users(groups(command))


def changing(command: Command) -> Command:
    """What grant and revoke take."""
    role = click.option(
        "--role",
        type=click.Choice(list(ROLES)),
        help="Several authorities at once: app-put and app-get of queue OBJECT, the others of all "
        "objects, without OBJECT.",
    )
    words = click.argument("authorities", nargs=-1, metavar="[AUTHORITY]...")
    profile = click.argument("profile", required=False, default="", metavar="[OBJECT]")
    for add in (options.json_output, options.queue_manager, role, object_type, entities, words):
        command = add(command)
    return profile(command)


@auth.command()
@changing
def grant(**given: Any) -> None:
    """Grant authorities on OBJECT: a name, or a profile such as 'ORDERS.**'.

    AUTHORITY: put, get, browse, inq, set, connect, dsp, crt, chg, dlt, clr, ctrl, all, none and the
    other words of IBM MQ. Of each user and group the most specific profile counts, so that granting
    `none` on ORDERS.SECRET takes back what ORDERS.** grants. OBJECT of --type qmgr is SELF.
    """
    _change(**given, revoke=False)


@auth.command()
@changing
def revoke(**given: Any) -> None:
    """Take authorities on OBJECT away; without AUTHORITY, delete the record itself.

    What a program has open stays open. A record that grants nothing stays, and hides less specific
    profiles; a deleted one does not.
    """
    _change(**given, revoke=True)


def _change(
    *,
    profile: str,
    authorities: tuple[str, ...],
    users: tuple[str, ...],
    groups: tuple[str, ...],
    object_type: str,
    role: str | None,
    qmgr: str,
    as_json: bool,
    revoke: bool,
) -> None:
    if not users and not groups:
        raise click.UsageError("name a user or a group with --user or --group")
    if role is not None and authorities:
        raise click.UsageError("--role says which authorities: name none beside it")
    if role is None and not profile:
        raise click.UsageError("name an object or a profile, or give --role")
    if role is None and not authorities and not revoke:
        raise click.UsageError("name at least one authority, such as put")
    try:
        bits_of(object_type, list(authorities))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    who: dict[str, Any] = {"users": users, "groups": groups}
    with connect(qmgr, APPLICATION) as qm:
        if role is not None:
            qm.set_role(role, profile, **who, revoke=revoke)
        elif not authorities:
            qm.delete_authority(profile, object_type, **who)
        else:
            side = {"remove" if revoke else "add": authorities}
            qm.set_authority(profile, object_type, **who, **side)
        is_checked = bool(qm.figures().get("authorities_checked"))
    done = "revoked" if revoke else "granted"
    what = f"role {role}" if role else " ".join(authorities) or "all records"
    of = f" on {object_type} {profile}" if profile and not role else f" {profile}".rstrip()
    text = f"{done} {what}{of}: {', '.join((*users, *groups))}"
    if not as_json and not is_checked:
        click.echo(NOT_CHECKED, err=True)
    output.done(text, as_json, users=list(users), groups=list(groups), **{done: what})


@auth.command("list")
@click.argument("profile", required=False, default="", metavar="[OBJECT]")
@click.option("--user", default="", metavar="USER", help="Records of this user only.")
@click.option("--group", default="", metavar="GROUP", help="Records of this group only.")
@click.option("--type", "object_type", type=click.Choice(sorted(APPLICABLE)), help="Of this type.")
@options.queue_manager
@options.json_output
def show(
    profile: str, user: str, group: str, object_type: str | None, qmgr: str, as_json: bool
) -> None:
    """Show authority records: of all objects, or those whose profile means OBJECT."""
    if user and group:
        raise click.UsageError("give --user or --group, not both")
    with connect(qmgr, APPLICATION) as qm:
        found = qm.authorities(profile, object_type or "", user=user, group=group, of="matching")
    headings = ("profile", "type", "user or group", "", "authorities")
    if as_json:
        for one in found.records:
            output.emit(_json(one))
        return
    output.table(headings, map(_row, found.records))
    if not found.are_checked:
        click.echo(NOT_CHECKED, err=True)


def _row(one: AuthorityRecord) -> tuple[object, ...]:
    kind = "group" if one.is_group else "user"
    return (one.profile, one.object_type, one.entity, kind, " ".join(words_of(one.bits)) or "none")


def _json(one: AuthorityRecord) -> dict[str, object]:
    return {
        "profile": one.profile, "type": one.object_type,
        "group" if one.is_group else "user": one.entity, "authorities": words_of(one.bits),
    }  # fmt: skip


@auth.command()
@click.argument("user")
@click.argument("authority", type=click.Choice(list(WORDS), case_sensitive=False))
@click.argument("name", metavar="OBJECT", default="", required=False)
@object_type
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP",
    help="A group of the user in the operating system, which the queue manager knows only while "
    "the user is connected; those of its file of groups count in any case.",
)  # fmt: skip
@options.queue_manager
@options.json_output
def explain(
    user: str,
    authority: str,
    name: str,
    object_type: str,
    groups: tuple[str, ...],
    qmgr: str,
    as_json: bool,
) -> None:
    """Say whether USER has AUTHORITY on OBJECT, and which records say so."""
    if not name and object_type != QUEUE_MANAGER:
        raise click.UsageError("name an object, or give --type qmgr")
    with connect(qmgr, APPLICATION) as qm:
        found = qm.explain_authority(user, name, object_type, groups=groups)
    may = bool(found.bits & WORDS[authority])
    if as_json:
        output.emit(
            {
                "user": user, "authority": authority, "type": object_type, "object": name,
                "granted": may, "checked": found.are_checked,
                "records": [_json(one) for one in found.records],
            }
        )  # fmt: skip
        return
    of = f"{object_type} {name}".rstrip()
    click.echo(f"{user} {'has' if may else 'does not have'} {authority} on {of}")
    for one in found.records:
        profile, _, entity, kind, words = _row(one)
        click.echo(f"  {kind} {entity}, profile {profile}: {words}")
    if not found.records:
        click.echo("  no record of the user, or of its groups, has a profile that fits")
    if not found.are_checked:
        click.echo(NOT_CHECKED, err=True)


@auth.command()
@entities
@click.option(
    "--member-of", "memberships", multiple=True, metavar="GROUP",
    help="A group of each USER in the operating system, a directory or a token, which the queue "
    "manager knows only while the user is connected; those of its file of groups count anyway.",
)  # fmt: skip
@options.queue_manager
@options.json_output
def check(
    users: tuple[str, ...],
    groups: tuple[str, ...],
    memberships: tuple[str, ...],
    qmgr: str,
    as_json: bool,
) -> None:
    """List the objects that lead users and groups to what they have no right to.

    Without --user and --group: all that have an authority record. Such an object was defined by an
    administrator, who may want it so, or before mqk asked for rights on what an object leads to.
    Its definition would be refused today to who has no more than these rights. Rights that a user
    has by groups of --member-of are known of users that are named by --user.
    """
    if memberships and not users:
        raise click.UsageError("--member-of names groups of users: give --user")
    with connect(qmgr, APPLICATION) as qm:
        named = [(user, False) for user in users] + [(group, True) for group in groups]
        if not named:
            records = qm.authorities().records
            named = sorted({(one.entity, one.is_group) for one in records})
        asked = [
            (
                *(entity, is_group),
                qm.authority_pointers(group=entity)
                if is_group
                else qm.authority_pointers(entity, groups=memberships),
            )
            for entity, is_group in named
        ]
    found = [
        (entity, "group" if is_group else "user", one)
        for entity, is_group, pointers in asked
        for one in pointers.pointers
    ]
    if as_json:
        for entity, kind, one in found:
            output.emit({kind: entity, "kind": one.kind, "object": one.name, "lacks": [
                {"type": it.object_type, "object": it.name, "authorities": words_of(it.bits)}
                for it in one.lacks
            ]})  # fmt: skip
        return
    rows = [
        (entity, kind, f"{one.kind} {one.name}", f"{it.object_type} {it.name}",
         " ".join(words_of(it.bits)))
        for entity, kind, one in found
        for it in one.lacks
    ]  # fmt: skip
    output.table(("user or group", "", "object", "leads to", "not granted there"), rows)
    if not all(pointers.are_checked for _, _, pointers in asked):
        click.echo(NOT_CHECKED, err=True)

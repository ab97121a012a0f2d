"""mqk registry: serve a schema registry, ask one, and compare schemas without one."""

from __future__ import annotations

import difflib
import json
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from adapter.cli import output
from adapter.command import failures, options, signals
from adapter.host import texts
from adapter.host.settings.setting_rows import DEFAULT_HTTP_PORT
from adapter.registry import avro_schema, http, own, topic
from adapter.registry.log import SCHEMAS
from adapter.registry.port import Registered, SchemaRegistry
from adapter.registry.rest import RestRegistry
from adapter.server.monitor.http import REGISTRY

DEFAULT_URL = f"http://{http.HOST}:{http.PORT}"
SUFFIX = ".avsc"
CONNECT_S = 0.5
DIGITS_MAX = 18
"""No id and no version has more."""
"""On this machine it takes no time, unless something drops what is sent."""
MEANING = f"a queue manager's own on port {DEFAULT_HTTP_PORT}, if it listens; else {DEFAULT_URL}"

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class SubjectRow(Struct):
    """A subject in the list. id: of its latest version."""

    subject: str
    versions: list[int]
    id: int
    level: str


def default_url() -> str:
    """Return the queue manager's own registry if one listens there, else the usual address."""
    with suppress(OSError), socket.create_connection((http.HOST, DEFAULT_HTTP_PORT), CONNECT_S):
        return f"http://{http.HOST}:{DEFAULT_HTTP_PORT}{REGISTRY}"
    return DEFAULT_URL


def at_registry(command: options.Command) -> options.Command:
    """--registry: the URL of a running registry."""
    return click.option(
        "--registry", "url", envvar="MQK_REGISTRY", default=default_url, show_default=MEANING,
        show_envvar=True, metavar="URL", help="Where the schema registry is.",
    )(command)  # fmt: skip


@click.group()
def registry() -> None:
    """Avro schemas: serve a registry on a topic, ask any registry, compare schemas."""


@registry.command()
@options.kafka_client
@click.option("--topic", "name", default=SCHEMAS, show_default=True, help="Where schemas are kept.")
@click.option(
    "--listen", callback=options.address, default=f"{http.HOST}:{http.PORT}", show_default=True,
    metavar="HOST:PORT", help="HOST:PORT on loopback; port 0: any free port.",
)  # fmt: skip
@options.json_output
def serve(kafka: options.KafkaClient, name: str, listen: tuple[str, int], as_json: bool) -> None:
    """Serve a schema registry on a topic, which is created if it does not exist, until SIGTERM.

    Several may serve the same topic: each answers with what any of them has registered.
    """
    told = threading.Event()
    with closing(topic.on_kafka(kafka.servers, name, kafka.options)) as kept:
        kept.subjects()
        with http.RegistryServer(kept) as server, signals.ending(told.set):
            url = server.start(*listen)
            output.done(f"schema registry on topic {name}: {url}", as_json, url=url, topic=name)
            told.wait()


@registry.command("list")
@at_registry
@options.json_output
def list_(url: str, as_json: bool) -> None:
    """List the subjects: their versions, the latest one's id, the compatibility level."""
    with asking(url) as asked:
        rows = [row(asked, subject) for subject in asked.subjects()]
    output.listing(
        rows,
        as_json,
        ("subject", "versions", "latest id", "level"),
        lambda one: (one.subject, len(one.versions), one.id, one.level),
    )


def row(asked: SchemaRegistry, subject: str) -> SubjectRow:
    """What is shown of a subject."""
    latest = asked.version(subject).schema_id
    return SubjectRow(subject, asked.versions(subject), latest, asked.level(subject))


@registry.command()
@click.argument("name")
@click.option("--id", "by_id", is_flag=True, help="NAME is a schema's id.")
@at_registry
@options.json_output
def show(name: str, by_id: bool, url: str, as_json: bool) -> None:
    """Print a schema: NAME is SUBJECT (the latest version) or SUBJECT:VERSION."""
    with asking(url) as asked:
        if by_id:
            if not _is_number(name):
                raise click.UsageError(f"an id is a number, not {name!r}")
            found = Registered("", 0, int(name), asked.schema(int(name)))
        else:
            found = find_named(asked, name)
    if as_json:
        output.emit(msgspec.to_builtins(found))
    else:
        click.echo(pretty(found.schema))


@registry.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--subject", metavar="NAME", help="Check the file against this subject of the registry."
)
@click.option(
    "--against",
    type=FOLDER,
    metavar="FOLDER",
    help="Without a registry: check each file against all schemas of the same record in a folder "
    "and its subfolders.",
)
@click.option(
    "--level",
    type=click.Choice(tuple(avro_schema.RULES)),
    default=own.LEVEL,
    show_default=True,
    help="With --against: the level of compatibility.",
)
@at_registry
@options.json_output
def check(
    files: tuple[Path, ...],
    subject: str | None,
    against: Path | None,
    level: str,
    url: str,
    as_json: bool,
) -> None:
    """Check whether schemas are compatible as next versions; exit status 1 if one is not."""
    if (subject is None) == (against is None):
        raise click.UsageError("give --subject, to ask a registry, or --against FOLDER")
    if against is not None:
        found = [(path, problems_with(path, against, level)) for path in files]
    else:
        assert subject is not None, "--subject or --against is there"
        with asking(url) as asked:
            found = [(path, asked.check(subject, read(path))) for path in files]
    for path, problems in found:
        if as_json:
            output.emit({"file": str(path), "compatible": not problems, "problems": problems})
        else:
            click.echo("\n  ".join([f"{path}: {'incompatible' if problems else 'ok'}", *problems]))
    if any(problems for _, problems in found):
        click.get_current_context().exit(failures.FAILED)


def problems_with(path: Path, folder: Path, level: str) -> list[str]:
    """What speaks against a file's schema, by the schemas of the same record in a folder."""
    new = read(path)
    avro_schema.parse(new)
    earlier = [
        (file, text)
        for file in sorted(folder.rglob(f"*{SUFFIX}"))
        if same_record(text := read(file), new)
    ]
    return [
        f"{file}: {problem}"
        for file, text in earlier
        for problem in avro_schema.problems(level, new, [(1, text)])
    ]


def same_record(one: str, other: str) -> bool:
    """Whether two schemas are of the same name."""
    names = [
        (found.get("namespace"), found.get("name")) if isinstance(found, dict) else found
        for found in (json.loads(one), json.loads(other))
    ]
    return names[0] == names[1]


@registry.command()
@click.argument("file", type=FILE)
@click.option("--subject", required=True, metavar="NAME", help="The subject, such as ORDERS-value.")
@at_registry
@options.json_output
def register(file: Path, subject: str, url: str, as_json: bool) -> None:
    """Make a file's schema the latest version of a subject, if it has it not yet."""
    text = read(file)
    with asking(url) as asked:
        schema_id = asked.register(subject, text)
        version = asked.lookup(subject, text).version
    text = f"{subject} version {version} has id {schema_id}"
    output.done(text, as_json, subject=subject, version=version, id=schema_id)


@registry.command()
@click.argument("old")
@click.argument("new")
@at_registry
@options.json_output
def diff(old: str, new: str, url: str, as_json: bool) -> None:
    """Show how two schemas differ, and who reads whom.

    OLD and NEW are files that end with .avsc, or SUBJECT or SUBJECT:VERSION in the registry.
    """
    before, after = text_of(old, url), text_of(new, url)
    first, second = avro_schema.parse(before), avro_schema.parse(after)
    if as_json:
        reads = {"old": old, "new": new, "new_reads_old": not avro_schema.unreadable(second, first)}
        output.emit(reads | {"old_reads_new": not avro_schema.unreadable(first, second)})
        return
    lines = pretty(before).splitlines(), pretty(after).splitlines()
    for line in difflib.unified_diff(lines[0], lines[1], old, new, lineterm=""):
        click.echo(line)
    click.echo(verdict(new, old, avro_schema.unreadable(second, first)))
    click.echo(verdict(old, new, avro_schema.unreadable(first, second)))


def verdict(reader: str, writer: str, why: Iterable[str]) -> str:
    """Say whether one schema reads what was written with another."""
    told = "; ".join(why)
    return f"{reader} {'cannot read' if told else 'reads'} what {writer} wrote" + (
        f": {told}" if told else ""
    )


def text_of(name: str, url: str) -> str:
    """A schema from a file, or from the registry."""
    if name.endswith(SUFFIX):
        path = Path(name)
        if not path.is_file():
            raise click.UsageError(f"there is no file {name}")
        return read(path)
    with asking(url) as asked:
        return find_named(asked, name).schema


def find_named(asked: SchemaRegistry, name: str) -> Registered:
    """What SUBJECT or SUBJECT:VERSION names."""
    subject, _, version = name.rpartition(":")
    if subject and _is_number(version):
        return asked.version(subject, int(version))
    return asked.version(name)


def _is_number(text: str) -> bool:
    """Whether a text may be an id or a version."""
    return text.isdecimal() and len(text) <= DIGITS_MAX


def read(path: Path) -> str:
    """The text of a schema's file."""
    try:
        return texts.read(path, http.BODY_BYTES_MAX)
    except texts.UnreadableTextError as error:
        raise failures.Failed(f"{path} cannot be read: {error}") from error


def pretty(schema: str) -> str:
    """A schema as people read it."""
    return json.dumps(json.loads(schema), indent=2, ensure_ascii=False)


@contextmanager
def asking(url: str) -> Iterator[SchemaRegistry]:
    """A running registry."""
    with closing(RestRegistry(url)) as asked:
        yield asked

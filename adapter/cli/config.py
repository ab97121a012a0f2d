"""mqk config check and reference: what a queue manager would start with, and what there is to set.

Nothing is started, and Kafka is not asked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import click

from adapter.cli import output, settings
from adapter.command import failures, options
from adapter.command.grouped import GroupedCommand
from adapter.host.settings import config as configuration
from adapter.host.settings.setting_rows import (
    OPTION_PREFIX,
    OPTIONS,
    SETTINGS,
    WITH_PASSWORD,
    Setting,
)
from adapter.server.listen.listener import NotLoopbackError, check_loopback
from adapter.storage.topics.admin import TopicError, admin_client


@click.group()
def config() -> None:
    """Settings of a queue manager: check them, list what there is."""


@config.command(cls=GroupedCommand, groups=settings.GROUPS)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@settings.flags
@options.json_output
def check(file: Path | None, as_json: bool, **given: Any) -> None:
    """Show the effective settings and where each comes from; exit status 1 if one is wrong.

    FILE is the same as --config FILE. The flags are those of `mqk qmgr start`.
    """
    options.not_both("FILE", file, "--config", given["config_file"])
    given["config_file"] = file or given["config_file"]
    with failures.expect(configuration.ConfigError, NotLoopbackError, TopicError):
        found = settings.load(None, given)
        if found["remote_clients"] != WITH_PASSWORD:
            check_loopback(found.address[0])
        admin_client(found["kafka.bootstrap_servers"], found.kafka_options)
    if as_json:
        for one in found.all():
            output.emit({"key": one.key, "value": one.shown, "from": one.source})
    else:
        rows = [(one.key, str(one.shown), one.source) for one in found.all()]
        output.table(("setting", "value", "from"), rows)
    for text in configuration.missing(found):
        failures.tell(f"note: {text}")


@config.command()
def reference() -> None:
    """Print the page of the documentation that lists every setting, as Markdown."""
    click.echo("\n".join(page()))


@config.command()
def unit() -> None:
    """Print a unit for systemd, of queue managers that this `mqk` runs: mqk@.service."""
    program = Path(sys.argv[0]).resolve()
    command = str(program) if program.name == "mqk" else str(Path(sys.prefix) / "bin" / "mqk")
    click.echo(shipped_file("mqk@.service").replace("@MQK@", command), nl=False)


@config.command()
def alerts() -> None:
    """Print rules of alerts for Prometheus, as a file for its rule_files."""
    click.echo(shipped_file("rules.yml"), nl=False)


@config.command()
def dashboard() -> None:
    """Print a dashboard for Grafana, as a file to import."""
    click.echo(shipped_file("dashboard.json"), nl=False)


def shipped_file(name: str) -> str:
    """A file for operators that comes with mqk."""
    return (resources.files("adapter") / "operations" / name).read_text(encoding="utf-8")


def page() -> Iterator[str]:
    """The lines of docs/operations/configuration.md."""
    yield from HEAD.format(
        file=configuration.FILE,
        variable=configuration.FILE_VARIABLE,
        prefix=OPTION_PREFIX,
        runs_code=", ".join(f"`{one}`" for one in sorted(configuration.RUNS_CODE)),
    ).splitlines()
    yield from ("", "| setting | takes | default | flag | environment | what it is |")
    yield "|---|---|---|---|---|---|"
    for one in SETTINGS.values():
        flag = "the argument `NAME`" if one.flag == "NAME" else f"`{one.flag}`"
        cells = (
            f"`{one.key}`", takes(one), default(one), flag, f"`{one.environment}`", one.meaning,
        )  # fmt: skip
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield from ("", "## An example", "", "```toml", *example(), "```", "")
    yield from ("## Options of the Kafka client that are refused", "")
    yield "mqk's guarantees depend on these options, or they have their own setting:"
    yield ", ".join(f"`{name}`" for name in sorted(configuration.OUR_OPTIONS)) + "."


def takes(setting: Setting) -> str:
    """Which values a setting takes."""
    if setting.choices:
        return ", ".join(f"`{one}`" for one in setting.choices)
    if setting.bounds:
        return "{} to {}".format(*setting.bounds)
    return "a table of text" if setting.key == OPTIONS else "text"


def default(setting: Setting) -> str:
    """Its default, as it is written in the file."""
    return written(setting.default) if setting.default not in ("", {}) else "none"


def written(value: object) -> str:
    """A value as it is written in the file."""
    return f"`{value}`" if isinstance(value, int) else f'`"{value}"`'


def example() -> Iterator[str]:
    """Every setting in a file, those that need not be said as comments."""
    table = ""
    for one in SETTINGS.values():
        head, _, name = one.key.rpartition(".")
        if head != table:
            table = head
            yield from ("", f"[{table}]")
        value = one.example or written(one.default).strip("`")
        yield f"{name} = {value}" if one.example else f"# {name} = {value}"


HEAD = """\
# Configuration

<!-- Written by `mqk config reference`; a test holds it to the table of settings. -->

A queue manager's process takes its settings from flags, from the environment, and from a TOML file.
**Flags win over the environment, the environment over the file, the file over the defaults**; the
Kafka client options are merged one by one, with the same precedence (and `-X` wins over
`--command-config`). `mqk config check` shows what is in force and where each value comes from:

```sh
mqk config check
```

The file is the one that `--config` names, else the one that `{variable}` names, else `{file}` in
the working directory if it is there. An unknown setting or invalid value stops the start; the
message names the setting and its source. An environment variable that is empty counts as not set.
For `yes` and `no`, `on` and `off` are taken as well, and in the file `true` and `false`.

For security, an `{file}` found in the working directory cannot set {runs_code}: with
them librdkafka loads libraries or runs commands. To use them, pass the file with `--config`.

Options of the Kafka client have librdkafka's names. In the file they stand under `[kafka.options]`,
with or without quotes; in the environment `sasl.password` is `{prefix}SASL_PASSWORD`
(an underscore of a name is written twice); `mqk config check` does not show secrets. Passwords
belong into the environment or into a file that only the queue manager's user can read, not on a
command line. What it takes to reach a secured cluster: [Kafka](kafka.md).

## Settings"""

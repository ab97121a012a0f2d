"""The repository keeps the house rules; and every rule is shown to be able to fail."""

import itertools
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import tidy_layers, tidy_pages, tidy_rules
from tests.tidy_circles import circles
from tests.tidy_dialling import dialling
from tests.tidy_mirrors import untested
from tests.tidy_records import truth_of_records
from tests.tidy_rules import Source
from tests.tidy_types import class_sizes, type_names
from tests.tidy_words import imperative_names, plain_words

TOP = Path(__file__).parents[1]
EACH = (
    tidy_layers.layering,
    tidy_layers.wiring,
    tidy_layers.state_asked_for,
    tidy_rules.libraries,
    tidy_rules.children,
    tidy_rules.unwatched,
    tidy_rules.headers_read,
    tidy_rules.texts_of_processes,
    tidy_rules.sizes,
    tidy_rules.docstrings,
    tidy_rules.vague_names,
    tidy_rules.mutable_globals,
    tidy_rules.unfinished,
    plain_words,
    imperative_names,
    truth_of_records,
    tidy_rules.hidden_tests,
)
TOGETHER = (
    circles,
    tidy_rules.dead_modules,
    tidy_rules.unused_contracts,
    tidy_rules.mirrors,
    dialling,
    class_sizes,
    type_names,
)


def none(problems: list[str]) -> None:
    """Fail with every problem on a line of its own."""
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(rule: Callable[..., list[str]]) -> str:
    return rule.__name__


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    """Every file, parsed once for all rules."""
    return tidy_rules.parse(tidy_rules.python_sources(TOP))


@pytest.mark.parametrize("rule", EACH, ids=name_of)
def test_every_file_keeps(rule: Callable[[Source], list[str]], sources: list[Source]) -> None:
    none([problem for source in sources for problem in rule(source)])


@pytest.mark.parametrize("rule", TOGETHER, ids=name_of)
def test_the_files_keep(rule: Callable[[list[Source]], list[str]], sources: list[Source]) -> None:
    none(rule(sources))


def test_nothing_is_left_over() -> None:
    found = [
        problem
        for path in tidy_rules.text_files(TOP)
        for problem in tidy_rules.leftovers(str(path.relative_to(TOP)), read(path))
    ]
    none(found)


def test_links_lead_somewhere() -> None:
    pages = [path for path in tidy_rules.text_files(TOP) if path.suffix == ".md"]
    none([one for page in pages for one in tidy_pages.broken_links(page, read(page))])


def test_the_changelog_has_its_shape() -> None:
    assert tidy_pages.changelog(read(TOP / "CHANGELOG.md")) == []


def test_everything_required_is_pinned() -> None:
    project = tomllib.loads(read(TOP / "pyproject.toml"))["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *itertools.chain(*extras)]
    assert tidy_pages.constraints(read(TOP / "constraints.txt"), required) == []


def test_the_rules_see_the_repository(sources: list[Source]) -> None:
    """A walk that finds nothing would keep every rule."""
    paths = {source.path for source in sources}
    assert {"adapter/__init__.py", "tests/test_tidy.py"} <= paths
    assert not any(".venv" in path or "/build/" in path for path in paths)


DOC = '"""What it is for."""\n'
LONG_FUNCTION = DOC + "def f() -> None:\n" + "    x = 1\n" * 60

RULES = "from adapter.core.rules"
BAD: list[tuple[Callable[[Source], list[str]], str, str, str]] = [
    (tidy_layers.state_asked_for, "adapter/server/x.py", "x = term.qm.queues", "it reads .qm"),
    (
        tidy_layers.layering,
        "adapter/core/x.py",
        "from adapter.storage.format import names",
        "must not",
    ),
    (tidy_layers.layering, "adapter/client/x.py", "import spark_jobs.sources", "must not"),
    (tidy_layers.layering, "adapter/client/x.py", "from adapter.core.model import q", "must not"),
    (tidy_layers.layering, "adapter/mqi/x.py", "from adapter.core.rules import put", "must not"),
    (tidy_layers.layering, "adapter/mqi/x.py", "from adapter.client import queue", "must not"),
    (tidy_layers.layering, "adapter/services/x.py", "from adapter.mqi import session", "must not"),
    (tidy_layers.layering, "spark_jobs/x.py", "from adapter.runtime.owner import loop", "must not"),
    (tidy_layers.layering, "adapter/core/x.py", "import adapter.runtime.owner.loop", "must not"),
    (tidy_layers.layering, "adapter/core/x.py", "from adapter import errors", "must not"),
    (tidy_layers.layering, "adapter/core/contract/x.py", "import adapter.core.model.a", "must not"),
    (tidy_layers.layering, "adapter/core/rules/msmq/x.py", f"{RULES}.broker import a", "must not"),
    (
        tidy_layers.layering,
        "adapter/core/rules/messages/x.py",
        f"{RULES}.pubsub.a import b",
        "must not",
    ),
    (tidy_layers.layering, "adapter/core/x.py", "from . import y", "relative"),
    (
        tidy_layers.layering,
        "adapter/core/x.py",
        "def f():\n    import adapter.connection.wire",
        "must not",
    ),
    (
        tidy_layers.layering,
        "adapter/storage/ledger/x.py",
        "from adapter.storage.format import entries",
        "must not",
    ),
    (
        tidy_layers.layering,
        "adapter/runtime/owner/x.py",
        "from adapter.storage.ledger.kafka import K",
        "must not",
    ),
    (
        tidy_layers.layering,
        "adapter/connection/wire/x.py",
        "from adapter.core.rules import put",
        "must not",
    ),
    (
        tidy_layers.layering,
        "adapter/client/x.py",
        "from adapter.runtime.owner import loop",
        "must not",
    ),
    (tidy_layers.layering, "adapter/errors.py", "import adapter.client", "must not"),
    (tidy_layers.layering, "adapter/nowhere/x.py", "import os", "is new"),
    (tidy_layers.layering, "mqk_demo/checker.py", "import adapter.storage.format", "stands alone"),
    (tidy_layers.layering, "mqk_demo/checker.py", "from mqk_demo import flights", "stands alone"),
    (tidy_layers.layering, "mqk_demo/x.py", "from adapter.storage.format import names", "must not"),
    (tidy_layers.layering, "mqk_demo/x.py", "import spark_jobs.flights", "must not"),
    (tidy_layers.layering, "adapter/client/x.py", "import mqk_demo.proxy", "must not"),
    (tidy_layers.wiring, "adapter/server/x.py", "import adapter.server.doors.mqk.handler", "only"),
    (tidy_rules.libraries, "adapter/core/x.py", "import time", "must not use time"),
    (tidy_rules.libraries, "adapter/core/x.py", "from random import choice", "must not use random"),
    (tidy_rules.libraries, "adapter/core/x.py", "import uuid", "must not use uuid"),
    (tidy_rules.libraries, "adapter/core/x.py", "import asyncio", "must not use asyncio"),
    (tidy_rules.libraries, "adapter/core/x.py", "import socket", "must not use socket"),
    (tidy_rules.libraries, "adapter/core/x.py", "import os.path", "must not use os"),
    (tidy_rules.libraries, "adapter/core/x.py", "import logging", "must not use logging"),
    (tidy_rules.libraries, "adapter/core/x.py", "import confluent_kafka", "must not use"),
    (tidy_rules.libraries, "adapter/connection/wire/x.py", "import socket", "must not use socket"),
    (tidy_rules.libraries, "adapter/storage/format/x.py", "import time", "must not use time"),
    (tidy_rules.libraries, "adapter/runtime/owner/loop.py", "import time", "must not use time"),
    (tidy_rules.libraries, "adapter/storage/topics/decoder.py", "import time", "must not use time"),
    (
        tidy_rules.libraries,
        "adapter/runtime/owner/x.py",
        "import confluent_kafka",
        "must not use confluent",
    ),
    (
        tidy_layers.layering,
        "adapter/storage/topics/x.py",
        "from adapter.runtime.owner import storage",
        "topics must not import",
    ),
    (
        tidy_rules.libraries,
        "adapter/runtime/owner/x.py",
        "from confluent_kafka import P",
        "must not use",
    ),
    (tidy_rules.libraries, "adapter/client/x.py", "import confluent_kafka", "must not use"),
    (tidy_rules.libraries, "mqk_demo/checker.py", "import msgspec", "must not use msgspec"),
    (tidy_rules.libraries, "adapter/cli/x.py", "import dataclasses", "Structs"),
    (tidy_rules.children, "adapter/cli/x.py", "f([sys.executable, '-m', 'x'])", "launch.python"),
    (plain_words, "adapter/core/x.py", "raise E('the priority is not one')", "riddle"),
    (plain_words, "adapter/core/x.py", "raise E(f'{x} is none that a queue has')", "riddle"),
    (plain_words, "adapter/core/x.py", 'def f():\n    """A name is not one."""', "riddle"),
    (plain_words, "adapter/core/x.py", "log('nobody has it open')", "riddle"),
    (plain_words, "adapter/core/x.py", "log('mend the topic')", "riddle"),
    (plain_words, "adapter/core/x.py", 'def f():\n    """None if there is none."""', "riddle"),
    (plain_words, "adapter/core/x.py", 'def f():\n    """It is not one of mqk."""', "riddle"),
    (plain_words, "adapter/core/x.py", 'def f():\n    """Nobody waits."""', "name the client"),
    (imperative_names, "adapter/core/rules/x.py", "def opened(qm: Q) -> None: ...", "past tense"),
    (imperative_names, "adapter/core/rules/x.py", "def _told(qm: Q) -> Result: ...", "past tense"),
    (imperative_names, "adapter/mqi/x.py", "def _told(qm: Q) -> Result: ...", "past tense"),
    (
        imperative_names,
        "adapter/mqi/x.py",
        "class C:\n    def made(self) -> int: ...",
        "past tense",
    ),
    (tidy_rules.unwatched, "adapter/runtime/owner/x.py", "threading.Thread(target=f)", "watched"),
    (tidy_rules.unwatched, "adapter/server/x.py", "loop.create_task(f())", "watched"),
    (
        tidy_rules.headers_read,
        "adapter/storage/movers/x.py",
        "dict(one.headers() or [])",
        "headers_of",
    ),
    (tidy_rules.headers_read, "spark_jobs/x.py", "record.headers()", "headers_of"),
    (
        tidy_rules.texts_of_processes,
        "adapter/host/x.py",
        "P = Path('/proc')\nx = (P / '1/stat').read_text()",
        "read bytes",
    ),
    (tidy_rules.unwatched, "adapter/storage/movers/x.py", "done.add_done_callback(f)", "watched"),
    (tidy_rules.sizes, "adapter/x.py", LONG_FUNCTION, "f has 61 lines"),
    (tidy_rules.sizes, "adapter/x.py", "x = 1\n" * 601, "601 lines"),
    (tidy_rules.sizes, "tests/x.py", "#" * 101, "101 columns"),
    (tidy_rules.docstrings, "tests/x.py", "x = 1", "no module docstring"),
    (tidy_rules.docstrings, "adapter/x/__init__.py", "", "no module docstring"),
    (tidy_rules.vague_names, "adapter/core/utils.py", DOC, "utils says nothing"),
    (tidy_rules.vague_names, "tests/helpers/x.py", DOC, "helpers says nothing"),
    (tidy_rules.mutable_globals, "adapter/x.py", "cache = {}", "cache is mutable"),
    (tidy_rules.mutable_globals, "adapter/x.py", "def f():\n    global n\n    n = 1", "global"),
    (tidy_rules.unfinished, "adapter/x.py", "def f():\n    raise NotImplementedError", "marks"),
    (tidy_rules.hidden_tests, "tests/unit/x.py", "def test_a(): pass", "collects only"),
    (tidy_rules.hidden_tests, "tests/test_x.py", "@pytest.mark.skip\ndef test_a(): 1", "skip"),
    (tidy_rules.hidden_tests, "tests/test_x.py", "pytest.importorskip('x')", "importorskip"),
    (tidy_rules.hidden_tests, "tests/test_x.py", "pytestmark = [pytest.mark.xfail]", "xfail"),
]


@pytest.mark.parametrize(("rule", "path", "text", "words"), BAD)
def test_a_bad_file_is_found(
    rule: Callable[[Source], list[str]], path: str, text: str, words: str
) -> None:
    found = rule(Source(path, text))
    assert len(found) == 1
    assert words in found[0]
    assert found[0].startswith(path)


GOOD: list[tuple[Callable[[Source], list[str]], str, str]] = [
    (tidy_layers.state_asked_for, "adapter/runtime/owner/x.py", "x = term.qm.queues"),
    (tidy_layers.layering, "adapter/core/x.py", "from adapter.core.model import queue"),
    (
        tidy_layers.layering,
        "adapter/runtime/owner/x.py",
        "from adapter.storage.ledger.port import Ledger",
    ),
    (tidy_layers.layering, "adapter/cli/x.py", "from adapter.runtime.owner import loop"),
    (tidy_layers.layering, "tests/x.py", "from adapter.runtime.owner import loop"),
    (
        tidy_layers.wiring,
        "adapter/server/server.py",
        "from adapter.server.doors.mqk import handler",
    ),
    (tidy_layers.wiring, "adapter/server/doors/mqk/x.py", "from adapter.server.doors.mqk import y"),
    (tidy_rules.libraries, "adapter/core/x.py", "from collections.abc import Iterator"),
    (tidy_rules.libraries, "adapter/runtime/owner/clock.py", "import time"),
    (
        tidy_rules.libraries,
        "adapter/storage/ledger/kafka.py",
        "from confluent_kafka import Producer",
    ),
    (tidy_rules.children, "tests/x.py", "f([sys.executable, '-m', 'x'])"),
    (plain_words, "adapter/core/x.py", 'def f():\n    """None if the queue is empty."""'),
    (plain_words, "adapter/core/x.py", "raise E('there is none to connect to')"),
    (plain_words, "adapter/core/x.py", "raise E('x is not one of a, b')"),
    (plain_words, "tests/x.py", "raise E('a name is not one')"),
    (imperative_names, "adapter/core/rules/x.py", "def _placed(one: D) -> Placed: ..."),
    (imperative_names, "adapter/core/rules/x.py", "def _lifted(s: S) -> bool: ..."),
    (imperative_names, "adapter/core/model/x.py", "def made() -> None: ..."),
    (imperative_names, "adapter/x.py", "class C:\n    @property\n    def made(self) -> int: ..."),
    (tidy_rules.unwatched, "adapter/cli/x.py", "threading.Thread(target=f)"),
    (tidy_rules.unwatched, "adapter/runtime/owner/x.py", "watched.thread('x', f, g)"),
    (tidy_rules.texts_of_processes, "adapter/host/x.py", "Path('/etc/x').read_text()"),
    (tidy_rules.sizes, "adapter/x.py", "def f() -> None:\n" + "    x = 1\n" * 59),
    (tidy_rules.mutable_globals, "adapter/x.py", "TABLE = {1: 2}\n__all__ = ['x']"),
    (tidy_rules.hidden_tests, "tests/x_contract.py", "class C:\n    def test_a(self): pass"),
]


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_a_good_file_is_let_be(rule: Callable[[Source], list[str]], path: str, text: str) -> None:
    assert rule(Source(path, text)) == []


POLLED = "from confluent_kafka import Consumer, Message\n"
TRUTHS = (
    "while record := consumer.poll(1):\n    pass",
    "record = consumer.poll(1)\nif record:\n    pass",
    "record = consumer.poll(1)\nvalue = record and record.value()",
    "record = consumer.poll(1)\nassert record",
    "def f(record: Message | None) -> bool:\n    return not record",
    "def f(record: Message) -> bool:\n    return bool(record)",
    "def read() -> Message | None: ...\nx = 1 if read() else 2",
    "def read() -> list[Message]: ...\nx = [one for one in read() if one]",
    "for one in consumer.consume(10):\n    while one:\n        pass",
    "def read() -> Iterator[Message]: ...\nif next(read(), None):\n    pass",
    "some = consumer.consume(10)\nif some[0]:\n    pass",
    "x = list(filter(None, consumer.consume(10)))",
)
NO_TRUTHS = (
    "while (record := consumer.poll(1)) is not None:\n    pass",
    "some = consumer.consume(5, 0) or consumer.consume(1, 1)",
    "if some := consumer.consume(5):\n    pass",
    "def f(record: Message) -> bytes:\n    return record.value() or b''",
    "def f(record: bytes) -> bool:\n    return bool(record)",
)


@pytest.mark.parametrize("text", TRUTHS)
def test_the_truth_of_a_record_is_found(text: str) -> None:
    (found,) = truth_of_records(Source("adapter/storage/topics/reader.py", POLLED + text))
    assert "ask whether it is None" in found


@pytest.mark.parametrize("text", NO_TRUTHS)
def test_other_truths_of_files_with_records_are_let_be(text: str) -> None:
    assert truth_of_records(Source("adapter/storage/topics/reader.py", POLLED + text)) == []


def test_a_circle_is_found_though_only_the_type_checker_sees_it() -> None:
    seen = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from adapter.b import x"
    one, other = Source("adapter/a.py", seen), Source("adapter/b.py", "import adapter.a")
    user = Source("adapter/c.py", "import adapter.a")
    assert circles([one, user]) == []
    assert [found.partition(":")[0] for found in circles([one, other, user])] == [
        "adapter/a.py",
        "adapter/b.py",
    ]


def test_modules_that_connect_are_found(sources: list[Source]) -> None:
    new = Source("adapter/core/new.py", "import socket\nsocket.create_connection(('h', 1))")
    (found,) = dialling([*sources, *tidy_rules.parse([new])])
    assert found.startswith("adapter/core/new.py:2: adapter.core.new connects: list it")
    idle = dialling([one for one in sources if one.module != "adapter.cli.ending"])
    assert idle == [
        "adapter.cli.ending is in a table of tests/tidy_dialling.py, and connects nowhere"
    ]


def test_dead_modules_are_found() -> None:
    user = Source("adapter/cli/main.py", "from adapter.core.queue import Queue\nrun('adapter.run')")
    alive = [Source("adapter/core/queue.py", ""), Source("adapter/run.py", "")]
    dead = Source("adapter/core/old.py", "import adapter.core.old")
    test = Source("tests/unit/core/test_old.py", "import adapter.core.old")
    assert tidy_rules.dead_modules([user, *alive, test]) == []
    found = tidy_rules.dead_modules([user, *alive, dead, test])
    assert found == ["adapter/core/old.py: nothing uses it; remove it, or add it to ENTRY_POINTS"]


def test_unused_contracts_are_found() -> None:
    contract = Source("tests/contract/ledger_contract.py", "")
    user = Source("tests/contract/test_a.py", "from tests.contract.ledger_contract import C")
    assert tidy_rules.unused_contracts([contract, user]) == []
    assert len(tidy_rules.unused_contracts([contract])) == 1


def test_tests_that_mirror_nothing_are_found() -> None:
    room = [Source("adapter/core/__init__.py", ""), Source("adapter/core/queue.py", "")]
    good = [Source(f"tests/unit/core/test_{name}.py", "") for name in ("queue", "queue_order")]
    assert tidy_rules.mirrors([*room, *good]) == []
    lost = Source("tests/unit/core/test_other.py", "")
    assert "begins with no module" in tidy_rules.mirrors([*room, lost])[0]
    nowhere = Source("tests/unit/gone/test_queue.py", "")
    assert "there is no adapter.gone" in tidy_rules.mirrors([*room, nowhere])[0]
    beside = [Source("mqk_demo/__init__.py", ""), Source("mqk_demo/run.py", "")]
    mirror = Source("tests/unit/mqk_demo/test_run_chart.py", "")
    assert tidy_rules.mirrors([*beside, mirror]) == []
    assert "there is no mqk_demo that" in tidy_rules.mirrors([*room, mirror])[0]


def test_each_module_has_tests_of_its_name_or_is_listed(sources: list[Source]) -> None:
    none(untested(sources, read(TOP / "tests" / "untested_modules.txt")))


DECIDES = "def rule(a: int) -> int:\n    return 1 if a else 2\n"
MIRRORED = (
    Source("adapter/core/__init__.py", ""),
    Source("adapter/core/queue.py", DECIDES),
    Source("tests/unit/core/test_queue_order.py", "from adapter.core.lane import rule"),
    Source("adapter/core/lane.py", DECIDES),
)
LISTED = "# All of them.\n\n## Data of queues. tests: tests/unit/core/\nadapter/core/lane.py\n"


@pytest.mark.parametrize(
    ("problem", "more", "listed", "most"),
    [
        ("adapter/core/lane.py: it has no file of tests", [], "", 0),
        (
            "adapter/new.py: it has no file of tests",
            [Source("adapter/new.py", DECIDES), Source("tests/unit/core/test_new.py", "")],
            LISTED,
            1,
        ),
        ("adapter/core/old.py: it is listed, and not there", [], LISTED + "adapter/core/old.py", 2),
        ("adapter/core/lane.py: it is listed twice", [], LISTED + "adapter/core/lane.py", 2),
        (
            "adapter/core/queue.py: it is listed, and has tests",
            [],
            LISTED + "adapter/core/queue.py",
            2,
        ),
        (
            "adapter/core/data.py: it is listed, and has tests of its name, or decides nothing",
            [Source("adapter/core/data.py", "import a\nif TYPE_CHECKING:\n    import b\n")],
            LISTED + "adapter/core/data.py",
            2,
        ),
        (
            "adapter/core/far.py: no test of 'Data of queues.' leads to it",
            [Source("adapter/core/far.py", DECIDES)],
            LISTED + "adapter/core/far.py",
            2,
        ),
        (
            "tests/unit/gone/: 'Data of queues.' names it, and there are no such tests",
            [],
            LISTED.replace("core/\n", "core/ tests/unit/gone/\n"),
            1,
        ),
        ("say why", [], LISTED.replace("Data of queues. tests: tests/unit/core/", "Data."), 1),
        ("1 modules are listed, of 2: the list only shrinks", [], LISTED, 2),
        ("1 modules are listed, of 0: the list only shrinks", [], LISTED, 0),
    ],
)
def test_modules_without_tests_are_found(
    problem: str, more: list[Source], listed: str, most: int
) -> None:
    assert untested(MIRRORED, LISTED, 1) == []
    found = untested([*MIRRORED, *more], listed, most)
    assert any(problem in one for one in found), found


def test_large_classes_are_found() -> None:
    long = "class Long:\n" + "    x = 1\n" * 280
    fields = "\n".join(f"        self.a{number} = 1" for number in range(21))
    wide = f"class Wide:\n    def __init__(self) -> None:\n{fields}\n"
    sources = [Source("adapter/core/x.py", long + wide), Source("tests/x.py", long)]
    assert [one.partition(" has ")[0] for one in class_sizes(sources)] == [
        "adapter/core/x.py:1: Long",
        "adapter/core/x.py:282: Wide",
    ]
    data = "\n".join(f"    a{number}: int" for number in range(30))
    good = long.removesuffix("    x = 1\n") + f"class Fields(Struct):\n{data}\n"
    assert class_sizes([Source("adapter/core/x.py", good)]) == []


def test_names_of_two_classes_are_found() -> None:
    first = Source("adapter/core/x.py", "class A: ...\nclass _B: ...\n")
    second = Source("spark_jobs/x.py", "class A: ...\nclass _B: ...\n")
    assert type_names([first, Source("tests/x.py", "class A: ...")]) == []
    assert type_names([first, second]) == [
        "spark_jobs/x.py:1: there is a class A already: adapter/core/x.py:1"
    ]


@pytest.mark.parametrize("known", [class_sizes, type_names])
def test_exceptions_that_are_none_any_more_are_found(
    known: Callable[[list[Source]], list[str]],
) -> None:
    assert all("take it from" in one for one in known([Source("adapter/__init__.py", "")]))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("x = 1  # TO" + "DO later", "unfinished"),
        ("# FIX" + "ME", "unfinished"),
        ("cd /wor" + "k/main", "path of one machine"),
        ('open("/home/' + 'someone/x")', "path of one machine"),
        ("index: https://pypi" + ".org/simple", "registry"),
        ("https://repo1.maven" + ".org/maven2", "registry"),
    ],
)
def test_leftovers_are_found(line: str, what: str) -> None:
    found = tidy_rules.leftovers("README.md", f"fine\n{line}\n")
    assert len(found) == 1
    assert found[0].startswith("README.md:2: ")
    assert what in found[0]


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    text = (
        "# A `part`\n## A part\n[here](a.md#a-part-1) [part](#a-part) [web](https://example.org) "
        "[gone](gone.md) [no](#none)\n```\n[no link](at all)\n```\n"
    )
    page.write_text(text)
    assert tidy_pages.broken_links(page, text) == [
        f"{page}: the link to gone.md leads nowhere",
        f"{page}: there is no heading #none in a.md",
    ]


GOOD_LOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n- a\n\n## [1.0.0] - 2001-02-03\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD_LOG.replace("# Changelog", "# History", 1), "first line"),
        (GOOD_LOG.replace("## [Unreleased]\n", ""), "first section"),
        (GOOD_LOG.replace("Added", "News"), "none of"),
        (GOOD_LOG.replace("- a\n", ""), "lists nothing"),
        (GOOD_LOG.replace("2001-02-03", "soon"), "is not"),
        (GOOD_LOG + "## [1.1.0] - 2001-02-04\n", "new to old"),
    ],
)
def test_a_misshapen_changelog_is_found(text: str, words: str) -> None:
    assert tidy_pages.changelog(GOOD_LOG) == []
    assert any(words in one for one in tidy_pages.changelog(text))


def test_loose_constraints_are_found() -> None:
    good = f"# made\nrich-text==1.0 \\\n    --hash=sha256:{'0' * 64}\n    # via mqk\n"
    assert tidy_pages.constraints(good, ["Rich_Text>=0.9"]) == []
    assert "not pinned" in tidy_pages.constraints(good, ["click"])[0]
    assert "is not" in tidy_pages.constraints("rich==1.0\n", ["rich"])[0]
    assert "an address" in tidy_pages.constraints("--index-url https://x\n" + good, [])[0]

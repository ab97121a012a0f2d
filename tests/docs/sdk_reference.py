"""The page docs/reference/sdk.md, from the docstrings of what programs use.

A class shows its own members and those that it inherits from ours. This module knows how a page is
written from classes; which pages there are it must not know.
"""

import ast
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType

import adapter
from adapter import aio, kafka, mqi, msmq, testing
from adapter.aio.work import TaskWork
from adapter.client import admin, browse, message, producing, work
from adapter.client.verb import Verb
from adapter.core.contract import results
from adapter.errors import Error
from adapter.mqi.trigger_monitor import TriggerMonitor
from adapter.msmq.message import Property, ReadOnly
from adapter.msmq.read_response import ReadResponseServer
from adapter.msmq.triggers import Rule, Trigger, TriggerService

CLASSES: dict[str, type] = {
    **{
        f"adapter.{kind.__name__}": kind
        for kind in (
            adapter.Connection,
            adapter.Queue,
            adapter.Subscription,
            adapter.Unit,
            adapter.KafkaTopic,
            adapter.KafkaRecord,
            adapter.Message,
            adapter.PutResult,
            adapter.Reconnected,
            adapter.Retry,
            adapter.DeadLetter,
            adapter.CancelToken,
            adapter.Consumer,
            adapter.Schemas,
        )
    },
    "What Queue.units() yields": work.Work,
    "What Queue.browse() yields": browse.BrowsedMessage,
    "adapter.aio.Connection": aio.Connection,
    "adapter.aio.Queue": aio.Queue,
    "adapter.aio.Subscription": aio.Subscription,
    "adapter.aio.Unit": aio.Unit,
    "adapter.aio.KafkaTopic": aio.KafkaTopic,
    "adapter.aio.Consumer": aio.Consumer,
    "What adapter.aio.Queue.units() yields": TaskWork,
    "What adapter.aio.Queue.browse() yields": aio.BrowsedMessage,
    "What Consumer.read() returns": results.Batches,
    "What queues() and inquire() return": admin.Description,
    "What queue_status() and status() return": results.QueueStatus,
    "What connections() returns": results.ConnectionStatus,
    "What open_units() returns": results.UnitStatus,
    "What consumers() returns": results.ConsumerStatus,
    "What objects() returns": results.ObjectDescription,
    "What export_places() returns": results.ExportPlaces,
    "adapter.kafka.Table": kafka.Table,
    "adapter.testing.TestQueueManager": testing.TestQueueManager,
    "The clock of a TestQueueManager": testing.AdvancingClock,
    "adapter.testing.AioTestQueueManager": testing.AioTestQueueManager,
    "The clock of an AioTestQueueManager": testing.AioAdvancingClock,
    "adapter.mqi.trigger_monitor.TriggerMonitor": TriggerMonitor,
    **{
        f"adapter.msmq.{kind.__name__}": kind
        for kind in (
            msmq.Host,
            msmq.MessageQueue,
            msmq.Message,
            msmq.MessageQueueTransaction,
            msmq.MessageEnumerator,
            msmq.Trustee,
            msmq.MessageQueueAccessControlEntry,
        )
    },
    "adapter.msmq.triggers.TriggerService": TriggerService,
    "adapter.msmq.triggers.Trigger": Trigger,
    "adapter.msmq.triggers.Rule": Rule,
    "adapter.msmq.read_response.ReadResponseServer": ReadResponseServer,
    "adapter.mqi.TriggerMessage": mqi.TriggerMessage,
}
"""By the heading that each has on the page."""
MODULES = ("adapter.testing", "adapter.kafka")
"""Whose functions are shown."""
OURS = "adapter."
INTERNAL = frozenset(
    {
        *("belongs_to", "check_open", "delay_s", "ending", "perform", "show", "submit"),
        *("check_read", "encode_body", "peek_ahead", "sent_as", "set_properties", "to_data"),
        *("unit_for", "applies_to"),
        *("commit_among", "has_come_back", "message_ids", "on_wire", "put_later", "settle"),
        *("await_outcome", "give_up", "let_go", "send_kept", "steps_aside", "without_asking"),
    }
)
"""Methods that other modules of the client call, and programs do not."""
DESCRIPTORS = (Property, ReadOnly)


def page(made: str) -> str:
    """The whole page; made: the comment that says how it is made."""
    parts = [made, "# The SDK\n", said(adapter), "## adapter.connect\n"]
    parts.append(call("connect", adapter.connect))
    parts += ["## adapter.aio.connect\n", call("connect", aio.connect)]
    for function in (adapter.run_worker, adapter.worker_connection, adapter.tls_context):
        name = function.__name__
        parts += [f"## adapter.{name}\n", call(name, function)]
    parts.append(f"**`adapter.NO_UNIT`** {said_of_constant()}")
    parts += ["## Arguments of puts\n", *put_fields()]
    parts += ["## Arguments of produce\n", *record_fields()]
    for title, kind in CLASSES.items():
        parts += of_class(title, kind)
    for name in MODULES:
        module = importlib.import_module(name)
        parts += [f"## {name}\n", said(module)]
        parts += [call(one, function) for one, function in functions(module)]
    return "\n".join([*parts, "## adapter.errors\n", *errors()])


def said_of_constant() -> str:
    """What is said of NO_UNIT."""
    return "Given as unit=, it keeps an operation out of the unit that it would join.\n"


def put_fields() -> Iterator[str]:
    """The fields of a message that every put takes by name."""
    yield (
        "`put`, `publish`, `put_value`, `request` and `reply` take the fields of a message by name "
        "(`**fields`); one that is not given keeps the value of the Message that is put:\n"
    )
    for name, kind in message.PutFields.__annotations__.items():
        yield f"- `{name}: {annotation(kind)}`"
    yield ""


def record_fields() -> Iterator[str]:
    """What every produce takes beside the value and its key."""
    yield "`produce` takes by name (`**fields`), as `Connection.produce` says:\n"
    for name, kind in producing.RecordFields.__annotations__.items():
        text = annotation(kind).replace("Headers", annotation(producing.Headers))
        yield f"- `{name}: {text}`"
    yield ""


def functions(module: ModuleType) -> list[tuple[str, object]]:
    """The public functions of a module, by name."""
    return [
        (name, function)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]


def of_class(title: str, kind: type) -> list[str]:
    """A class and its public members, its own first, in the order of its text."""
    parts = [f"## {title}\n", said(kind)]
    held = list(attributes(kind))
    held += [f"- `{name}`" for name, member in members(kind) if isinstance(member, DESCRIPTORS)]
    if held:
        parts.append("\n".join(held) + "\n")
    shown = [(heading, base) for heading, base in CLASSES.items() if base in kind.__mro__[1:]]
    parts += [f"It has everything that {heading} has, and:\n" for heading, _ in shown]
    inherited = {name for _, base in shown for name, _ in members(base)} - set(vars(kind))
    for name, member in members(kind):
        if name in inherited:
            continue
        if isinstance(member, property):
            parts.append(f"**`{name}`** {said(member)}")
        elif inspect.isfunction(member):
            parts.append(call(name, member))
    fields = getattr(kind, "__struct_fields__", ())
    if fields:
        parts.append("Fields: " + ", ".join(f"`{field}`" for field in fields) + ".\n")
    return parts


def members(kind: type) -> Iterator[tuple[str, object]]:
    """Everything public that the class and its base classes of ours define."""
    seen: set[str] = set()
    for base in kind.__mro__:
        for name, member in vars(base).items() if base.__module__.startswith(OURS) else ():
            if not name.startswith("_") and name not in seen | INTERNAL:
                seen.add(name)
                yield name, as_function(kind, name, member)


def as_function(kind: type, name: str, member: object) -> object:
    """A class method as a function, and a verb as the class has it; anything else as it is."""
    if isinstance(member, Verb):
        return getattr(kind, name)
    return getattr(member, "__func__", member)


def attributes(kind: type) -> Iterator[str]:
    """What __init__ gives every object under a public name, with the text behind it."""
    for base in kind.__mro__:
        if not base.__module__.startswith(OURS) or "__init__" not in vars(base):
            continue
        source = inspect.getsource(vars(base)["__init__"])
        (function,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(function, ast.FunctionDef)
        following = [*function.body[1:], ast.Pass()]
        for statement, after in zip(function.body, following, strict=True):
            target = next(
                iter(getattr(statement, "targets", [])), getattr(statement, "target", None)
            )
            name = ast.unparse(target) if isinstance(target, ast.Attribute) else ""
            if name.startswith("self.") and not name.startswith("self._") and name.count(".") == 1:
                text = ""
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    text = f": {after.value.value!s}"
                yield f"- `{name.removeprefix('self.')}`{text}"


def call(name: str, function: object) -> str:
    """A function's heading and text."""
    assert callable(function)
    wait = "await " if inspect.iscoroutinefunction(function) else ""
    return f"### `{wait}{name}{signature(function)}`\n\n{said(function)}"


def signature(function: object) -> str:
    """A signature as Python writes it, with annotations as they stand in the code."""
    assert callable(function)
    found = inspect.signature(function)
    shown = []
    for one in found.parameters.values():
        default = one.default
        if isinstance(default, enum.Enum):
            default = _Text(f"{type(default).__name__}.{default.name}")
        shown.append(one.replace(annotation=_Text(one.annotation), default=default))
    own = [one for one in shown if one.name not in ("self", "cls")]
    returned = found.return_annotation
    if returned is not inspect.Signature.empty:
        returned = _Text(returned)
    return str(inspect.Signature(own, return_annotation=returned))


class _Text:
    """An annotation, or a default, that is shown as it stands in the code."""

    def __init__(self, of: object) -> None:
        self._of = of

    def __repr__(self) -> str:
        return annotation(self._of)


def annotation(of: object) -> str:
    """An annotation's text, without the names of our modules."""
    forward = getattr(of, "__forward_arg__", None)
    text = of if isinstance(of, str) else forward or inspect.formatannotation(of)
    return re.sub(r"\b(?:adapter|typing|collections|datetime|pathlib)\.[\w.]*\b(?=\w)", "", text)


def errors() -> Iterator[str]:
    """The error tree: a row for each class."""
    kinds = sorted(tree(Error), key=lambda one: one.__name__)
    front = [kind.__name__ for kind in kinds if kind.__name__ in adapter.__all__]
    often = ", ".join(f"`adapter.{name}`" for name in front if name != "Error")
    yield f"Every error of every function is an `adapter.Error`. Also to be had as {often}.\n"
    yield "| error | reason | meaning |\n|---|---|---|"
    for kind in kinds:
        text = (inspect.getdoc(kind) or "").partition("\n")[0]
        yield f"| `{kind.__name__}` ({kind.__mro__[1].__name__}) | {kind.reason_name} | {text} |"
    yield "\nWhat to do about each: [errors](../errors.md).\n"


def tree(root: type[Error]) -> list[type[Error]]:
    """A class of adapter.errors and all below it there."""
    below = [one for kind in root.__subclasses__() for one in tree(kind)]
    return [one for one in [root, *below] if one.__module__.startswith("adapter.errors")]


def said(of: object) -> str:
    """A docstring, as Markdown: indented examples stay as they are."""
    text = re.sub(r"`{1,2}", "`", inspect.getdoc(of) or "")
    return f"{text}\n"

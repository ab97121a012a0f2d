"""What transcripts say of topics: publishers' handles, subscriptions, what is retained.

A subscription NAME is closed by `unsubscribe NAME`; its queue is the handle NAME.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapter.core.contract import commands as c
from adapter.core.contract.results import Subscribed
from tests.scenarios.beyond import warning
from tests.scenarios.language import Call

if TYPE_CHECKING:
    from tests.scenarios.people import Person
    from tests.scenarios.world import World

WORDS = {
    "durable": c.DURABLE,
    "managed": c.MANAGED,
    "request": c.ON_REQUEST,
    "new": c.NEW_ONLY,
    "resume": c.RESUME,
    "alter": c.ALTER,
}


def topic(_: World, person: Person, call: Call) -> c.Command:
    """Open a topic, by the handle of its name."""
    name = call.options.pop("as", call.words[0])
    handle = person.handles.setdefault(name, len(person.handles) + 1)
    return c.OpenTopic(handle, call.words[0], call.options.pop("object", ""))


def subscribe(world: World, person: Person, call: Call) -> c.Command:
    """Subscribe: NAME TOPIC; by the way, open the queue by the handle NAME."""
    name, *rest = call.words
    options = sum(WORDS.get(word, 0) for word in rest)
    options |= 0 if options & (c.RESUME | c.ALTER) else c.CREATE
    options |= c.SET_CORRELATION * ("correl" in call.options)
    destination = call.options.pop("dest", "")
    options |= c.MANAGED * (not destination and bool(options & c.CREATE))
    strings = [word for word in rest if word not in WORDS]
    return c.Subscribe(
        person.handles.setdefault(f"sub {name}", len(person.handles) + 1),
        strings[0] if strings else "",
        call.options.pop("object", ""),
        name,
        options,
        destination,
        person.handles.setdefault(name, len(person.handles) + 1),
        call.options.pop("user", ""),
        world.ident(call.options.pop("correl", "")),
        int(call.options.pop("level", 1)),
        call.options.pop("where", ""),
        int(call.options.pop("p", c.AS_PUBLISHED)),
    )


def unsubscribe(_: World, person: Person, call: Call) -> c.Command:
    """Close a subscription."""
    return c.CloseSubscription(_of(person, call), "remove" in call.words[1:])


def request(_: World, person: Person, call: Call) -> c.Command:
    """Ask for what is retained."""
    return c.SubscriptionRequest(_of(person, call))


def clear(_: World, __: Person, call: Call) -> c.Command:
    """Discard what is retained."""
    return c.ClearRetained(call.words[0])


def _of(person: Person, call: Call) -> int:
    return person.handles.get(f"sub {call.words[0]}", 99)


def subscribed(result: Subscribed) -> str:
    """Say what a subscription is; the name of a managed queue is another one each time."""
    kinds = {c.DURABLE: "durable", c.ON_REQUEST: "on request", c.MANAGED: "managed"}
    said = [f"ok, {result.topic}", *(word for bit, word in kinds.items() if result.options & bit)]
    if not result.options & c.MANAGED:
        said.append(f"to {result.queue}")
    if result.user_data:
        said.append(f"user data {result.user_data}")
    if result.retained:
        said.append(f"{result.retained} retained")
    return ", ".join(said) + warning(result)


COMMANDS = {
    "topic": topic,
    "subscribe": subscribe,
    "unsubscribe": unsubscribe,
    "request": request,
    "clear": clear,
}

"""Users open, create, look and delete while an operator grants and revokes, and the queue manager
is killed meanwhile. Judged by authorities_model.py.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec import Struct

from adapter.core import inputs
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import bits_of
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Descriptions, Opened, PutDone, Refused, Result
from tests.simulation.authorities_model import WORDS, AuthoritiesModel, Key
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots

NAMES = ("A", "A.B", "A.BC", "A.B.C", "AB", "B.C")
PROFILES = (*NAMES, "A.*", "A.?", "A.B*", "A.**", "**", "*", "?", "**.C", "A?", "A.B?", "*.C")
USERS = {"ann": ("staff",), "bob": ("staff", "chiefs"), "eve": ()}
ENTITIES = [(user, False) for user in USERS] + [
    *((group, True) for group in ("staff", "chiefs", "everyone"))
]
MODES = {c.INPUT: "get", c.OUTPUT: "put", c.BROWSE: "browse", c.INQUIRE: "inq"}
SOME = st.sets(st.sampled_from(WORDS), max_size=4)
MANY = st.one_of(st.just(set(WORDS)), st.sets(st.sampled_from(WORDS), min_size=2), SOME)
FEW = st.one_of(st.just(set[str]()), st.just(set[str]()), SOME, st.just(set(WORDS)))
NAME, USER = st.sampled_from(NAMES), st.sampled_from(sorted(USERS))
MODEL = {"PERMDYN": "PERMANENT", "TEMPDYN": "TEMPORARY"}


class OpenQueue(Struct):
    """What a client of a user has open for output."""

    user: str
    client: Client
    name: str
    handle: int


class AuthoritiesMachine(JudgedMachine):
    """One queue manager that checks authorities."""

    events = (
        *("denied", "granted", "created", "dynamic", "deleted by who created it"),
        *("revoked while open", "listed a part", "connect denied", "crash"),
        *("crash with a snapshot", "everyone", "group", "none hides a generic one", "void record"),
    )
    model: AuthoritiesModel

    def __init__(self) -> None:
        super().__init__()
        self.model = AuthoritiesModel()
        self.core = Core()
        self.made = 0
        self.opened: list[OpenQueue] = []
        self.clients: dict[str, Client] = {}

    @initialize(profile=st.sampled_from(("**", "*", "A.**", "B.C")), words=MANY)
    def begin(self, profile: str, words: set[str]) -> None:
        self._configure()
        self._set(profile, ("staff", True), words, set())
        operator = self._operator()
        for name in NAMES[::2]:
            operator.define(name)
        for kind, name in MODEL.items():
            operator.do(c.DefineObject("model", name, {"definition_type": kind}))

    def _configure(self) -> None:
        self.core.take(self.core.give(inputs.Configured({}, checks_authorities=True)))

    def _connect(self, principal: Principal) -> Client:
        client = self.core.connect()
        party = Party("simulation", principal)
        self.core.take(self.core.give(inputs.Introduced(client.number, party)))
        return client

    def _operator(self) -> Client:
        return self._connect(Principal("root", Proof.OPERATOR))

    def _user(self, user: str) -> Client:
        """Return a connection of a user, who may connect whatever the records say."""
        if user not in self.clients:
            client = self.core.connect()
            known = self.core.qm.connections[client.number]
            known.party = Party("simulation", Principal(user, Proof.PASSWORD, USERS[user]))
            self.clients[user] = client
        return self.clients[user]

    # What an operator does.

    @rule(profile=st.sampled_from(PROFILES), of=st.sampled_from(ENTITIES), add=MANY, remove=FEW)
    def set_authority(
        self, profile: str, of: tuple[str, bool], add: set[str], remove: set[str]
    ) -> None:
        self._set(profile, of, add, remove)

    def _set(self, profile: str, of: tuple[str, bool], add: set[str], remove: set[str]) -> None:
        entity, is_group = of
        names = ([], [entity]) if is_group else ([entity], [])
        bits = (bits_of("queue", sorted(add)), bits_of("queue", sorted(remove)))
        answer = self._operator().do(ac.SetAuthority(profile, "queue", *names, *bits))
        assert not isinstance(answer, Refused), answer
        self.model.grant(("queue", profile, *of), add, remove)
        self.meet("everyone", when=entity == "everyone")
        self.meet("group", when=is_group)

    @precondition(lambda self: self.model.records)
    @rule(data=st.data())
    def delete_authority(self, data: st.DataObject) -> None:
        key: Key = data.draw(st.sampled_from(sorted(self.model.records)))
        kind, profile, entity, is_group = key
        names = ([], [entity]) if is_group else ([entity], [])
        answer = self._operator().do(ac.DeleteAuthority(profile, kind, *names))
        assert not isinstance(answer, Refused), answer
        del self.model.records[key]

    @rule(user=USER, grants=st.booleans())
    def connect(self, user: str, grants: bool) -> None:
        bits = bits_of("qmgr", ["connect"])
        given = (bits, 0) if grants else (0, bits)
        self._operator().do(ac.SetAuthority("", "qmgr", [user], [], *given))
        self.model.grant(("qmgr", "SELF", user, False), set(), set())
        client = self._connect(Principal(user, Proof.PASSWORD, USERS[user]))
        assert (client.number in self.core.closed) is not grants
        self.meet("connect denied", when=not grants)
        claims = self._connect(Principal(user, Proof.NONE))
        assert claims.number in self.core.closed, "what is only said is no user"

    # What users do.

    def _judge(self, user: str, name: str, answer: Result, *needed: str) -> bool:
        """Compare an answer with what the records say; return whether it was not denied."""
        has = self.model.has(user, USERS[user], "queue", name)
        denied = isinstance(answer, Refused) and answer.reason == Reason.AUTHORITY_MISSING
        assert denied == bool(set(needed) - has), (user, name, needed, has, self.model.records)
        self.meet("denied" if denied else "granted")
        own = self.model.records.get(("queue", name, user, False))
        generic = self.model.records.get(("queue", "**", user, False))
        self.meet("none hides a generic one", when=denied and own == set() and generic)
        return not denied

    @rule(user=USER, name=NAME, modes=st.sets(st.sampled_from(sorted(MODES)), min_size=1))
    def open(self, user: str, name: str, modes: set[int]) -> None:
        client = self._user(user)
        self.made += 1
        answer = client.do(c.Open(self.made, name, sum(modes)))
        self._judge(user, name, answer, *(MODES[mode] for mode in modes))
        if name in self.core.qm.queues and c.OUTPUT in modes and not isinstance(answer, Refused):
            self.opened.append(OpenQueue(user, client, name, self.made))
        if not isinstance(answer, Refused) and c.OUTPUT not in modes:
            client.do(c.Close(self.made))

    @precondition(lambda self: self.opened)
    @rule(revokes=st.booleans(), data=st.data())
    def put(self, revokes: bool, data: st.DataObject) -> None:
        """A handle allows what it was opened for, whatever has been revoked since."""
        one = data.draw(st.sampled_from(self.opened))
        if revokes:
            self._set(one.name, (one.user, False), set(), set(WORDS))
        has = self.model.has(one.user, USERS[one.user], "queue", one.name)
        answer = one.client.do(c.Put(one.handle, [MessageData(body=b"x")]))
        assert isinstance(answer, PutDone), answer
        self.meet("revoked while open", when="put" not in has)

    @rule(user=USER, name=NAME)
    def hide(self, user: str, name: str) -> None:
        """A record without any authority takes back what a less specific one grants."""
        self._set("**", (user, False), set(WORDS), set())
        self._set(name, (user, False), set(), set(WORDS))
        self.purge(user, name)

    @rule(user=USER, name=NAME)
    def create(self, user: str, name: str) -> None:
        answer = self._user(user).do(c.DefineQueue(name))
        if self._judge(user, name, answer, "crt") and not isinstance(answer, Refused):
            self.model.grant(("queue", name, user, False), set(WORDS), set())
            self.meet("created")

    @rule(user=USER, name=NAME)
    def purge_queue(self, user: str, name: str) -> None:
        self.purge(user, name)

    def purge(self, user: str, name: str) -> None:
        self._judge(user, name, self._user(user).do(c.PurgeQueue(name)), "clr")

    @rule(user=USER, name=NAME)
    def delete(self, user: str, name: str) -> None:
        answer = self._user(user).do(c.DeleteQueue(name, purge=True))
        may = self._judge(user, name, answer, "dlt")
        if may and not isinstance(answer, Refused):
            self.meet("deleted by who created it")
            self.model.forget(name)

    @rule(user=USER)
    def look(self, user: str) -> None:
        answer = self._user(user).do(c.Inquire("*"))
        assert isinstance(answer, Descriptions)
        shown = {one.name for one in answer.queues}
        there = {name for name in self.core.qm.queues if not name.startswith("SYSTEM.")}
        groups = USERS[user]
        may = {
            name for name in there if self.model.has(user, groups, "queue", name) & {"dsp", "inq"}
        }
        assert shown == may, (user, shown, may)
        self.meet("listed a part", when=shown and shown < there)

    @rule(user=USER, kind=st.sampled_from(sorted(MODEL)))
    def make_dynamic_queue(self, user: str, kind: str) -> None:
        client = self._user(user)
        self.made += 1
        answer = client.do(c.Open(self.made, MODEL[kind], c.INPUT, "D.*"))
        if not self._judge(user, MODEL[kind], answer, "get"):
            return
        assert isinstance(answer, Opened), answer
        self.meet("dynamic")
        if kind == "TEMPDYN":
            self.model.soft.add(answer.queue)
        self.model.grant(("queue", answer.queue, user, False), set(WORDS), set())
        again = client.do(c.Open(self.made + 1_000_000, answer.queue, c.BROWSE | c.OUTPUT))
        assert not isinstance(again, Refused), "who made it may"
        client.do(c.Close(self.made + 1_000_000))
        client.do(c.Close(self.made, c.DELETE))
        self.model.forget(answer.queue)
        self.model.soft.discard(answer.queue)

    # What happens to the queue manager.

    @rule(with_snapshot=st.booleans())
    def crash(self, with_snapshot: bool) -> None:
        self._check_records()
        check_snapshots(self.core.qm, self.core.replayed())
        if with_snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        self.meet("crash with a snapshot" if with_snapshot else "crash")
        self.opened.clear()
        self.clients.clear()
        self.model.crash()
        self._configure()
        self._check_records()
        self.meet("void record", when=any(not words for words in self.model.records.values()))

    def _check_records(self) -> None:
        known = {
            (one.object_type, one.profile, one.entity, one.is_group)
            for one in self.core.qm.authorities.every()
        }
        assert known == set(self.model.records)

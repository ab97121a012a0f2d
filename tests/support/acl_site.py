"""A broker with an authorizer, and the rights of each role on it: granted, withdrawn, awaited."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from msgspec import Struct

from adapter.host.settings.acls import formats, table
from tests.docs.acls import EXAMPLE
from tests.support.backlog import until

WITHIN_S = 20.0
USERS = {
    "queue-manager": "qm1",
    "network-peer": "qm2",
    "registry": "registry",
    "spark": "spark",
    "reader": "reader",
    "inbound-writer": "writer",
}
"""Who has which role."""
FOREIGN = ("orders", "results", "mq.QM2.in.QM1")
"""Topics that others make: of a feed, of an export, of a peer."""


class GrantedRight(Struct, frozen=True):
    """One operation of one role."""

    role: str
    resource: str
    name: str
    operation: str

    def __str__(self) -> str:
        return f"{self.role} {self.operation} {self.resource} {self.name}"


def rights() -> dict[GrantedRight, AclBinding]:
    """Return all rights of all roles, as `mqk acl list --format json` prints them."""
    found = {}
    for role, user in USERS.items():
        for entry in table.entries(role, EXAMPLE):
            lines = formats.json_lines([entry], f"User:{user}")
            for operation, line in zip(entry.operations, lines, strict=True):
                right = GrantedRight(role, entry.resource, entry.name, operation)
                found[right] = binding_of(line)
    return found


def binding_of(line: str) -> AclBinding:
    """Read a line of JSON as a right of Kafka's AdminClient."""
    one = json.loads(line)
    return AclBinding(
        ResourceType[one["resource_type"]],
        one["resource_name"],
        ResourcePatternType[one["pattern_type"]],
        one["principal"],
        one["host"],
        AclOperation[one["operation"]],
        AclPermissionType[one["permission_type"]],
    )


class AclSite:
    """The rights on one broker. servers: where its operator connects."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._bindings = rights()
        new = [NewTopic(name, 1, 1) for name in FOREIGN]
        for made in self._admin.create_topics(new).values():
            made.result(WITHIN_S)
        for done in self._admin.create_acls(list(self._bindings.values())).values():
            done.result(WITHIN_S)
        self._await(*self._bindings, there=True)

    @contextmanager
    def without(self, *withdrawn: GrantedRight) -> Iterator[None]:
        """Withdraw rights; grant them again at the end."""
        filters = [self._filter(one) for one in withdrawn]
        for done in self._admin.delete_acls(filters).values():
            assert len(done.result(WITHIN_S)) == 1
        self._await(*withdrawn, there=False)
        try:
            yield
        finally:
            made = self._admin.create_acls([self._bindings[one] for one in withdrawn])
            for done in made.values():
                done.result(WITHIN_S)
            self._await(*withdrawn, there=True)

    def _await(self, *wanted: GrantedRight, there: bool) -> None:
        """Wait until the broker goes by it: the controller has answered before."""
        for one in wanted:
            until(lambda one=one: self._is_there(one) is there)  # type: ignore[misc]

    def _is_there(self, right: GrantedRight) -> bool:
        return bool(self._admin.describe_acls(self._filter(right)).result(WITHIN_S))

    def _filter(self, right: GrantedRight) -> AclBindingFilter:
        one = self._bindings[right]
        return AclBindingFilter(
            one.restype, one.name, one.resource_pattern_type, one.principal, one.host,
            one.operation, one.permission_type,
        )  # fmt: skip

"""Channel authentication records: who may connect by which channel, and as whom.

Which record counts, the queue manager knows.
"""

from __future__ import annotations

from collections.abc import Iterable

from adapter.client.verb import Verb
from adapter.connection.channel import arguments as a
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.steps import Steps, ask
from adapter.core.contract.channel_rules import InquireChannelRules, SetChannelRule
from adapter.core.contract.results import ChannelRulesFound, Done


class ChannelRuleAdministration:
    """What a connection offers to administrators of channels."""

    _channel: ChannelBooks

    @Verb
    def set_channel_rule(
        self,
        profile: str,
        kind: str = "",
        action: str = "ADD",
        *,
        address: str = "",
        client_user: str = "",
        peer: str = "",
        issuer: str = "",
        queue_manager: str = "",
        source: str = "MAP",
        mca_user: str = "",
        users: Iterable[str] = (),
        addresses: Iterable[str] = (),
        warn: bool = False,
        description: str = "",
        check_client: str = "ASQMGR",
    ) -> Steps[int]:
        """Set, change or delete a channel authentication record (SET CHLAUTH); how many are gone.

        profile: the name of a channel, in which * is any characters. kind: "BLOCKUSER" (users),
        "BLOCKADDR" (addresses), "SSLPEERMAP" (peer, issuer), "ADDRESSMAP" (address), "USERMAP"
        (client_user), "QMGRMAP" (queue_manager). action: "ADD", "REPLACE", "REMOVE", "REMOVEALL".
        source: "MAP" to mca_user, "NOACCESS" or "CHANNEL". warn: only note who would be refused.
        check_client: "REQUIRED" of all clients, "REQDADM" of those that may change the queue
        manager, to have given a password or a token; "ASQMGR": as CONNAUTH says. Raises
        InvalidAttribute, InvalidOption, ObjectExists, ObjectNotFound.
        """
        command = SetChannelRule(
            *(a.as_text("profile", profile), a.as_text("kind", kind), a.as_text("action", action)),
            *(a.as_text("address", address), a.as_text("client_user", client_user)),
            *(a.as_text("peer", peer), a.as_text("issuer", issuer)),
            *(a.as_text("queue_manager", queue_manager), a.as_text("source", source)),
            a.as_text("mca_user", mca_user),
            a.as_names(users, "user"),
            a.as_names(addresses, "address"),
            a.as_flag("warn", warn),
            a.as_text("description", description),
            a.as_text("check_client", check_client),
        )
        return (yield from ask(self._channel, command, Done)).count

    @Verb
    def channel_rules(
        self,
        profile: str = "",
        kind: str = "",
        *,
        check: bool = False,
        address: str = "",
        client_user: str = "",
        peer: str = "",
        issuer: str = "",
        queue_manager: str = "",
    ) -> Steps[ChannelRulesFound]:
        """Return the channel authentication records that fit, and whether they count.

        check: profile is the name of a channel, and the records are those that would count for a
        client of this address, user and certificate, or for a queue manager (MATCH(RUNCHECK)).
        """
        command = InquireChannelRules(
            *(a.as_text("profile", profile), a.as_text("kind", kind), a.as_flag("check", check)),
            *(a.as_text("address", address), a.as_text("client_user", client_user)),
            *(a.as_text("peer", peer), a.as_text("issuer", issuer)),
            a.as_text("queue_manager", queue_manager),
        )
        return (yield from ask(self._channel, command, ChannelRulesFound))

"""How a connection goes on by another token. This module does not know what a token says."""

from __future__ import annotations

from adapter.client.verb import Verb
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.steps import Aside, Steps, ask
from adapter.connection.channel.token_source import Token, TokenSource
from adapter.connection.wire.frames import RenewToken
from adapter.core.contract.results import Done
from adapter.errors import InvalidOption


class TokenRenewal:
    """The part of a connection that shows a new token."""

    _channel: ChannelBooks

    @Verb
    def renew_token(self, token: Token | None = None) -> Steps[None]:
        """Show a new token of the same user, so that the connection outlives the one before.

        A connection whose token is a file or a function does so by itself, in time.
        Nothing that is open or in flight is touched; the groups of the new token count from the
        next open or command on. token: as of connect(), used for further connections too; None:
        from where the connection has its token. Raises NotAuthorized: the token before stays in
        force.
        """
        introduction = self._channel.introduction
        source = introduction.token_source if token is None else TokenSource(token)
        if source is None:
            raise InvalidOption("token: the connection was made without one: give it here")
        if source.is_renewable:
            asked = Aside.of(source.current)  # a function of the program may take its time
            yield asked
            shown = asked.result
        else:
            shown = source.current()
        yield from ask(self._channel, RenewToken(shown), Done)
        introduction.token_source, introduction.token = source, shown
        self._channel.renew_by_itself()

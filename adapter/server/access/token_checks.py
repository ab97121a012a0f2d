"""Checks tokens for the event loop: in a thread, by keys that are read again when they change.

Keys of a file are looked at before each check. Those of a URL are asked for before the first one,
then when they are KEYS_FRESH_S old, and when a token is signed by a key that is not among them;
but never more often than every FETCH_PAUSE_S, so that tokens with invented keys cost the issuer
nothing.
While it does not answer, the keys that were read last count, for KEYS_KEPT_S: a key that the
issuer has withdrawn is not trusted for longer. This module does not know what a token must say.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import structlog

from adapter.core.contract.parties import Principal
from adapter.errors import StartError
from adapter.host import certificates, texts, watched
from adapter.server.access import token_keys, tokens
from adapter.server.access.token_keys import KeyUnusable, TokenKey
from adapter.server.access.token_settings import TokenSettings
from adapter.server.access.tokens import KeyUnknown, TokenRefused

WAITING_MAX: Final = 1_000
"""Checks that wait for the thread: each takes some 100 us."""
FETCH_S: Final = 5.0
"""How long an issuer may take to answer; clients wait for that."""
FETCH_PAUSE_S: Final = 10.0
KEYS_FRESH_S: Final = 300.0
KEYS_KEPT_S: Final = 3600.0

Checked = Callable[[Principal | str], None]
"""Called with whom a token names, or with why it is refused."""

NOT_NOW = "tokens cannot be checked now: the queue manager's log has the reason"
"""No client is told which file or URL has the keys, or what is wrong with them."""

log = structlog.get_logger("mqk.listener")


class KeyFile:
    """Keys in a file, which is read again when it has changed. Blocking, for one thread."""

    def __init__(self, path: Path) -> None:
        """Raises StartError."""
        self._path = path
        self._changes = texts.Changes(path)
        self._keys: Sequence[TokenKey] = ()
        try:
            self.keys()
        except TokenRefused as refused:
            raise StartError(f"jwt_keys: {refused}") from refused

    def keys(self) -> Sequence[TokenKey]:
        """Return the keys. Raises TokenRefused: then no token can be checked."""
        try:
            with self._changes.reading() as has_changed:
                if has_changed:
                    content = texts.read_bytes(self._path, token_keys.KEYS_BYTES_MAX)
                    self._keys = token_keys.parse(content)
        except (texts.UnreadableTextError, KeyUnusable) as error:
            text = f"{self._path} holds no keys for tokens: {error}"
            raise TokenRefused(text, NOT_NOW) from error
        return self._keys


class KeyUrl:
    """Keys that an issuer publishes, a JSON Web Key Set. On the event loop."""

    def __init__(self, url: str, ca: str = "") -> None:
        """ca: file of the authorities of the URL, "" for the system's. Raises StartError."""
        self.url = url
        self.keys: Sequence[TokenKey] = ()
        self._read_s = -KEYS_KEPT_S
        self._asked_s = -FETCH_PAUSE_S
        self._asking: asyncio.Task[None] | None = None
        try:
            self._tls = ssl.create_default_context(cafile=ca or None)
        except (OSError, ValueError) as error:
            text = f"jwt_ca: {ca} cannot be used ({certificates.said_of(error)})"
            raise StartError(text) from error

    def refresh(self, now_s: float, *, wanted: bool = False) -> asyncio.Task[None] | None:
        """Ask for the keys if they are old, or if wanted; not too often. Returns what asks for
        them, also since earlier; None: nothing does. now_s: monotonic.
        """
        if self._asking is None or self._asking.done():
            self._asking = None
            is_old = now_s - self._read_s >= KEYS_FRESH_S
            if (wanted or is_old) and now_s - self._asked_s >= FETCH_PAUSE_S:
                self._asked_s = now_s
                self._asking = watched.task("asking for keys", self._ask(now_s), log.error)
        return self._asking

    def is_usable(self, now_s: float) -> bool:
        """Whether there are keys that are not too old."""
        return now_s - self._read_s < KEYS_KEPT_S

    def usable(self, now_s: float) -> Sequence[TokenKey]:
        """Return the keys. Raises TokenRefused if they are too old, or were never read."""
        if not self.is_usable(now_s):
            raise TokenRefused(f"the keys for tokens cannot be read at {self.url}", NOT_NOW)
        return self.keys

    def close(self) -> None:
        """Ask no more."""
        if self._asking is not None:
            self._asking.cancel()

    async def _ask(self, now_s: float) -> None:
        """Ask once; what goes wrong is written to the log, and the keys before stay."""
        import aiohttp  # noqa: PLC0415 -- half a second, which others do not spend

        timeout = aiohttp.ClientTimeout(total=FETCH_S)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(self.url, ssl=self._tls, allow_redirects=False) as answer,
            ):
                content = await answer.content.read(token_keys.KEYS_BYTES_MAX + 1)
                while not answer.content.at_eof() and len(content) <= token_keys.KEYS_BYTES_MAX:
                    content += await answer.content.readany()
                if answer.status != 200:
                    raise KeyUnusable(f"the answer is {answer.status}")
                if len(content) > token_keys.KEYS_BYTES_MAX:
                    raise KeyUnusable(f"the answer has over {token_keys.KEYS_BYTES_MAX} bytes")
                self.keys = token_keys.parse(content)
                self._read_s = now_s
                log.info("keys for tokens read", url=self.url, keys=len(self.keys))
        except (aiohttp.ClientError, TimeoutError, OSError, KeyUnusable) as error:
            reason = str(error) or type(error).__name__
            log.warning("keys for tokens cannot be read", url=self.url, reason=reason)


class TokenChecks:
    """Checks the tokens of one queue manager. On the event loop's thread."""

    def __init__(self, settings: TokenSettings, clock: Callable[[], float] = time.time) -> None:
        """clock: seconds since 1970. Raises StartError."""
        self._settings = settings
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "tokens")
        self._waiting = 0
        self._file: KeyFile | None = None
        self._url: KeyUrl | None = None
        if settings.is_url:
            self._url = KeyUrl(settings.keys, settings.ca)
        else:
            self._file = KeyFile(Path(settings.keys))

    def ask(self, token: str, checked: Checked) -> None:
        """Have checked called with whom a token names, or with why it is refused; later."""
        if self._waiting >= WAITING_MAX:
            checked(f"{WAITING_MAX} tokens are being checked: try again")
            return
        self._waiting += 1

        def done(task: asyncio.Future[Principal | str]) -> None:
            self._waiting -= 1
            if not task.cancelled():
                failure = task.exception()
                checked("the token cannot be checked" if failure is not None else task.result())

        checking = watched.task("checking a token", self._check(token), log.error)
        watched.when_done("checking a token", checking, done, checked)

    def close(self) -> None:
        """Check nothing more."""
        if self._url is not None:
            self._url.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _check(self, token: str) -> Principal | str:
        try:
            if self._url is None:
                return await self._in_thread(token)
            return await self._by_url(token, self._url)
        except TokenRefused as refused:
            if refused.told == NOT_NOW:
                log.error("no token can be checked", reason=str(refused))
            return refused.told

    async def _by_url(self, token: str, url: KeyUrl) -> Principal:
        now_s = asyncio.get_running_loop().time()
        asking = url.refresh(now_s)
        if asking is not None and not url.is_usable(now_s):
            await asyncio.shield(asking)  # it is asked for others, too
        before = url.keys
        try:
            return await self._in_thread(token, url.usable(now_s))
        except KeyUnknown:
            asking = url.refresh(now_s, wanted=True)
            if asking is not None:
                await asyncio.shield(asking)
            if url.keys is before:
                raise
            return await self._in_thread(token, url.usable(now_s))

    async def _in_thread(self, token: str, keys: Sequence[TokenKey] | None = None) -> Principal:
        """Check a token by these keys, or by those in the file."""

        def check() -> Principal:
            by = keys if self._file is None else self._file.keys()
            return tokens.check(token, by or (), self._settings, self._clock())

        return await asyncio.get_running_loop().run_in_executor(self._thread, check)

"""The start of a connection: find a queue manager that answers, and ask a few things of it.

What happens here happens in one thread, before the connection carries requests of others.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from adapter.channel.link.port import Dialer, HostNotReached, Link, LinkLost
from adapter.channel.requests import Pending, encode_into
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.errors import Error, QueueManagerNotAvailable
from adapter.errors.refusals import refusal
from adapter.wire.codec import decode_server_frame, encode
from adapter.wire.frames import (
    OLDEST_VERSION,
    PROTOCOL_VERSION,
    AnyReplies,
    Goodbye,
    Hello,
    ProtocolError,
    ServerFrame,
    Welcome,
    versions_text,
)

LOOK_UP_S = 0.25
BACK_OFF_FIRST_S = 0.02
BACK_OFF_MAX_S = 1.0


class Rejected(LinkLost):
    """The queue manager answered, but not with a welcome."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.text)
        self.error = error


class Handshake:
    """Opens links to one queue manager. Its name is fixed by the first welcome."""

    def __init__(
        self,
        dialers: Sequence[Dialer],
        queue_manager: str,
        application: str,
        user: str = "",
        password: str = "",
        channel: str = "",
    ) -> None:
        self.queue_manager = queue_manager
        self.application = application
        self.kafka = ""
        self.version = 0
        """The version that the link in use speaks."""
        self._dialers = list(dialers)
        self._user = user
        self._password = password
        self._channel = channel
        self._dialing: Dialer | None = None
        self._greeted: Link | None = None
        """What is being opened, and the link that waits for its welcome: interrupt() ends both."""
        self._is_interrupted = False

    def another(self) -> Handshake:
        """Return one for another connection to the same queue manager."""
        return self.elsewhere(self._dialers, self.queue_manager)

    def elsewhere(self, dialers: Sequence[Dialer], queue_manager: str) -> Handshake:
        """Return one for a connection to another queue manager, of the same program and user."""
        return Handshake(
            dialers, queue_manager, self.application, self._user, self._password, self._channel
        )

    def open_any(self, timeout_s: float) -> Link:
        """Return a welcomed link to the first place that gives one; LinkLost says why not."""
        problems: list[LinkLost] = []
        for dialer in list(self._dialers):
            try:
                link = self._open(dialer, timeout_s)
            except LinkLost as lost:
                problems.append(lost)
                continue
            self._dialers.remove(dialer)
            self._dialers.insert(0, dialer)  # next time it comes first
            return link
        for problem in problems:
            if isinstance(problem, Rejected):
                raise problem
        error = QueueManagerNotAvailable(
            f"no queue manager answers ({'; '.join(map(str, problems))}): "
            "is it running, and is the address right?",
            self.queue_manager,
        )
        error.is_host_available = not all(isinstance(one, HostNotReached) for one in problems)
        raise Rejected(error)

    def interrupt(self) -> None:
        """End what open_any() waits for, now and later; from another thread."""
        self._is_interrupted = True
        dialing, greeted = self._dialing, self._greeted
        if dialing is not None:
            dialing.interrupt()
        if greeted is not None:
            greeted.shutdown()

    def disown(self) -> None:
        """Forget what another thread of the parent was opening when this child was forked."""
        greeted, self._dialing, self._greeted = self._greeted, None, None
        if greeted is not None:
            greeted.disown()

    def _open(self, dialer: Dialer, timeout_s: float) -> Link:
        deadline_s = time.monotonic() + timeout_s
        try:
            self._dialing = dialer
            self._greeted = link = dialer.dial(timeout_s)
            self._dialing = None
            if self._is_interrupted:  # while there was nothing yet that could be shut down
                link.shutdown()
            self._welcomed(link, deadline_s)
        finally:
            self._dialing = self._greeted = None
        return link

    def _welcomed(self, link: Link, deadline_s: float) -> None:
        hello = Hello(
            version=PROTOCOL_VERSION,
            oldest=OLDEST_VERSION,
            queue_manager=self.queue_manager,
            application=self.application,
            user=self._user,
            password=self._password,
            channel=self._channel,
        )
        link.look_up_every(LOOK_UP_S)
        try:
            link.send(encode(hello))
            for frame in receive_until(link, deadline_s):
                if isinstance(frame, Welcome):
                    _check_version(frame)
                    self.queue_manager = frame.queue_manager
                    self.kafka = frame.kafka
                    self.version = frame.version
                    return
                raise LinkLost(f"{link.peer}: a welcome was expected")
        except BaseException:
            link.close()
            raise


def _check_version(welcome: Welcome) -> None:
    """Refuse a queue manager that goes on in a version that this release does not speak."""
    if not OLDEST_VERSION <= welcome.version <= PROTOCOL_VERSION:
        text = (
            f"it speaks version {welcome.version}, this client "
            f"{versions_text(OLDEST_VERSION, PROTOCOL_VERSION)}"
        )
        raise Rejected(refusal(Reason.PROTOCOL_VERSION_ERROR, welcome.queue_manager, text))


def receive_until(link: Link, deadline_s: float) -> list[ServerFrame]:
    """Return the next frames; LinkLost if none comes in time, or if one says goodbye."""
    while True:
        payloads = link.receive()
        if payloads:
            break
        if time.monotonic() > deadline_s:
            raise LinkLost(f"{link.peer}: the queue manager does not answer")
    try:
        frames = [decode_server_frame(payload) for payload in payloads]
    except ProtocolError as error:
        raise LinkLost(f"{link.peer}: no queue manager of this protocol: {error}") from error
    for frame in frames:
        if isinstance(frame, Goodbye):
            reason = frame.reason
            raise Rejected(refusal(reason.reason, reason.name, reason.detail))
    return frames


def exchange(link: Link, requests: Sequence[Pending], timeout_s: float) -> None:
    """Send requests on a connection that no other thread uses yet, and wait for every answer."""
    if not requests:
        return
    deadline_s = time.monotonic() + timeout_s
    waiting = {request.request: request for request in requests}
    frame = bytearray()
    encode_into(frame, [(r.request, r.number, r.command) for r in requests], [])
    link.send(frame)
    while waiting:
        for received in receive_until(link, deadline_s):
            if not isinstance(received, AnyReplies):
                raise LinkLost(f"{link.peer}: {type(received).__name__} was not expected")
            for answer in received.answers:
                request = waiting.pop(answer.request, None)
                if request is not None:
                    request.answer = answer.result


def refusal_among(requests: Sequence[Pending]) -> Refused | None:
    """Return the first refusal."""
    for request in requests:
        if isinstance(request.answer, Refused):
            return request.answer
    return None


def back_off_s(attempts: int) -> float:
    """Say how long to wait before another attempt: longer each time, and cut by chance.

    Chance keeps the clients of a queue manager that comes back from all coming at once.
    """
    if not attempts:
        return 0.0
    longest_s = min(BACK_OFF_FIRST_S * float(1 << min(attempts - 1, 20)), BACK_OFF_MAX_S)
    return longest_s * random.uniform(0.5, 1.0)

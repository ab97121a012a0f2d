"""When readers of a queue are started (docs/from-service-broker.md, "Activation"), by lists.

Each message is in a conversation of its own. Times are in seconds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

PAUSE_FIRST_S, PAUSE_MAX_S = 1.0, 60.0
BEHIND_S = 5.0
"""Messages that wait so long need one more reader."""


@dataclass
class Reader:
    """A reader that runs. receives: how often had been received when it was started."""

    receives: int
    holds: int = 0


@dataclass
class ActivationModel:
    """One queue with activation, its messages, and who receives them."""

    most: int
    now_s: float = 0.0
    is_on: bool = True
    is_active: bool = True
    available: int = 0
    held: int = 0
    """By other programs than readers."""
    waits: int = 0
    """Receives of other programs that wait."""
    receives: int = 0
    readers: list[Reader] = field(default_factory=list)
    pause_s: float = PAUSE_FIRST_S
    until_s: float = 0.0
    ends: list[tuple[int, bool]] = field(default_factory=list)
    """Of readers: how often had been received at the start, and whether it failed."""
    last_s: float = 0.0
    """When a reader was started, a receive found nothing, or what starts readers was altered."""
    met: Counter[str] = field(default_factory=Counter)

    @property
    def is_needed(self) -> bool:
        """Whether messages can be received, and no receive waits for them."""
        return self.is_on and self.available > 0 and not self.waits

    def judge_ends(self) -> None:
        """The service looks at how readers have ended: a failure begins a pause."""
        ends, self.ends = self.ends, []
        for receives, failed in ends:
            if failed or (self.is_needed and receives == self.receives):
                self.met["pause after a failure"] += 1
                self.until_s = self.now_s + self.pause_s
                self.pause_s = min(2 * self.pause_s, PAUSE_MAX_S)
            else:
                self.pause_s = PAUSE_FIRST_S

    def start(self) -> None:
        """A reader was started: that must have been right."""
        assert self.is_needed, "nobody needs it"
        assert self.is_active, "activation is off"
        assert len(self.readers) < self.most, f"{len(self.readers)} run, of {self.most}"
        assert self.now_s >= self.until_s, "during a pause"
        self.met["one more reader"] += bool(self.readers)
        self.readers.append(Reader(self.receives))
        self.last_s = self.now_s

    def owes(self) -> bool:
        """Whether a reader should have been started by now."""
        is_possible = self.is_needed and self.is_active and len(self.readers) < self.most
        is_blocked = any(one.receives == self.receives for one in self.readers)
        is_time = self.now_s > max(self.until_s, self.last_s + 2 * BEHIND_S)
        return is_possible and not is_blocked and is_time

    def arrive(self, count: int) -> None:
        """Messages come; receives that wait have the first ones."""
        taken = min(count, self.waits) if self.is_on else 0
        self.waits -= taken
        self.held += taken
        self.receives += taken
        self.available += count - taken

    def receive(self) -> bool:
        """A program receives a message, if one is available."""
        if not self.available:
            self.last_s = self.now_s
            return False
        self.available -= 1
        self.receives += 1
        return True

    def end(self, reader: Reader, *, failed: bool) -> None:
        """A reader ends; what it has received and not committed comes back."""
        self.readers.remove(reader)
        self.available += reader.holds
        self.ends.append((reader.receives, failed))

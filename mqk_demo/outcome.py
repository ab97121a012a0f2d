"""What came of a run of the demo: its figures, whether all is well, and the closing table.

Pure: it judges figures that others have counted.
"""

from __future__ import annotations

from msgspec import Struct


class Outcome(Struct, kw_only=True):
    """The figures of one run. put to backed_out come from the checker, left from the queue.

    back_by: how the queue manager was served again, restart or take-over.
    """

    flights: int
    never_departed: int
    put: int
    done: int
    backed_out: int
    left: int
    lost: int
    duplicated: int
    out_of_order: int
    other_faults: int
    commits_unanswered: int
    units_lost: int
    units_failed: int
    put_per_s: float
    handled_per_s: float
    back_by: str = "restart"
    restart_s: float
    elapsed_s: float
    examples: list[str]

    @property
    def problems(self) -> list[str]:
        """What is off, in words; empty if nothing is."""
        must_be = (
            ("put", self.put, self.flights),
            ("done", self.done, self.flights - self.never_departed),
            ("backed out", self.backed_out, self.never_departed),
            ("left", self.left, 0),
            ("lost", self.lost, 0),
            ("duplicated", self.duplicated, 0),
            ("out of order", self.out_of_order, 0),
            ("other faults", self.other_faults, 0),
        )
        found = [f"{name}: {is_:,}, not {due:,}" for name, is_, due in must_be if is_ != due]
        if self.commits_unanswered == 0:
            found.append("no commit was unanswered when the queue manager was killed")
        return found + self.examples

    @property
    def ok(self) -> bool:
        """Whether every flight went where it must, once and in order."""
        return not self.problems

    def rows(self) -> list[tuple[str, str, str]]:
        """The closing table: what, how many, and what that means."""
        return [
            ("put", f"{self.put:,}", "flights on FLIGHTS.IN, in units of 100"),
            ("done", f"{self.done:,}", "results on FLIGHTS.DONE, in the unit that got the flight"),
            ("backed out", f"{self.backed_out:,}", "never departed; on FLIGHTS.BACKOUT"),
            ("left", f"{self.left:,}", "on FLIGHTS.IN at the end"),
            ("lost", f"{self.lost:,}", "missing from a topic"),
            ("duplicated", f"{self.duplicated:,}", "more than once on the topics"),
            ("out of order", f"{self.out_of_order:,}", "behind a later flight of their lane"),
            ("other faults", f"{self.other_faults:,}", "altered, misplaced, misnumbered"),
            ("commits unanswered", f"{self.commits_unanswered:,}",
             "done, but not yet answered, when the queue manager was killed"),
            ("units lost", f"{self.units_lost:,}", "of workers, in flight at the kill: redone"),
            ("units backed out", f"{self.units_failed:,}", "for a flight that never departed"),
            ("put rate", f"{self.put_per_s:,.0f}/s", "durable, the kill included"),
            ("handling rate", f"{self.handled_per_s:,.0f}/s", "got and done, the kill included"),
            (self.back_by, f"{self.restart_s:.2f} s", "from kill -9 to the first answer"),
            ("in all", f"{self.elapsed_s:.0f} s", "with Kafka's start and the check"),
        ]  # fmt: skip

"""What ends a mover, and what only makes it begin again."""


class MoverError(Exception):
    """The mover cannot go on; the text says what happened, to what, and what to do."""


class Fenced(MoverError):  # noqa: N818 -- it says what the mover is
    """Another mover of the same queue manager has taken over."""


class Doubtful(Exception):  # noqa: N818 -- it says what the transaction is
    """A transaction may have been committed or not: read the progress to know.

    late: a request may still land after its answer was given up, so that the commit itself is in
    doubt; otherwise something failed, and trying again may help. denied: for want of a right, which
    the text names.
    """

    def __init__(self, text: str, *, late: bool = False, denied: bool = False) -> None:
        super().__init__(text)
        self.late = late
        self.denied = denied

"""An exception that has no text."""


class Unprintable(Exception):  # noqa: N818 -- it says what it is
    """An error that formats its text when it is asked for, and cannot."""

    def __str__(self) -> str:
        raise KeyError(self.args)

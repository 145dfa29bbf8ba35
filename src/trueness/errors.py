"""What the library raises and warns: every error is a ``ValueError`` that says what was wrong, where, and what to do."""

from typing import Self


class TruenessError(ValueError):
    """Base of every error the library raises on purpose; ``shell`` is the message in the words of the command line."""

    def __init__(self, message: str = "", *, shell: str | None = None) -> None:
        super().__init__(message)
        self.shell = shell

    def within(self, place: str) -> Self:
        """The same error, told of a part of the data."""
        return type(self)(f"{place}: {self}", shell=None if self.shell is None else f"{place}: {self.shell}")


class InputError(TruenessError):
    """Rows or options that cannot be used; the message names the argument, the count, the first row and the remedy."""


class NeedsRowsError(TruenessError):
    """A summary was given where only the rows themselves can answer."""


class SummaryError(TruenessError):
    """Summaries that do not fit together, or a file that is not an intact summary."""


class MissingPackageError(TruenessError, ImportError):
    """An optional package is absent; the message names the extra that installs it."""


class TruenessWarning(UserWarning):
    """Something a user should know that does not stop the computation."""

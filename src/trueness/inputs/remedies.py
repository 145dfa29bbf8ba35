"""A message in the words of Python and in those of the shell: a sentence is written once, its options twice."""

from collections.abc import Iterable
from dataclasses import dataclass

from trueness.errors import InputError

__all__ = ["Words", "as_option", "lines", "option"]


@dataclass(frozen=True, slots=True)
class Words:
    """One text twice, as a caller in Python reads it and as the shell's user does; texts around it are added to both."""

    python: str
    shell: str

    @classmethod
    def plain(cls, text: str) -> "Words":
        """A text that names no option."""
        return cls(text, text)

    def __add__(self, other: "Words | str") -> "Words":
        other = Words.plain(other) if isinstance(other, str) else other
        return Words(self.python + other.python, self.shell + other.shell)

    def __radd__(self, other: str) -> "Words":
        return Words.plain(other) + self

    def error(self) -> InputError:
        """The error that says so."""
        return InputError(self.python, shell=self.shell)


def lines(parts: Iterable[Words]) -> Words:
    """One message of several, a line each."""
    parts = list(parts)
    return Words("\n".join(part.python for part in parts), "\n".join(part.shell for part in parts))


def option(name: str, value: str = "") -> Words:
    """An option, perhaps with its value.

    Examples
    --------
    >>> option("pos_label", "'win'")
    Words(python="pos_label='win'", shell="--pos-label 'win'")
    """
    return Words(f"{name}={value}", f"--{name.replace('_', '-')} {value}".rstrip())


def as_option(name: str) -> Words:
    """That a value is passed by an option.

    Examples
    --------
    >>> "Pass it " + as_option("delimiter") + "."
    Words(python='Pass it as delimiter=.', shell='Pass it with --delimiter.')
    """
    return Words("as ", "with ") + option(name)

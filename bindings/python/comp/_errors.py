"""Errors of the library as exceptions. Each has the library's message: what went wrong, where, and what to do."""


class CompError(Exception):
    """Something that libcomp refused or could not do. `status` is the library's name for it, such as "bad data"."""

    status = "failed"


class ArgumentError(CompError, ValueError):
    """An option or a name that is impossible."""


class NoMemoryError(CompError, MemoryError):
    """An allocation failed."""


class FileError(CompError, OSError):
    """The operating system refused: no such file, no permission, disk full."""


class FormatError(CompError, ValueError):
    """A file is damaged, or is not what it should be."""


class DataError(CompError, ValueError):
    """The data cannot be used: a missing column, NaN, a single condition."""


class NumericError(CompError, ArithmeticError):
    """A computation gave NaN or infinity. `model` is what a training had until then, or None."""

    model = None


class UnavailableError(CompError, RuntimeError):
    """This build or this CPU cannot do it, or a module is missing."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the library has stopped in good order. `model` is what a training had until then, or None; `done`: the work had come to its end."""

    model = None
    done = False


class LibraryError(ImportError):
    """libcomp was not found, or is of another version."""


# By the number of the status (comp/status.h).
BY_STATUS = {
    1: ArgumentError,
    2: NoMemoryError,
    3: FileError,
    4: FormatError,
    5: DataError,
    6: NumericError,
    7: Interrupted,
    8: UnavailableError,
}
INTERRUPTED = 7

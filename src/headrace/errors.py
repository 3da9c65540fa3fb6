"""Every exception that Headrace raises.

    HeadraceError
    ├── PlanError (ValueError)            the program is not valid; raised while it is built
    │   ├── DuplicateUidError             two operators with one uid
    │   ├── UnpicklableFunctionError      a user function that cannot be sent to a worker
    │   ├── MalformedPatternError         a pattern of events that cannot be used
    │   ├── SqlValidationError            a statement that is not valid SQL, or not supported
    │   ├── WrongFunctionError            no function, or one of another kind (a TypeError too)
    │   ├── CatalogError                  a name of a table, view or function that cannot be used
    │   ├── MissingWatermarksError        event time without a watermark strategy
    │   └── NotKeyedError                 keyed state or timers on a stream that is not keyed
    ├── UnsupportedError (NotImplementedError)   a PyFlink name that is not supported
    │   └── UnsupportedModuleError    a module of PyFlink (an ImportError too)
    ├── SqlParserError (ValueError)       a text that is not SQL as Flink reads it
    ├── ConfigurationError (ValueError)   an unknown key, or a value that does not parse
    ├── UnstableKeyError (TypeError)      a key whose hash differs between interpreters
    ├── TypeMismatchError (TypeError)     a value that does not fit its declared type
    ├── UnpicklableStateError (TypeError) a value in state that cannot be pickled
    ├── StateTooLargeError (ValueError)   a value in state that is too large
    ├── DecodeError (ValueError)          raw input that cannot be decoded
    ├── MissingExtraError (ImportError)   an optional dependency is not installed
    ├── CheckpointError (RuntimeError)    a checkpoint that cannot be used
    │   └── CheckpointLockedError         another driver is running on it
    ├── SqlError (ValueError)             a value that an SQL function cannot compute
    └── JobError (RuntimeError)           a job failed, but not in the user's code
        ├── SparkEndedError               Spark's JVM has ended
        └── StorageError                  state cannot be stored, for example: disk full
            └── CheckpointUnavailableError   a checkpoint cannot be reached (a CheckpointError)

Each derives from ``HeadraceError`` and from the builtin a caller would expect to catch.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "CatalogError",
    "CheckpointError",
    "CheckpointLockedError",
    "CheckpointUnavailableError",
    "ConfigurationError",
    "DecodeError",
    "DuplicateUidError",
    "HeadraceError",
    "JobError",
    "MalformedPatternError",
    "MissingExtraError",
    "MissingWatermarksError",
    "NotKeyedError",
    "PlanError",
    "QueryBudgetError",
    "SparkEndedError",
    "SqlError",
    "SqlParserError",
    "SqlValidationError",
    "StateQueryError",
    "StateTooLargeError",
    "StorageError",
    "TypeMismatchError",
    "UnpicklableFunctionError",
    "UnpicklableStateError",
    "UnstableKeyError",
    "UnsupportedError",
    "UnsupportedModuleError",
    "WrongFunctionError",
]


class HeadraceError(Exception):
    """The base class of all exceptions that Headrace raises.

    The message says what is wrong; ``where`` (label to text) says where, ``hint`` says what to do.
    """

    def __init__(
        self, message: str, *, where: Mapping[str, str] | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = dict(where or {})
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.where, self.hint))

    def __str__(self) -> str:
        rows = [*self.where.items()]
        if self.hint:
            rows.append(("hint", self.hint))
        width = max((len(label) for label, _ in rows), default=0) + 1
        below = "\n" + " " * (width + 3)
        texts = [(label, text.replace("\n", below)) for label, text in rows]
        return "\n".join(
            [self.message, *(f"  {label + ':':<{width}} {text}" for label, text in texts)]
        )


def _rebuild(
    kind: type[HeadraceError], message: str, where: dict[str, str], hint: str | None
) -> HeadraceError:
    return kind(message, where=where, hint=hint)


class PlanError(HeadraceError, ValueError):
    """The program is not valid; raised while it is built."""


class DuplicateUidError(PlanError):
    """Two operators have the same uid, so their states cannot be distinguished."""


class UnpicklableFunctionError(PlanError):
    """A user function, or something that it captures, cannot be sent to a worker."""


class WrongFunctionError(PlanError, TypeError):
    """An argument is not a function, or a function of another kind."""


class MalformedPatternError(PlanError):
    """A pattern of events that cannot be used; raised while it is built."""


class SqlValidationError(PlanError):
    """A statement that is not valid, or that is not supported; raised when it is planned."""


class CatalogError(PlanError):
    """A table, view or function is missing, is there already, or contradicts itself."""


class MissingWatermarksError(PlanError):
    """An operator needs event time, and there is no watermark strategy upstream."""


class NotKeyedError(PlanError, TypeError):
    """Keyed state or timers are used on a stream that is not keyed."""


class UnsupportedError(HeadraceError, NotImplementedError):
    """A name of PyFlink's API that exists here but is not supported."""


class UnsupportedModuleError(UnsupportedError, ModuleNotFoundError):
    """A module of PyFlink that does not exist here."""

    def __init__(
        self,
        message: str,
        *,
        where: Mapping[str, str] | None = None,
        hint: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.name = name


class SqlParserError(HeadraceError, ValueError):
    """A text that is not SQL as Flink reads it; the message shows the place."""


class ConfigurationError(HeadraceError, ValueError):
    """An unknown configuration key, or a value that cannot be parsed."""


class UnstableKeyError(HeadraceError, TypeError):
    """A key whose hash differs between interpreters, so that its records would be scattered."""


class TypeMismatchError(HeadraceError, TypeError):
    """A value that does not fit the declared type."""


class UnpicklableStateError(HeadraceError, TypeError):
    """A value in state that cannot be pickled, so it cannot be stored."""


class StateTooLargeError(HeadraceError, ValueError):
    """A value in state that exceeds the maximum size of the state store's records."""

    size_bytes = 0
    """The record's size, set by the process that writes it."""


class DecodeError(HeadraceError, ValueError):
    """Raw input that cannot be decoded."""


class MissingExtraError(HeadraceError, ImportError):
    """An optional dependency of Headrace is used and not installed."""


class SqlError(HeadraceError, ValueError):
    """A value that a function of SQL cannot compute, such as a division by zero."""


class CheckpointError(HeadraceError, RuntimeError):
    """A checkpoint that this program cannot use."""


class StateQueryError(HeadraceError, RuntimeError):
    """A query of state that cannot be answered (now)."""


class QueryBudgetError(StateQueryError):
    """Queries of state have used up the processor time that they may take."""


class CheckpointLockedError(CheckpointError):
    """Another driver is running on this checkpoint."""


class JobError(HeadraceError, RuntimeError):
    """A job failed for a reason other than an exception of the user's code."""


class SparkEndedError(JobError):
    """Spark's JVM has ended, and with it all jobs of this program."""


class StorageError(JobError):
    """State cannot be stored: a disk is full, or a state store failed."""


class CheckpointUnavailableError(CheckpointError, StorageError):
    """The storage of a checkpoint cannot be reached, or is full; a restart may mend it."""

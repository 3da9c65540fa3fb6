"""``ResultKind``: what a ``TableResult`` has."""

from enum import Enum

__all__ = ["ResultKind"]


class ResultKind(Enum):
    """SUCCESS: only that a statement was carried out. SUCCESS_WITH_CONTENT: rows."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1

"""``InputDependencyConstraint``, without effect: Spark decides when tasks start."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Whether a task may start with any of its inputs ready, or with all. No effect here."""

    ANY = 0
    ALL = 1

"""``InputDependencyConstraint``; it has no effect: Spark decides when tasks start."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Whether a task starts when any input, or all inputs are ready; it has no effect on Spark."""

    ANY = 0
    ALL = 1

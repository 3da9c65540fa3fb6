"""Kept for programs that name it: Spark decides when tasks start."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """When a task may start: with any or with all of its inputs there. Without effect here."""

    ANY = 0
    ALL = 1

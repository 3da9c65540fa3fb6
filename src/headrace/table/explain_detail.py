"""``ExplainDetail``: what ``explain`` may add to a plan."""

from enum import Enum

__all__ = ["ExplainDetail"]


class ExplainDetail(Enum):
    """The additions of Flink; CHANGELOG_MODE adds the row kinds of each node."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3

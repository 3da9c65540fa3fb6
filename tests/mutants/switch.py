"""Says which mutant is on; lies in the copied source under the name that the mutants import."""

import os

active = int(os.environ.get("HEADRACE_MUTANT", "-1"))
reached: set[int] | None = None


def on(number: int) -> bool:
    """Whether this mutant is on; while ``reached`` is a set, it also takes the number."""
    if reached is not None:
        reached.add(number)
    return number == active

"""The stages of a pattern with their places in sequences and groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.cep._checks import Stages, names_of
from headrace.operators.patterns.stages import Stage


@dataclass(frozen=True)
class Place:
    """A stage in its sequence, and the places of the groups around it, the outermost first."""

    stages: Stages
    at: int
    groups: tuple[Place, ...] = ()

    @property
    def stage(self) -> Stage:
        """The stage."""
        return self.stages[self.at]

    @property
    def is_last(self) -> bool:
        """Whether it is the last one of its sequence."""
        return self.at + 1 == len(self.stages)

    @property
    def is_first_of_all(self) -> bool:
        """Whether the pattern begins with it."""
        return self.at == 0 and all(each.at == 0 for each in self.groups)


def places(stages: Stages, groups: tuple[Place, ...] = ()) -> Iterator[Place]:
    """Yield the places of stages, and of the stages in their groups."""
    for at, stage in enumerate(stages):
        place = Place(stages, at, groups)
        yield place
        if stage.group is not None:
            yield from places(stage.group, (*groups, place))


def title_of(stage: Stage) -> str:
    """Return what a warning calls a stage."""
    return f"stage {stage.name!r}" if stage.group is None else f"group ({names_of(stage.group)})"

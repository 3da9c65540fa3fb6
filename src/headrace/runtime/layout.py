"""The description of a program in its checkpoint, and whether another program may continue.

A program may continue if every state in the checkpoint has an owner: an operator of the same id and
kind. Operators without state may be added and removed freely. A new operator with state starts
empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from headrace.common._options.catalogue import (
    IGNORE_UNCLAIMED_STATE,
    RESTORE_ACCEPT_BOUNDS,
    RESTORE_DROP_PARTIAL_MATCHES,
)
from headrace.errors import CheckpointError
from headrace.runtime.program import JobProgram

FORMAT = 1

SOURCE, OPERATOR, SINK = "source", "operator", "sink"

SQL_UIDS = "sql-"
"""The prefix of the uids of operators of SQL statements."""


@dataclass(frozen=True)
class StatefulPart:
    """A source, an operator with state, or a sink that may buffer records.

    ``stage``: the number of the stage with its state on Spark. ``key_groups``: the number of its
    key groups, or of instances with operator state; 0 if it has broadcast state only.
    ``instances``: whether it has operator state, which is redistributed if the number of instances
    changes. ``removes_after_ms``: how long it keeps the records of each side; ``pattern``: the
    stages of its pattern (see ``OperatorSpec``). ``description``: what it does, if its name does
    not say it.
    """

    id: str
    role: str
    kind: str
    name: str
    uid: str | None
    stage: int = 0
    key_groups: int = 0
    instances: bool = False
    removes_after_ms: tuple[int | None, ...] = ()
    pattern: tuple[tuple[str, str], ...] = ()
    description: str = ""

    @property
    def is_of_sql(self) -> bool:
        """Whether it belongs to a SQL statement; its uid follows from what it computes."""
        return bool(self.uid and self.uid.startswith(SQL_UIDS))

    def __str__(self) -> str:
        return f"{self.role} {self.name!r} ({f'uid={self.uid}' if self.uid else f'id={self.id}'})"


@dataclass(frozen=True)
class Layout:
    """The stateful parts of a program, and its stages.

    ``stages``: the ids of the vertices of each stage, in order. ``given_up``: the ids of parts
    whose state no later program had an owner for. It is still stored, so parts with these ids must
    not be added again.
    """

    parts: tuple[StatefulPart, ...]
    stages: tuple[tuple[str, ...], ...]
    given_up: tuple[str, ...] = ()

    @classmethod
    def of(cls, program: JobProgram) -> Self:
        """Return the layout of a program."""
        stages = tuple(tuple(vertex.id for vertex in stage) for stage in program.stages)
        return cls(tuple(_list_parts(program)), stages)

    def to_json(self) -> dict[str, Any]:
        """Return the layout as plain data."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the layout in plain data.

        Raises:
            CheckpointError: the layout has a format that this version does not know.
        """
        if data.get("format") != FORMAT:
            raise CheckpointError(
                f"the layout of the checkpoint has format {data.get('format')},"
                f" this version reads {FORMAT}",
                hint="use the version of Headrace that wrote it",
            )
        parts = tuple(
            StatefulPart(
                **{
                    **part,
                    "removes_after_ms": (*part.get("removes_after_ms", ()),),
                    "pattern": pattern_of(part),
                }
            )
            for part in data["parts"]
        )
        stages = tuple(tuple(stage) for stage in data["stages"])
        return cls(parts, stages, tuple(data["given_up"]))

    def as_successor_of(self, before: Layout) -> Layout:
        """Return this layout, with the parts that were given up since the first program."""
        mine = {part.id for part in self.parts}
        gone = (part.id for part in before.parts if part.id not in mine)
        return replace(self, given_up=(*before.given_up, *gone))

    def groups(self) -> dict[str, int]:
        """Return the number of groups with state of each operator, by operator id."""
        return {part.id: part.key_groups for part in self.parts if part.role == OPERATOR}

    def parts_without_uid(self) -> tuple[StatefulPart, ...]:
        """Return the parts that are found again by a generated id."""
        return tuple(part for part in self.parts if part.uid is None)

    def warning(self) -> str | None:
        """Return a sentence about state that a changed program may lose; None if there is none."""
        names = [f"{part.role} {part.name!r}" for part in self.parts_without_uid()]
        if not names:
            return None
        return (
            f"no uid: {', '.join(names)}. Their state is found again by kind, name, function and"
            " inputs; .uid(...) keeps the state if these change"
        )


def pattern_of(part: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the stages of a pattern in plain data, which earlier versions did not write."""
    return tuple((name, words) for name, words in part.get("pattern", ()))


def _list_parts(program: JobProgram) -> Iterator[StatefulPart]:
    for source in program.sources:
        yield StatefulPart(source.id, SOURCE, source.kind, source.name, source.uid)
    for stage in program.stages:
        for vertex in stage:
            head = vertex.chain.nodes[vertex.chain.root]
            if head.spec is not None and head.spec.traits.keeps_state:
                kind, instances = head.spec.kind, head.spec.traits.operator_state
                groups = vertex.groups if vertex.keyed or instances else 0
                at = vertex.stage
                named = head.id, OPERATOR, kind, head.name, head.uid
                kept = head.spec.removes_after_ms, head.spec.pattern, head.description
                yield StatefulPart(*named, at, groups, instances, *kept)
    for sink in program.sinks:
        if sink.keeps_state:
            yield StatefulPart(sink.id, SINK, sink.sink.kind, sink.name, sink.uid)


States = Mapping[str, Iterable[str]]
"""By the id of an operator, its states."""


def check_layout_change(
    before: Layout,
    now: Layout,
    ignore_unclaimed: bool,
    states: Callable[[], States] | None = None,
    accept_bounds: bool = False,
    drop_partial_matches: bool = False,
) -> None:
    """Check that a program can resume from the layout of another one.

    ``states``: returns descriptions of the stored states, for the error. It reads the state, so it
    is called only if an operator is missing. ``accept_bounds``: whether a join may look for records
    that it has removed already. ``drop_partial_matches``: whether a pattern may have other stages,
    so that partial matches are dropped.

    Raises:
        CheckpointError: a part has another kind, its number of key groups differs, a part with
            state is missing (unless ``ignore_unclaimed``), a part that was given up is back, a
            join has wider bounds (unless ``accept_bounds``), or a pattern other stages (unless
            ``drop_partial_matches``).
    """
    claimed = {part.id: part for part in now.parts}
    for given_up in before.given_up:
        if given_up in claimed:
            raise CheckpointError(
                f"the checkpoint's state of the {claimed[given_up]} was dropped before",
                hint="give it another uid: its state then begins empty; or take a savepoint, and"
                " begin a new checkpoint from it",
            )
    for part in before.parts:
        found = claimed.get(part.id)
        if found is None:
            if not ignore_unclaimed:
                known = states() if states is not None and part.role == OPERATOR else {}
                raise _unclaimed_error(part, now, known)
            continue
        if (part.role, part.kind) != (found.role, found.kind):
            raise CheckpointError(
                f"the {part} is of another kind than in the checkpoint",
                where={
                    "was": f"{part.role} of kind {part.kind!r}",
                    "is now": f"{found.role} of kind {found.kind!r}",
                },
                hint="give the new one another uid",
            )
        if part.key_groups != found.key_groups and not found.instances:
            raise CheckpointError(
                f"the keys of the {part} are spread over another number of key groups",
                where={
                    "was": f"max_parallelism {part.key_groups}",
                    "is now": f"max_parallelism {found.key_groups}",
                },
                hint=f"set max_parallelism to {part.key_groups}, as it was",
            )
        if not accept_bounds:
            _check_bounds(part, found)
        if not drop_partial_matches:
            _check_pattern(part, found)


def _check_bounds(part: StatefulPart, found: StatefulPart) -> None:
    """Raise CheckpointError if records were removed that wider bounds may match."""
    for before, now in zip(part.removes_after_ms, found.removes_after_ms, strict=False):
        if before is not None and (now is None or now > before):
            raise CheckpointError(
                f"the {part} has wider bounds than in the checkpoint, which has removed records"
                " that they may match",
                where={
                    "kept": f"{before:,} ms",
                    "needed": "without limit" if now is None else f"{now:,} ms",
                },
                hint="restore the bounds, or give the operator another uid; or set"
                f" {RESTORE_ACCEPT_BOUNDS.key}: true, and results with records that are gone are"
                " missing",
            )


def _check_pattern(part: StatefulPart, found: StatefulPart) -> None:
    """Raise CheckpointError if stored partial matches have other stages."""
    if not part.pattern or part.pattern == found.pattern:
        return
    before, now = dict(part.pattern), dict(found.pattern)
    differences = {
        "gone": [name for name in before if name not in now],
        "new": [name for name in now if name not in before],
        "changed": [
            f"{name} (was: {words}; is now: {now[name]})"
            for name, words in before.items()
            if now.get(name, words) != words
        ],
    }
    order = [name for name in before if name in now]
    if order != [name for name in now if name in before]:
        differences["in another order"] = [f"{', '.join(before)} (is now: {', '.join(now)})"]
    raise CheckpointError(
        f"the pattern of the {part} has other stages than in the checkpoint, which may have"
        " partial matches of them",
        where={kind: "; ".join(names) for kind, names in differences.items() if names},
        hint="restore the stages (their conditions may differ), or give the operator another uid;"
        f" or set {RESTORE_DROP_PARTIAL_MATCHES.key}: true, and partial matches are dropped",
    )


def _unclaimed_error(part: StatefulPart, now: Layout, states: States) -> CheckpointError:
    """Return the error for a part of the checkpoint that the program no longer has."""
    names = ", ".join(sorted(states.get(part.id, ())))
    kept = {
        SOURCE: "the positions up to which it was read",
        OPERATOR: f"its states: {names}" if names else "its keyed state",
        SINK: "its pending data",
    }[part.role]
    known = sorted(_described(other) for other in now.parts if other.role == part.role)
    where = {f"{part.role}s now": ", ".join(known) or "none"}
    advice = "put it back, or drop its state"
    found_again = "an operator without a uid is found again by its kind, name, function and inputs"
    if part.is_of_sql:
        if part.description:
            where = {"it was": part.description, **where}
        advice = "undo the change of the statement, or drop the state, which then begins empty"
        found_again = "the id of an operator of SQL depends on what it computes, and on its input"
    return CheckpointError(
        f"the program has no {part} any more, and the checkpoint has {kept}",
        where=where,
        hint=f"{advice}: `headrace run --allow-non-restored-state`, or"
        f" {IGNORE_UNCLAIMED_STATE.key}: true; {found_again}",
    )


def _described(part: StatefulPart) -> str:
    return f"{part}: {part.description}" if part.is_of_sql and part.description else str(part)


def needs_state_move(before: Layout, now: Layout) -> bool:
    """Return True if state must move: its stage, or a number of stages or instances changed.

    Spark identifies a stage by its number in the query, and refuses to resume if the number of
    stages differs.
    """
    was = {part.id: part.stage for part in before.parts if part.role == OPERATOR}
    is_now = {part.id: part.stage for part in now.parts if part.role == OPERATOR}
    return (
        len(before.stages) != len(now.stages)
        or any(is_now.get(id_, stage) != stage for id_, stage in was.items())
        or redistributes_instances(before, now)
    )


def redistributes_instances(before: Layout, now: Layout) -> bool:
    """Return True if the state of instances is shared out among another number of them."""
    groups = before.groups()
    return any(
        part.instances and groups.get(part.id, part.key_groups) != part.key_groups
        for part in now.parts
    )

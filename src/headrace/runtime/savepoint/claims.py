"""Whether a program has an owner for all state of a savepoint."""

from __future__ import annotations

from headrace.runtime.coordination.offset import source_key
from headrace.runtime.layout import OPERATOR, SOURCE, Layout, StatefulPart, check_layout_change
from headrace.runtime.program import JobProgram
from headrace.runtime.savepoint.savepoint import Savepoint


def check_claims(savepoint: Savepoint, program: JobProgram, ignore_unclaimed: bool) -> None:
    """Raise CheckpointError unless the program has an operator for all state of the savepoint.

    The number of key groups may differ.
    """
    now = Layout.of(program)
    known = {part.id: part for part in now.parts}
    before: list[StatefulPart] = []
    for entry in savepoint.manifest.operators:
        groups = known[entry.id].key_groups if entry.id in known else 0
        if entry.kinds() or entry.id in known:
            # An operator that was made from tables has no kind: one of any kind may take its state.
            kind = entry.kind or (known[entry.id].kind if entry.id in known else "")
            name = (entry.id, OPERATOR, kind, entry.name, entry.uid)
            part = StatefulPart(
                *name,
                key_groups=groups,
                removes_after_ms=entry.removes_after_ms,
                pattern=entry.pattern,
                description=entry.description,
            )
            before.append(part)
    read = savepoint.manifest.offset["sources"]
    for source in program.sources:
        if source_key(source.id) in read:
            before.append(known[source.id])
    gone = set(read) - {source_key(source.id) for source in program.sources}
    before += [StatefulPart(key, SOURCE, "", key, None) for key in sorted(gone)]
    states = {entry.id: entry.kinds() for entry in savepoint.manifest.operators}
    check_layout_change(
        Layout(tuple(before), now.stages),
        now,
        ignore_unclaimed,
        lambda: states,
        program.settings.accept_bounds,
        program.settings.drop_partial_matches,
    )

"""Which kinds of rows go along the edges of a graph, where an operator declares it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.errors import PlanError
from headrace.graph.transformation import (
    Edge,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)

Modes = dict[Transformation, ChangelogMode | None]


def changelog_modes(nodes: Sequence[Transformation]) -> Modes:
    """Return the changelog mode of each node's main output; None if it is not declared.

    Shapes: ``nodes`` have every node after those that feed it.
    """
    modes: Modes = {}
    for node in nodes:
        if isinstance(node, SourceTransformation):
            modes[node] = node.source.gives
        elif node.spec is not None:
            by_input: dict[int, list[ChangelogMode | None]] = {}
            for edge in node.inputs:
                by_input.setdefault(edge.input, []).append(_mode_of_edge(edge, modes))
            modes[node] = node.spec.gives([union(by_input[number]) for number in sorted(by_input)])
    return modes


def check_changelog_modes(nodes: Sequence[Transformation]) -> None:
    """Check that no operator or sink gets row kinds that it does not accept.

    Raises:
        PlanError: a node gives row kinds that its target does not accept.
    """
    modes = changelog_modes(nodes)
    for node in nodes:
        for edge in node.inputs:
            given, accepted = _mode_of_edge(edge, modes), _accepted_mode(node, edge.input)
            if given is None or accepted is None or given.is_accepted_by(accepted):
                continue
            several = node.spec is not None and node.spec.traits.inputs > 1
            at_input = f" by its input {edge.input}" if several else ""
            role = "sink" if isinstance(node, SinkTransformation) else "operator"
            origin = _find_declaring_node(edge.source, accepted, modes)
            raise PlanError(
                f"{node.name!r} does not accept the changes of {origin.name!r}",
                where={
                    role: f"{node.name} (uid={node.uid or 'none'}), built at {node.site}",
                    "changes of": f"{origin.name}, built at {origin.site}",
                    "it takes": f"{accepted}{at_input}",
                    "it is given": str(given),
                },
                hint="put a .flat_map(...) between the two, which makes what it takes of each row,"
                " by row.get_row_kind(); what a function gives is not checked",
            )


def _find_declaring_node(
    node: Transformation, accepted: ChangelogMode, modes: Modes
) -> Transformation:
    """Return the node that declares the unfit mode: the given node, or one upstream."""
    while node.spec is not None and node.spec.gives([None] * node.spec.traits.inputs) is None:
        given = {edge.source: _mode_of_edge(edge, modes) for edge in node.inputs}
        node = next(
            source
            for source, mode in given.items()
            if mode is not None and not mode.is_accepted_by(accepted)
        )
    return node


def _mode_of_edge(edge: Edge, modes: Modes) -> ChangelogMode | None:
    return modes[edge.source] if edge.tag is None else None


def _accepted_mode(node: Transformation, input_index: int) -> ChangelogMode | None:
    if isinstance(node, SinkTransformation):
        mode: ChangelogMode | None = node.sink.accepts
        return mode
    return None if node.spec is None else node.spec.accepts(input_index)

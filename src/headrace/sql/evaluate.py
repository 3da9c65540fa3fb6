"""Expressions on record batches: a list of them is compiled once, and computed for each batch.

Equal parts are computed once; as in Flink, two equal calls of RAND() are one. Constants are Arrow
scalars. A part that may raise is computed for the rows only for which SQL would compute it: behind
AND, OR, CASE, IF and COALESCE.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace.errors import SqlValidationError
from headrace.sql.expressions import Call, ColumnRef, Expression, Literal, PythonCall, walk
from headrace.sql.functions.conditional import choose
from headrace.sql.functions.function import Function, Session
from headrace.sql.functions.kernels import as_array, cast_arrow, is_scalar
from headrace.sql.functions.random_numbers import CALL_ROWS
from headrace.sql.functions.table import FUNCTIONS
from headrace.sql.types import SqlType, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

Evaluation = Callable[["pa.RecordBatch", Session], "list[pa.Array]"]
Condition = Callable[["pa.RecordBatch", Session], "pa.BooleanArray"]


def compile_expressions(expressions: Sequence[Expression], schema: pa.Schema) -> Evaluation:
    """Return what computes expressions on batches of a schema: an array for each.

    Raises:
        SqlValidationError: a column is not in the schema, or a function is unknown.
    """
    program = _Program(schema)
    slots = [program.add(each) for each in expressions]
    kinds = [to_arrow(each.type) for each in expressions]

    def evaluate(batch: pa.RecordBatch, session: Session) -> list[pa.Array]:
        frame = _Frame(program, batch, session, None)
        values = [frame.value(slot) for slot in slots]
        return [
            cast_arrow(as_array(value, batch.num_rows), kind)
            for value, kind in zip(values, kinds, strict=True)
        ]

    return evaluate


def compile_condition(expression: Expression, schema: pa.Schema) -> Condition:
    """Return what computes for which rows of a batch a condition is true; NULL is not."""
    evaluate = compile_expressions([expression], schema)

    def condition(batch: pa.RecordBatch, session: Session) -> pa.BooleanArray:
        import pyarrow.compute as pc

        (found,) = evaluate(batch, session)
        return pc.fill_null(found, False)

    return condition


def evaluate_constant(expression: Expression, session: Session) -> Any:
    """Return the Arrow scalar of an expression without columns."""
    import pyarrow as pa

    batch = pa.RecordBatch.from_arrays([pa.nulls(1)], ["_"])
    (found,) = compile_expressions([expression], batch.schema)(batch, session)
    return found[0]


def may_fail(expression: Expression) -> bool:
    """Return whether computing an expression raises for some values."""
    return any(
        isinstance(each, PythonCall)
        or (
            isinstance(each, Call)
            and each.function in FUNCTIONS
            and FUNCTIONS[each.function].may_fail(each)
        )
        for each in walk(expression)
    )


_Step = Callable[["_Frame"], Any]


class _Program:
    """Expressions as steps, one for each different part; a step's number is its slot."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.steps: list[_Step] = []
        self._slots: dict[Expression, int] = {}
        self._random_calls = 0

    def add(self, expression: Expression) -> int:
        """Return the slot of an expression; equal ones have the same, if they give the same."""
        found = self._slots.get(expression)
        if found is None or _calls_anew(expression):
            self.steps.append(self._step(expression))
            found = self._slots[expression] = len(self.steps) - 1
        return found

    def _step(self, expression: Expression) -> _Step:
        match expression:
            case ColumnRef():
                return self._column(expression)
            case Literal():
                return _constant(expression.value, expression.type)
            case Call():
                if any(may_fail(each) for each in expression.arguments[1:]):
                    lazy = self._lazy(expression)
                    if lazy is not None:
                        return lazy
                return self._call(expression)
            case PythonCall():
                return self._python(expression)
        raise AssertionError(f"cannot compute {expression!r}")

    def _column(self, column: ColumnRef) -> _Step:
        index = self.schema.get_field_index(column.name)
        if index < 0:
            raise SqlValidationError(
                f"no column has the name {column}", where={"columns": ", ".join(self.schema.names)}
            )
        kind = to_arrow(column.type)

        def step(frame: _Frame) -> Any:
            return plain(frame.batch.column(index), kind)

        return step

    def _call(self, call: Call) -> _Step:
        function = _function(call)
        kernel, kind = function.kernel, to_arrow(call.type)
        slots = [self.add(each) for each in call.arguments]
        numbered = not function.deterministic
        first = self._random_calls * CALL_ROWS
        self._random_calls += numbered

        def step(frame: _Frame) -> Any:
            values = [*map(frame.value, slots)]
            if numbered:
                values.insert(0, frame.row_numbers(first))
            return cast_arrow(kernel(call, values, frame.session), kind)

        if any(isinstance(each, ColumnRef) for each in walk(call)) or not _is_constant(call):
            place = None if numbered else _only_column(call)
            return step if place is None else self._by_dictionary(call, place, slots, step)
        return _once(step)

    def _by_dictionary(self, call: Call, place: int, slots: list[int], step: _Step) -> _Step:
        """Return a step that computes a call once for each value of a dictionary-encoded column.

        ``place``: the index of the column among the arguments; all others are constants.
        """
        column = call.arguments[place]
        assert isinstance(column, ColumnRef), column
        index = self.schema.get_field_index(column.name)
        kernel, given, kind = _function(call).kernel, to_arrow(column.type), to_arrow(call.type)

        def encoded_step(frame: _Frame) -> Any:
            encoded = frame.batch.column(index)
            distinct = dictionary_of(encoded)
            if distinct is None:
                return step(frame)
            values = [
                cast_arrow(distinct, given) if number == place else frame.value(slot)
                for number, slot in enumerate(slots)
            ]
            found = cast_arrow(kernel(call, values, frame.session), kind)
            return as_array(found, len(distinct)).take(codes_of(encoded))

        return encoded_step

    def _python(self, call: PythonCall) -> _Step:
        compute = call.function.implementation.kernel(call.signature)
        slots = [self.add(each) for each in call.arguments]

        def step(frame: _Frame) -> Any:
            values = [*map(frame.value, slots)]
            return compute(values, frame.batch.num_rows, frame.session.time_zone)

        return step

    def _lazy(self, call: Call) -> _Step | None:
        slots = [self.add(each) for each in call.arguments]
        lazy = [may_fail(each) for each in call.arguments]
        kind = to_arrow(call.type)
        match call.function:
            case "AND" | "OR":
                return _connected(call.function == "AND", slots, lazy)
            case "CASE" | "IF":
                return _case(slots, lazy, kind)
            case "COALESCE" | "IFNULL":
                return _coalesce(slots, lazy, kind)
        return None


class _Frame:
    """The values of a program's steps for the rows of one batch."""

    __slots__ = ("_numbers", "_values", "batch", "program", "session")

    def __init__(self, program: _Program, batch: Any, session: Session, numbers: Any) -> None:
        self.program = program
        self.batch = batch
        self.session = session
        self._numbers = numbers
        self._values: dict[int, Any] = {}

    def value(self, slot: int) -> Any:
        """Return the value of a step, computed at its first use."""
        values = self._values
        if slot not in values:
            values[slot] = self.program.steps[slot](self)
        return values[slot]

    def row_numbers(self, first: int = 0) -> Any:
        """Return the number of each row, from ``first``, as int64."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._numbers is None:
            start = self.session.first_row
            end = start + self.batch.num_rows
            self._numbers = pa.array(np.arange(start, end, dtype=np.int64))
        return pc.add(self._numbers, first) if first else self._numbers

    def value_where(self, slot: int, mask: Any, lazy: bool) -> Any:
        """Return the value of a step; if it is lazy, for the rows of a mask, and NULL for others.

        ``mask``: a boolean value without NULL.
        """
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if not lazy:
            return self.value(slot)
        rows = self.batch.num_rows
        if is_scalar(mask) and mask.as_py() is True:
            return self.value(slot)
        chosen = pc.indices_nonzero(as_array(mask, rows))
        if len(chosen) == rows:
            return self.value(slot)
        part = _Frame(
            self.program, self.batch.take(chosen), self.session, self.row_numbers().take(chosen)
        )
        if not len(chosen):
            return None
        value = as_array(part.value(slot), len(chosen))
        places = np.full(rows, -1, np.int64)
        places[chosen.to_numpy()] = np.arange(len(chosen))
        return value.take(pa.array(places, mask=places < 0))


def _connected(conjunction: bool, slots: list[int], lazy: list[bool]) -> _Step:
    """AND and OR: the next condition matters where the result is not certain."""

    def step(frame: _Frame) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        connect = pc.and_kleene if conjunction else pc.or_kleene
        result = frame.value(slots[0])
        for slot, part_is_lazy in zip(slots[1:], lazy[1:], strict=True):
            known = result if conjunction else pc.invert(result)
            found = frame.value_where(slot, pc.fill_null(known, True), part_is_lazy)
            if found is not None:
                result = connect(result, cast_arrow(found, pa.bool_()))
        return result

    return step


def _case(slots: list[int], lazy: list[bool], kind: Any) -> _Step:
    def step(frame: _Frame) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        result: Any = pa.scalar(None, kind)
        left: Any = pa.scalar(True)
        for n in range(0, len(slots) - 1, 2):
            condition = frame.value_where(slots[n], left, lazy[n])
            if condition is None:
                break
            here = pc.and_(left, pc.fill_null(condition, False))
            value = frame.value_where(slots[n + 1], here, lazy[n + 1])
            if value is not None:
                result = choose(here, cast_arrow(value, kind), result)
            left = pc.and_(left, pc.invert(here))
        value = frame.value_where(slots[-1], left, lazy[-1])
        return result if value is None else choose(left, cast_arrow(value, kind), result)

    return step


def _coalesce(slots: list[int], lazy: list[bool], kind: Any) -> _Step:
    def step(frame: _Frame) -> Any:
        import pyarrow.compute as pc

        result = cast_arrow(frame.value(slots[0]), kind)
        for slot, part_is_lazy in zip(slots[1:], lazy[1:], strict=True):
            missing = pc.is_null(result)
            value = frame.value_where(slot, missing, part_is_lazy)
            if value is not None:
                result = pc.if_else(missing, cast_arrow(value, kind), result)
        return result

    return step


def _constant(value: Any, kind: SqlType) -> _Step:
    made: list[Any] = []

    def step(frame: _Frame) -> Any:
        if not made:
            import pyarrow as pa

            made.append(pa.scalar(value, to_arrow(kind)))
        return made[0]

    return step


def _once(step: _Step) -> _Step:
    """Return a step that is computed again only in another session."""
    known: list[tuple[Session, Any]] = []

    def cached(frame: _Frame) -> Any:
        if not known or known[0][0] != frame.session:
            known[:] = [(frame.session, step(frame))]
        return known[0][1]

    return cached


def _calls_anew(expression: Expression) -> bool:
    """Return whether equal parts give other values, so that each is computed for itself."""
    return any(
        isinstance(each, PythonCall) and not each.function.deterministic
        for each in walk(expression)
    )


def _is_constant(expression: Expression) -> bool:
    return all(
        isinstance(each, Literal) or (isinstance(each, Call) and _function(each).deterministic)
        for each in walk(expression)
    )


def _only_column(call: Call) -> int | None:
    """Return the index of the argument that is a column, if all others are constants.

    None for a call that may raise: a value of a dictionary may be in no row.
    """
    others = [n for n, each in enumerate(call.arguments) if not isinstance(each, Literal)]
    if len(others) != 1 or may_fail(call):
        return None
    return others[0] if isinstance(call.arguments[others[0]], ColumnRef) else None


def dictionary_of(array: Any) -> Any | None:
    """Return the values of a dictionary-encoded array, with NULL as the last one.

    None: it has no dictionary, or its dictionary is not shorter.
    """
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type) or len(array.dictionary) >= len(array):
        return None
    return pa.concat_arrays([array.dictionary, pa.nulls(1, array.dictionary.type)])


def codes_of(array: Any) -> Any:
    """Return the index in ``dictionary_of`` of each element of a dictionary-encoded array."""
    return array.indices.fill_null(len(array.dictionary))


def _function(call: Call) -> Function:
    function = FUNCTIONS.get(call.function)
    if function is None:
        raise SqlValidationError(f"the function {call.function} cannot be computed here")
    return function


def plain(array: Any, kind: Any) -> Any:
    """Return a column as the Arrow type that kernels take."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.type == kind:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return cast_arrow(array, kind)

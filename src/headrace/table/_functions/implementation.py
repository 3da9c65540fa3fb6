"""A function of a user in a task: opened, called for blocks of rows, closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.errors import TypeMismatchError
from headrace.sql.python_function import Kernel, Signature
from headrace.table._functions.arguments import python_values, rows_of
from headrace.table._functions.definitions import FunctionContext, UserDefinedFunction
from headrace.table._functions.results import ResultWriter, WrongResult

if TYPE_CHECKING:
    from headrace.runtime.context import TaskContext

SHOWN_CHARACTERS = 300

RowResults = Callable[[Sequence[Sequence[Any]], int], list[Any]]
"""Takes a list for each parameter, and the number of rows; returns the function's values."""


class PythonImplementation:
    """Calls a function for each row."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def open(self, runtime_context: TaskContext) -> None:
        """Open the function for a task."""
        if isinstance(self.function, UserDefinedFunction):
            self.function.open(context_of(runtime_context))

    def close(self) -> None:
        """Close the function."""
        if isinstance(self.function, UserDefinedFunction):
            self.function.close()

    @property
    def evaluate(self) -> Callable[..., Any]:
        """What is called."""
        return getattr(self.function, "eval", self.function)  # type: ignore[no-any-return]

    def kernel(self, call: Signature) -> Kernel:
        """Return what computes the function's column for a block."""
        results_of = self.results_of(call)
        writers: dict[str, ResultWriter] = {}

        def compute(values: Sequence[Any], rows: int, zone: str) -> Any:
            columns = argument_lists(call, values, rows, zone)
            results = results_of(columns, rows)
            if zone not in writers:
                writers[zone] = ResultWriter(call.result, zone)
            try:
                return writers[zone](results)
            except WrongResult as wrong:
                place = wrong.place
                problem = wrong.problem
            raise wrong_result(call, arguments_at(columns, place), problem)

        return compute

    def results_of(self, call: Signature) -> RowResults:
        """Return a function that calls this one for the rows of a block."""
        evaluate = self.evaluate

        def results_of(columns: Sequence[Sequence[Any]], rows: int) -> list[Any]:
            results: list[Any] = []
            try:
                # A list keeps what it was given before an error: so the row is known.
                results.extend(map(evaluate, *columns) if columns else _calls(evaluate, rows))
            except Exception as error:
                note_call(error, call, arguments_at(columns, len(results)))
                raise
            if len(results) < rows:
                raise_stopped(call, arguments_at(columns, len(results)))
            return results

        return results_of


def _calls(evaluate: Callable[[], Any], count: int) -> Any:
    for _ in range(count):
        yield evaluate()


def context_of(context: TaskContext) -> FunctionContext:
    """Return what a function may know of its task."""
    return FunctionContext(
        context.get_metrics_group(),
        context.job_parameters,
        context.get_task_name(),
        context.get_task_name_with_subtasks(),
        context.get_number_of_parallel_subtasks(),
        context.get_max_number_of_parallel_subtasks(),
        context.get_index_of_this_subtask(),
        context.get_attempt_number(),
    )


def argument_lists(call: Signature, values: Sequence[Any], rows: int, zone: str) -> list[list[Any]]:
    """Return the arguments of all rows, as a list for each parameter."""
    import pyarrow as pa

    lists = []
    for value, kind in zip(values, call.arguments, strict=True):
        if isinstance(value, pa.Scalar):
            lists.append(python_values(pa.array([value.as_py()], value.type), kind, zone) * rows)
        else:
            lists.append(python_values(value, kind, zone))
    if call.row_names is not None:
        return [rows_of(lists, call.row_names)]
    return lists


def arguments_at(columns: Sequence[Sequence[Any]], place: int) -> tuple[Any, ...]:
    """Return the arguments of one row."""
    return tuple(column[place] for column in columns)


def note_call(error: Exception, call: Signature, arguments: tuple[Any, ...]) -> None:
    """Add the function, and the arguments of the row, to an exception that it raised."""
    error.add_note(f"function: {call}\nvalues:   {shown(arguments)}")


def raise_stopped(call: Signature, arguments: tuple[Any, ...]) -> NoReturn:
    """Raise the error of a function that raised StopIteration, which loops would hide."""
    error = RuntimeError(f"the function {call.name} raised StopIteration")
    note_call(error, call, arguments)
    raise error


def wrong_result(call: Signature, arguments: tuple[Any, ...], problem: str) -> TypeMismatchError:
    """Return the error for a result of another type than was declared."""
    return TypeMismatchError(
        f"the function {call.name} gave {problem}",
        where={"function": str(call), "values": shown(arguments)},
        hint=f"return values of {call.result}, or declare another result type",
    )


def shown(values: Any) -> str:
    """Return values for an error, cut to a line."""
    try:
        text = repr(values)
    except Exception as error:  # a user's __repr__ must not hide the user's exception
        text = f"<a value whose repr() raised {type(error).__name__}>"
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."

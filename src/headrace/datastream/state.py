"""Keyed state, and the descriptors with which functions request it.

A state always belongs to the key of the current record or timer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace._lazy_exports import lazy_exports
from headrace.common._arguments import require_identifier, with_article
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream._state_ttl import StateTtlConfig
from headrace.datastream.functions import (
    AggregateFunction,
    ReduceFunction,
    ReduceFunctionWrapper,
)
from headrace.errors import PlanError
from headrace.runtime.state.kinds import (
    AGGREGATING,
    LIST,
    MAP,
    NO_EVOLUTION,
    REDUCING,
    RESERVED_NAMES,
    VALUE,
)

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """The base of all states; a state has separate content for each key."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the content for the current key."""


class ValueState(State, Generic[T]):
    """One value per key."""

    @abstractmethod
    def value(self) -> T | None:
        """Return the value, or None if there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Set the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """State to which values are added."""

    @abstractmethod
    def get(self) -> OUT | None:
        """Return the result of the added values, or None if there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add one value."""


class MergingState(AppendingState[IN, OUT], ABC):
    """Appending state whose content can be merged with that of another state."""


class ReducingState(MergingState[T, T], ABC):
    """One value per key; each added value is reduced into it."""


class AggregatingState(MergingState[IN, OUT], ABC):
    """One accumulator per key; ``get`` returns the aggregate function's result."""


class ListState(MergingState[T, Iterable[T]], ABC):
    """A list per key; ``get`` returns an iterable, which is empty if nothing was added."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """Return the elements in the order in which they were added."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list; an empty list clears the state."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append several elements to the list."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class MapState(State, Generic[K, V]):
    """A map per key; ``state[k]``, ``k in state``, ``del state[k]`` and iteration work too."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of a map key, or None."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a map key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set several entries of the map."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove a map key; a missing key is no error."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return True if the map has this key."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return all pairs of map key and value."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return all map keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return all map values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return True if the map has no entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """A map with the same content in all tasks, for the side that is not broadcast.

    Do not change returned values in place: such changes are not detected, and are lost.
    """

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of a map key, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return True if the map has this key."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return all entries, in the order in which their keys were put."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return all map keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return all map values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return True if the map has no entries."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """A map with the same content in all tasks, for the broadcast side, which may change it.

    After a value is changed in place, ``put`` it again.
    """

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a map key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set several entries of the map."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove one entry; a missing key is no error."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class OperatorStateStore(ABC):
    """Returns state that belongs to no key; the same name always returns the same state.

    List state is for a ``CheckpointedFunction``, broadcast state for functions that declare it.
    """

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a list whose elements are redistributed when the number of instances changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return a list from which each instance receives the elements of all instances.

        An operator that uses it has only one instance.
        """

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Return the broadcast state of a descriptor."""

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """Return the names of all states in this store."""


class StateDescriptor:
    """A state's name, type and time to live; the name is unique within one function.

    Written values are converted to the type, as the records of a stream are: see ``Types``.

    Raises:
        PlanError: the name is empty, reserved or not a str, or the type is not a type.
    """

    _asked_by = ""
    """The method of ``RuntimeContext`` that gives the state."""

    def __init__(self, name: str, type_info: TypeInformation | None = None) -> None:
        self.name = require_identifier(name, "a state's name")
        if name.startswith(RESERVED_NAMES):
            raise PlanError(
                f"a state cannot be called {name!r}",
                hint=f"names that begin with {RESERVED_NAMES!r} are for operators' own state",
            )
        if type_info is not None and not isinstance(type_info, TypeInformation):
            raise PlanError(
                f"the type of state {name!r} is {type_info!r}",
                hint="types are made by Types: Types.INT()",
            )
        self.type_info = type_info
        self._ttl_config: StateTtlConfig | None = None
        self._evolution = NO_EVOLUTION

    def get_name(self) -> str:
        """Return the state's name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Set a time to live, after which the state's values expire."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise PlanError(
                f"state {self.name!r}: expected a StateTtlConfig,"
                f" not {with_article(type(ttl_config).__name__)}",
                hint="StateTtlConfig.new_builder(ttl).build()",
            )
        self._ttl_config = ttl_config

    def evolve(
        self,
        renamed: Mapping[str, str] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        """Say how values of an earlier program get the fields that the program has now.

        Fields of a declared row, or of dataclasses in the state, may come and go, and change their
        names. New fields of a dataclass get their default. A dataclass can also say itself what a
        field was called: ``field(metadata={"renamed_from": "quantity"})``.

        Args:
            renamed: The new names of fields, by the old ones.
            defaults: The values of new fields of a row, by name.

        Raises:
            PlanError: a name is not a str, two fields get the same name, or fields exchange theirs:
                stored values do not show whether that was done.
        """
        renamed, defaults = dict(renamed or {}), dict(defaults or {})
        wrong = [name for name in (*renamed, *renamed.values(), *defaults) if type(name) is not str]
        if wrong:
            raise PlanError(
                f"state {self.name!r}: expected the name of a field, not {wrong[0]!r}",
                hint='renamed={"quantity": "qty"}, defaults={"venue": None}',
            )
        if len({*renamed.values()}) != len(renamed):
            raise PlanError(f"state {self.name!r}: two fields are renamed to the same name")
        if _is_circular(renamed):
            raise PlanError(
                f"state {self.name!r}: fields exchange their names",
                hint="convert the values with migrate()",
            )
        self._evolution = self._evolution._replace(renamed=renamed, defaults=defaults)

    def migrate(self, function: Callable[[Any], Any], version: int = 1) -> None:
        """Convert each value that was stored under a lower version, once.

        A value is that of a value, reducing or aggregating state, an element of a list, or a value
        of a map. If its dataclass has changed, the function gets the old fields as attributes of a
        ``SimpleNamespace``. The result has the declared type; None removes the value.

        Call it again with a higher version for the next change, and keep the earlier calls:
        a value is passed through all functions above its version.

        Args:
            function: From the old value to the new one; it must be deterministic.
            version: The version of the values that it returns, from 1.

        Raises:
            PlanError: the function is not callable, or the version is not above the last one.
        """
        if not callable(function):
            raise PlanError(f"state {self.name!r}: expected a function, not {function!r}")
        if type(version) is not int or version <= self._evolution.version:
            raise PlanError(
                f"state {self.name!r}: {version!r} is not above version {self._evolution.version}",
                hint="versions are ascending integers, the first is 1",
            )
        migrations = (*self._evolution.migrations, (version, function))
        self._evolution = self._evolution._replace(migrations=migrations)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def _is_circular(renamed: Mapping[str, str]) -> bool:
    for first, name in renamed.items():
        for _ in renamed:
            if name == first:
                return True
            name = renamed.get(name, "")
    return False


class ValueStateDescriptor(StateDescriptor):
    """Describes a ``ValueState``."""

    kind = VALUE
    _asked_by = "get_state"

    def __init__(self, name: str, value_type_info: TypeInformation | None = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Describes a ``ListState``."""

    kind = LIST
    _asked_by = "get_list_state"

    def __init__(self, name: str, elem_type_info: TypeInformation | None = None) -> None:
        super().__init__(name, None if elem_type_info is None else Types.LIST(elem_type_info))


class MapStateDescriptor(StateDescriptor):
    """Describes a ``MapState``."""

    kind = MAP
    _asked_by = "get_map_state"

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | None = None,
        value_type_info: TypeInformation | None = None,
    ) -> None:
        given = (key_type_info, value_type_info)
        if given == (None, None):
            super().__init__(name)
        else:
            any_type = Types.PICKLED_BYTE_ARRAY()
            super().__init__(name, Types.MAP(*(any_type if one is None else one for one in given)))


class ReducingStateDescriptor(StateDescriptor):
    """Describes a ``ReducingState``; the function is a ``ReduceFunction`` or a plain callable."""

    kind = REDUCING
    _asked_by = "get_reducing_state"

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction | Callable[[Any, Any], Any],
        type_info: TypeInformation | None = None,
    ) -> None:
        super().__init__(name, type_info)
        self._reduce_function: Any = reduce_function
        if isinstance(reduce_function, ReduceFunction | ReduceFunctionWrapper):
            return
        if not callable(reduce_function):
            raise PlanError(
                f"state {name!r} needs a ReduceFunction or a callable,"
                f" not {with_article(type(reduce_function).__name__)}"
            )
        self._reduce_function = ReduceFunctionWrapper(reduce_function)

    def get_reduce_function(self) -> Any:
        """Return an object with the method ``reduce(value1, value2)``."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describes an ``AggregatingState``; the type is that of the accumulator."""

    kind = AGGREGATING
    _asked_by = "get_aggregating_state"

    def __init__(
        self,
        name: str,
        agg_function: AggregateFunction,
        state_type_info: TypeInformation | None = None,
    ) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise PlanError(
                f"state {name!r} needs an AggregateFunction,"
                f" not {with_article(type(agg_function).__name__)}"
            )
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction:
        """Return the aggregate function."""
        return self._agg_function

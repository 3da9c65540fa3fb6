"""The state objects that user functions hold, over the live entry of the current key."""

from headrace.runtime.state.handles.aggregating import AggregatingHandle
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.handles.list import ListHandle
from headrace.runtime.state.handles.map import MapHandle
from headrace.runtime.state.handles.reducing import ReducingHandle
from headrace.runtime.state.handles.store import NamespacedStates, StateStore
from headrace.runtime.state.handles.value import ValueHandle

__all__ = [
    "AggregatingHandle",
    "Handle",
    "KeyContext",
    "ListHandle",
    "MapHandle",
    "NamespacedStates",
    "ReducingHandle",
    "StateStore",
    "ValueHandle",
]

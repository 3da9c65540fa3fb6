"""Functions that keep state without keys, as Flink's ``CheckpointedFunction`` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.datastream.state import OperatorStateStore


class FunctionInitializationContext(ABC):
    """The context of ``initialize_state``."""

    @abstractmethod
    def is_restored(self) -> bool:
        """True if the instance continues from a checkpoint, with or without stored elements."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """The state of this instance."""


class FunctionSnapshotContext(ABC):
    """The context of ``snapshot_state``."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The number of this instance's snapshot; it grows by one each time."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """The processing time (ms) of the micro-batch."""


class CheckpointedFunction(ABC):
    """A Map-, FlatMap-, Filter- or ProcessFunction that keeps state without a key.

    Derive from both. Each instance works on a copy of the object that was given to the stream, and
    snapshots are taken at the end of each micro-batch.
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called for each new instance, before ``open``: get the state, and read its elements.

        A new instance is made at the first record, after a failure, after a restart, and when
        another worker takes over.
        """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called at the end of a micro-batch with records: write everything to keep into the state.

        A later instance gets nothing else from this one.
        """

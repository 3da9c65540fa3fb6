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
        """Return True if the instance continues from a checkpoint, even if its state is empty."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the store with the state of this instance."""


class FunctionSnapshotContext(ABC):
    """The context of ``snapshot_state``."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Return the number of this instance's snapshot, which increases by one each time."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """Return the processing time (ms) of the micro-batch."""


class CheckpointedFunction(ABC):
    """A Map-, FlatMap-, Filter- or ProcessFunction with operator state, which belongs to no key.

    Inherit from both classes. Each instance is a copy of the object that was passed to the stream.
    Snapshots are taken at the end of each micro-batch.
    """

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the state and read its elements; called for each new instance, before ``open``.

        A new instance is made at the first record, after a failure, after a restart, and when
        another worker takes over.
        """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Write all data to keep into the state; called at the end of micro-batches with records.

        A later instance receives only this state.
        """

"""Functions that keep state without keys, as Flink's ``CheckpointedFunction`` does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.datastream.state import OperatorStateStore


class FunctionInitializationContext(ABC):
    """What ``initialize_state`` sees."""

    @abstractmethod
    def is_restored(self) -> bool:
        """True where an instance goes on from a checkpoint, whether it kept something or not."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """The state of this instance."""


class FunctionSnapshotContext(ABC):
    """What ``snapshot_state`` sees."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The number of this instance's snapshot: it rises by one."""

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
        """Called for each new instance, before ``open``: ask for state, and take over what it has.

        A new instance is made wherever the one before is not at hand: after a failure, after a
        restart, and when another worker goes on.
        """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called at the end of a micro-batch with records: put into the state what must stay.

        An instance that is made later knows nothing else of this one.
        """

"""The settings of an operator: its name, uid, parallelism and chaining."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Self

from headrace.common._arguments import require_identifier, require_positive
from headrace.common._no_effect import no_effect
from headrace.common.time import TimeAmount
from headrace.datastream.slot_sharing_group import SlotSharingGroup
from headrace.errors import PlanError
from headrace.graph.transformation import Transformation

_UID_HASH = re.compile(r"[0-9a-fA-F]{32}")


class OperatorSettings(ABC):
    """The settings of the operator behind a stream or sink; setters return the stream or sink."""

    @abstractmethod
    def _get_operator(self, call: str) -> Transformation:
        """Return the operator that the setters change.

        Raises:
            PlanError: there is no operator that ``call`` could change.
        """

    def _list_followers(self) -> tuple[Transformation, ...]:
        """Return the nodes after the operator that belong to it: types and timestamps."""
        return ()

    def get_name(self) -> str:
        """Return the operator's name."""
        return self._get_operator("get_name").name

    def name(self, name: str) -> Self:
        """Set the operator's name, which plans, metrics and errors show."""
        self._get_operator("name").name = require_identifier(name, "an operator's name")
        for follower in self._list_followers():
            follower.name = follower_name(follower, name)
        return self

    def uid(self, uid: str) -> Self:
        """Set the id by which a checkpoint finds the operator's state; unique in the job."""
        self._get_operator("uid").uid = require_identifier(uid, "a uid")
        return self

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Set 32 hexadecimal digits as the operator's uid, unless it has a uid already."""
        operator = self._get_operator("set_uid_hash")
        if not _UID_HASH.fullmatch(require_identifier(uid_hash, "a uid hash")):
            raise PlanError(f"a uid hash has 32 hexadecimal digits, unlike {uid_hash!r}")
        if operator.uid is None:
            operator.uid = uid_hash.lower()
        return self

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the number of the operator's subtasks."""
        require_positive(parallelism, "a parallelism")
        for node in (self._get_operator("set_parallelism"), *self._list_followers()):
            node.parallelism = parallelism
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the operator's number of key groups."""
        require_positive(max_parallelism, "a maximal parallelism")
        for node in (self._get_operator("set_max_parallelism"), *self._list_followers()):
            node.max_parallelism = max_parallelism
        return self

    def force_non_parallel(self) -> Self:
        """Run the operator in a single subtask."""
        for node in (self._get_operator("force_non_parallel"), *self._list_followers()):
            node.parallelism = node.max_parallelism = 1
        return self

    def set_description(self, description: str) -> Self:
        """Set a longer description of the operator."""
        self._get_operator("set_description").description = description
        return self

    def start_new_chain(self) -> Self:
        """Do not chain the operator with the operator before it."""
        self._get_operator("start_new_chain").starts_chain = True
        return self

    def disable_chaining(self) -> Self:
        """Do not chain the operator with any other operator."""
        operator = self._get_operator("disable_chaining")
        operator.starts_chain = True
        (operator, *self._list_followers())[-1].ends_chain = True
        return self

    @no_effect("micro-batches bound the latency, there are no network buffers to flush")
    def set_buffer_timeout(self, timeout_millis: TimeAmount) -> Self:
        """Do nothing: there are no network buffers to flush on Spark."""
        self._get_operator("set_buffer_timeout")
        return self

    @no_effect("Spark schedules the tasks")
    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Do nothing: Spark schedules the tasks."""
        self._get_operator("slot_sharing_group")
        return self


def follower_name(follower: Transformation, name: str) -> str:
    """Return the name of a node that belongs to an operator of this name."""
    label = follower.spec.label if follower.spec else ""
    return f"{label}({name})"

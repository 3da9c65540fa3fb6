"""Slot sharing groups and their resources; they have no effect: Spark schedules the tasks."""

from __future__ import annotations

from headrace.common._unsupported import unsupported_method
from headrace.errors import PlanError

__all__ = ["MemorySize", "SlotSharingGroup"]

_JVM = "Headrace has no Flink JVM"


class MemorySize:
    """An amount of memory in bytes."""

    get_java_memory_size = unsupported_method(_JVM)

    def __init__(self, *, bytes_size: int = 0) -> None:
        if bytes_size < 0:
            raise PlanError(f"an amount of memory cannot be negative: {bytes_size}")
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return an amount of ``mebi_bytes`` MiB."""
        return MemorySize(bytes_size=mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Return the amount in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the amount in KiB, rounded down."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Return the amount in MiB, rounded down."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Return the amount in GiB, rounded down."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Return the amount in TiB, rounded down."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and other._bytes == self._bytes

    def __lt__(self, other: MemorySize) -> bool:
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash(("MemorySize", self._bytes))

    def __repr__(self) -> str:
        return f"MemorySize(bytes_size={self._bytes})"


class SlotSharingGroup:
    """A named group with resources; made by ``SlotSharingGroup.builder(name)``.

    It has no effect on Spark, which schedules the tasks.
    """

    get_java_slot_sharing_group = unsupported_method(_JVM)

    class Builder:
        """Builds a ``SlotSharingGroup``."""

        def __init__(self, name: str) -> None:
            self._group = SlotSharingGroup(name)

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the number of CPU cores, which must be greater than 0."""
            if cpu_cores <= 0:
                raise PlanError(f"a number of CPU cores must be above zero, not {cpu_cores}")
            self._group._cpu_cores = float(cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the heap memory of a task."""
            self._group._task_heap = task_heap_memory
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap memory of a task in MiB."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize
        ) -> SlotSharingGroup.Builder:
            """Set the off-heap memory of a task."""
            self._group._task_off_heap = task_off_heap_memory
            return self

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Set the off-heap memory of a task in MiB."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the managed memory."""
            self._group._managed = managed_memory
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory in MiB."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set the amount of another resource, such as ``gpu``."""
            self._group._external[name] = float(value)
            return self

        def build(self) -> SlotSharingGroup:
            """Return the group."""
            return self._group

    def __init__(self, name: str) -> None:
        if not name:
            raise PlanError("a slot sharing group needs a name")
        self._name = name
        self._cpu_cores: float | None = None
        self._task_heap: MemorySize | None = None
        self._task_off_heap: MemorySize | None = None
        self._managed: MemorySize | None = None
        self._external: dict[str, float] = {}

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Return a builder for a group with this name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Return the group's name."""
        return self._name

    def get_managed_memory(self) -> MemorySize | None:
        """Return the configured managed memory, or None."""
        return self._managed

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the configured heap memory of a task, or None."""
        return self._task_heap

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the configured off-heap memory of a task, or None."""
        return self._task_off_heap

    def get_cpu_cores(self) -> float | None:
        """Return the configured number of CPU cores, or None."""
        return self._cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """Return the configured amounts of other resources, by name."""
        return dict(self._external)

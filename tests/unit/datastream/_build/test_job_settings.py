"""What an environment sets in its configuration, and values without effect."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from headrace.common._no_effect import no_effect_reason
from headrace.common.configuration import Configuration
from headrace.common.time import Duration
from headrace.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    HashMapStateBackend,
    MemorySize,
    PredefinedOptions,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from headrace.datastream._streams.closeable_iterator import CloseableIterator
from headrace.errors import ConfigurationError, PlanError


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_the_configuration_is_copied() -> None:
    given = Configuration().set_integer("parallelism.default", 3)
    env = StreamExecutionEnvironment.get_execution_environment(given)
    given.set_integer("parallelism.default", 4)
    assert env.get_parallelism() == 3
    env.set_parallelism(5)
    assert given.get_integer("parallelism.default", 0) == 4
    env.configure(Configuration().set_string("pipeline.name", "n"))
    assert env.get_parallelism() == 5
    assert env._configuration.get_string("pipeline.name", "") == "n"


def test_settings_reach_the_configuration(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(4).set_max_parallelism(64).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.disable_operator_chaining()
    assert env._configuration.to_dict() == {
        "parallelism.default": "4",
        "pipeline.max-parallelism": "64",
        "execution.runtime-mode": "BATCH",
        "pipeline.operator-chaining.enabled": "false",
    }
    assert (env.get_parallelism(), env.get_max_parallelism()) == (4, 64)
    assert not env.is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    env.get_config().set_global_job_parameters({"a": "b"})
    assert env.get_config().get_global_job_parameters() == {"a": "b"}


def test_defaults(env: StreamExecutionEnvironment) -> None:
    assert env.get_parallelism() == env.get_default_local_parallelism() >= 1
    assert env.get_max_parallelism() == 128
    assert env.get_checkpoint_interval() == -1
    assert env.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert env.get_buffer_timeout() == 100
    assert env.get_default_savepoint_directory() is None
    assert env.is_changelog_state_backend_enabled() is None


def test_what_is_saved_is_read_back(env: StreamExecutionEnvironment) -> None:
    env.enable_checkpointing(dt.timedelta(seconds=3), CheckpointingMode.AT_LEAST_ONCE)
    assert env.get_checkpoint_interval() == 3000
    assert env.get_checkpointing_consistency_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.set_buffer_timeout(7).get_buffer_timeout() == 7
    assert env.set_buffer_timeout(-1).get_buffer_timeout() == 100
    assert env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled() is True
    env.set_default_savepoint_directory("s3://here")
    assert env.get_default_savepoint_directory() == "s3://here"
    env.set_default_local_parallelism(2)
    env.register_slot_sharing_group(SlotSharingGroup("g"))
    env.add_jars("file:///a.jar")
    env.add_classpaths("file:///a.jar")


@pytest.mark.parametrize(
    "call",
    [
        lambda env: env.set_parallelism(0),
        lambda env: env.set_parallelism("2"),
        lambda env: env.set_max_parallelism(40_000),
        lambda env: env.set_default_local_parallelism(-1),
        lambda env: env.set_runtime_mode("BATCH"),
        lambda env: env.enable_checkpointing(0),
        lambda env: env.set_buffer_timeout(-2),
        lambda env: env.from_source(None, None, ""),
        lambda env: env.get_checkpoint_config().set_max_concurrent_checkpoints(0),
        lambda env: env.get_checkpoint_config().set_checkpointing_mode("EXACTLY_ONCE"),
    ],
)
def test_settings_are_checked(env: StreamExecutionEnvironment, call: Any) -> None:
    with pytest.raises(PlanError):
        call(env)


def test_an_unknown_key_names_its_neighbour() -> None:
    with pytest.raises(ConfigurationError, match=r"parallelism\.default"):
        Configuration().set_string("parallelism.defualt", "2")


def test_checkpoint_config(env: StreamExecutionEnvironment) -> None:
    config = env.get_checkpoint_config()
    assert not config.is_checkpointing_enabled() and config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    retain = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    config.set_checkpoint_interval(1000).set_checkpoint_timeout(2000)
    config.set_min_pause_between_checkpoints(3).set_max_concurrent_checkpoints(2)
    config.set_externalized_checkpoint_retention(retain).enable_unaligned_checkpoints()
    config.set_aligned_checkpoint_timeout(Duration.of_millis(4)).set_force_unaligned_checkpoints()
    config.set_fail_on_checkpointing_errors(False)
    again = env.get_checkpoint_config()
    assert again.is_checkpointing_enabled() and again.get_checkpoint_interval() == 1000
    assert again.get_checkpoint_timeout() == 2000
    assert again.get_min_pause_between_checkpoints() == 3
    assert again.get_max_concurrent_checkpoints() == 2
    assert again.get_externalized_checkpoint_retention() is retain
    assert again.is_externalized_checkpoints_enabled()
    assert again.get_aligned_checkpoint_timeout() == Duration.of_millis(4)
    assert again.get_alignment_timeout() == Duration.of_millis(4)
    assert again.is_force_unaligned_checkpoints() and env.is_force_unaligned_checkpoints()
    assert env.is_unaligned_checkpoints_enabled()
    assert not again.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert not again.is_fail_on_checkpointing_errors()
    assert again.set_alignment_timeout(5).get_alignment_timeout() == Duration.of_millis(5)


def test_state_backends_are_values() -> None:
    assert no_effect_reason(HashMapStateBackend) is not None
    backend = EmbeddedRocksDBStateBackend(True)
    assert backend.is_incremental_checkpoints_enabled() and backend.get_db_storage_paths() is None
    backend.set_db_storage_paths("/a", "/b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_options("x.Y")
    backend.set_number_of_transfer_threads(8)
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert (backend.get_options(), backend.get_number_of_transfer_threads()) == ("x.Y", 8)


def test_slot_sharing_groups_are_values() -> None:
    group = (
        SlotSharingGroup.builder("g")
        .set_cpu_cores(2)
        .set_task_heap_memory_mb(1)
        .set_task_off_heap_memory_mb(2)
        .set_managed_memory_mb(3)
        .set_external_resource("gpu", 1)
        .build()
    )
    assert (group.get_name(), group.get_cpu_cores()) == ("g", 2.0)
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(1)
    assert group.get_task_off_heap_memory() == MemorySize.of_mebi_bytes(2)
    assert group.get_managed_memory() == MemorySize(bytes_size=3 << 20)
    assert group.get_external_resources() == {"gpu": 1.0}
    size = MemorySize.of_mebi_bytes(2048)
    assert (size.get_kibi_bytes(), size.get_gibi_bytes(), size.get_tebi_bytes()) == (2 << 20, 2, 0)
    assert MemorySize(bytes_size=1) < size and len({size, MemorySize.of_mebi_bytes(2048)}) == 1
    for wrong in (lambda: SlotSharingGroup(""), lambda: MemorySize(bytes_size=-1)):
        with pytest.raises(PlanError):
            wrong()
    with pytest.raises(PlanError, match="CPU cores"):
        SlotSharingGroup.builder("g").set_cpu_cores(0)


def test_a_closeable_iterator() -> None:
    closed: list[int] = []
    with CloseableIterator(iter([1, 2, 3]), lambda: closed.append(1)) as results:
        assert results.next() == 1 and next(results) == 2
    results.close()
    assert closed == [1] and list(results) == []
    assert list(CloseableIterator(iter("ab"))) == ["a", "b"]


def test_settings_without_their_quotes_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SETTINGS", "{parallelism.default: 2}")
    with pytest.raises(ConfigurationError, match="HEADRACE_SETTINGS is not JSON") as error:
        StreamExecutionEnvironment.get_execution_environment()
    assert "YARN takes quotes away" in error.value.hint

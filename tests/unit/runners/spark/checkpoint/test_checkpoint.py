"""A job's checkpoint: whose it is, who may use it, and what is left of a killed driver."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Encoder, WatermarkStrategy
from headrace.common._storage.memory_store import MemoryStore
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._dataframe_source import DataFrameSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.errors import CheckpointError, CheckpointLockedError, ConfigurationError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.clock import wall_clock_ms
from headrace.runners.launch import program_of
from headrace.runners.spark.checkpoint import layout
from headrace.runners.spark.checkpoint.checkpoint import (
    Checkpoint,
    check_put_if_absent,
    commit_of,
)
from headrace.runners.spark.checkpoint.layout import CheckpointFolder, folder_name
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runtime.coordination.offset import NO_PROGRESS, Offset, WorkLimits
from headrace.runtime.program import JobProgram
from tests.connectors.sqlite_log import SqliteLogSink
from tests.unit.common._storage.test_remote import MemoryFiles
from tests.unit.planner.test_kept_subtasks import planned

HOLD = """\
import sys
from tests.unit.runners.spark.checkpoint.test_checkpoint import program
from headrace.runners.clock import wall_clock_ms
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
checkpoint = Checkpoint.open(sys.argv[1], program(), fresh=False)
print("held", flush=True)
sys.stdin.read()
"""


def program(
    name: str = "job", keyed: bool = True, values: Sequence[Any] = (1,), uid: str | None = None
) -> JobProgram:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "local", "parallelism.default": "3"})
    )
    stream = env.from_collection(list(values))
    if keyed:
        stream = stream.key_by(lambda v: v).sum()
        stream = stream.uid(uid) if uid else stream
    stream.print()
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, name)


def plan(checkpoint: Checkpoint, *batches: int) -> Path:
    """What Spark writes when it has planned micro-batches."""
    offsets = Path(checkpoint.spark) / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    (offsets.parent / "metadata").write_text('{"id": "a"}')
    for batch in batches:
        (offsets / str(batch)).write_text(offset_at(batch + 1))
    return offsets


def committed(base: Path, made_by: JobProgram) -> Path:
    """A checkpoint in which one micro-batch is through; its folder."""
    with Checkpoint.open(str(base), made_by, fresh=False) as checkpoint:
        plan(checkpoint, 0)
        with commit_of(checkpoint.folder, checkpoint.owner, 0):
            SplitStates(checkpoint.folder.store).save(1, {})
        return Path(checkpoint.directory)


def test_a_checkpoint_remembers_its_shape(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as first:
        scope, partitions = first.scope, first.partitions
        assert first.directory == str(tmp_path / "job") and not first.temporary
    assert partitions == 3
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as again:
        assert (again.scope, again.partitions) == (scope, 3)


def test_a_program_that_cannot_go_on_is_refused_until_it_starts_anew(tmp_path: Path) -> None:
    folder = committed(tmp_path, program())
    with pytest.raises(
        CheckpointError, match="'job' cannot continue from its checkpoint"
    ) as caught:
        Checkpoint.open(str(tmp_path), program(keyed=False), fresh=False)
    assert "no operator 'Sum'" in caught.value.message
    assert "HEADRACE_FRESH=1" in str(caught.value.hint)
    with Checkpoint.open(str(tmp_path), program(keyed=False), fresh=True):
        assert not any((folder / "splits").glob("*")) and not (folder / "spark").exists()


def telling_time(chained: bool) -> JobProgram:
    """A program that makes watermarks in its source tasks, or in those after them."""
    env = StreamExecutionEnvironment(Configuration.from_dict({"parallelism.default": "3"}))
    if not chained:
        env.disable_operator_chaining()
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    timed = env.from_sequence(1, 9).assign_timestamps_and_watermarks(times)
    timed.key_by(lambda v: v).sum().uid("sums").print()
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")


@pytest.mark.parametrize("chained", [True, False])
def test_watermarks_of_other_tasks_wait_for_the_end_of_a_micro_batch(
    tmp_path: Path, chained: bool
) -> None:
    """Its timers could fire in another micro-batch than those that sinks have published."""
    with Checkpoint.open(str(tmp_path), telling_time(chained), fresh=False) as first:
        spark, stages = Path(first.spark), len(telling_time(chained).stages)
    spark_commits(spark, 0, planned=1, stages=stages)
    with pytest.raises(CheckpointError, match=r"was not completed.*timers could fire twice"):
        Checkpoint.open(str(tmp_path), telling_time(not chained), fresh=False)
    Checkpoint.open(str(tmp_path), telling_time(chained), fresh=False).close()
    spark_commits(spark, 0, 1, stages=stages)
    Checkpoint.open(str(tmp_path), telling_time(not chained), fresh=False).close()


def to_a_log(deeper: bool = False, renamed: bool = False) -> JobProgram:
    """A program whose sink commits by task."""
    env = StreamExecutionEnvironment(Configuration.from_dict({"parallelism.default": "3"}))
    stream = env.from_sequence(1, 9)
    stream = stream.rebalance().map(lambda v: v) if deeper else stream
    stream = stream.map(lambda v: v).name("renamed") if renamed else stream
    stream.key_by(lambda v: v).sum().uid("sums").sink_to(SqliteLogSink("log")).uid("log")
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")


@pytest.mark.parametrize("done", [0, 1])
def test_another_way_to_a_sink_that_commits_by_task_waits_for_the_end_of_a_micro_batch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], done: int
) -> None:
    """Some of its tasks may have committed: of the first micro-batch too."""
    with Checkpoint.open(str(tmp_path), to_a_log(), fresh=False) as first:
        scope, spark = first.scope, Path(first.spark)
    spark_commits(spark, *range(done), planned=done)
    for _ in range(2):
        with pytest.raises(CheckpointError, match="was not completed") as caught:
            Checkpoint.open(str(tmp_path), to_a_log(deeper=True), fresh=False)
        assert caught.value.where["sink"] == "'SqliteLogSink' (uid=log)"
    with Checkpoint.open(str(tmp_path), to_a_log(renamed=True), fresh=False) as again:
        assert (again.scope, again.generation.number) == (scope, 0)
    spark_commits(spark, *range(done + 1))
    with Checkpoint.open(str(tmp_path), to_a_log(deeper=True), fresh=False) as moved:
        assert (moved.scope, moved.generation.number) == (scope, 1)
    assert "starts anew" not in capsys.readouterr().err


def test_a_program_that_comes_back_is_distinguished_from_its_earlier_version(
    tmp_path: Path,
) -> None:
    """Its tasks would take what another one has left for their own."""
    one = replace(program(), fingerprint="one")
    other = replace(one, fingerprint="other")

    def identity(started: JobProgram) -> str:
        with Checkpoint.open(str(tmp_path), started, fresh=False) as checkpoint:
            return checkpoint.program.identity

    folder = committed(tmp_path, one)
    spark_commits(folder / "spark", 0)
    assert [identity(each) for each in (one, one, other, other)] == ["one"] * 2 + ["other-1"] * 2
    assert [identity(each) for each in (one, one, other)] == ["one-2", "one-2", "other-3"]
    # What was planned and not completed is repeated by who planned it as it was, as far as it can:
    # nobody has changed any state since.
    (folder / "spark" / "offsets" / "1").write_text(offset_at(2, identity="one-2"))
    assert [identity(each) for each in (one, other, one)] == ["one-2", "other-3", "one-2"]
    spark_commits(folder / "spark", 1)
    assert [identity(each) for each in (other, one)] == ["other-3", "one-4"]
    # An older build, that ran another program last, wrote this down with its micro-batches only.
    with Checkpoint.open(str(tmp_path), one, fresh=False) as checkpoint:
        replace(checkpoint._metadata, identity="").write(checkpoint.folder.store)
    (folder / "spark" / "offsets" / "1").write_text(offset_at(2, identity="other"))
    assert identity(one) == "one-1"


def test_the_states_of_an_operator_that_is_gone_are_named(tmp_path: Path) -> None:
    folder, before = committed(tmp_path, program(uid="sums")), program(uid="sums")
    spark_commits(folder / "spark", 0, 1)
    asked = []

    def read_states(spark: str, stages: Any, batch: int) -> dict[str, list[str]]:
        asked.append((spark, stages, batch))
        return {"sums": ["total (value)", "seen (list)"], "other": ["another (map)"]}

    Checkpoint.open(str(tmp_path), before, fresh=False, read_states=read_states).close()
    assert asked == []
    for _ in range(2):
        with pytest.raises(CheckpointError, match=r"its states: seen \(list\), total \(value\)"):
            other = program(keyed=False)
            Checkpoint.open(str(tmp_path), other, fresh=False, read_states=read_states)
        assert asked.pop() == (str(folder / "spark"), (("sums",),), 1)
        # And in a generation that has not taken the state over.
        now = other_stages(before)
        Checkpoint.open(str(tmp_path), now, fresh=False, read_states=read_states).close()
        assert asked == []


def test_a_clock_that_is_behind_the_checkpoint_is_said_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = committed(tmp_path, program())
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()
    assert "clock" not in capsys.readouterr().err
    (file,) = folder.glob("**/offsets/0")
    offset = json.loads(file.read_text().splitlines()[2])
    ahead_ms = wall_clock_ms() + 50 * 3_600_000 + 60_000
    file.write_text("v1\n{}\n" + json.dumps({**offset, "now_ms": ahead_ms}))
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()
    said = capsys.readouterr().err
    assert "headrace: this machine's clock is 2 days, 2:00:" in said
    assert "behind the processing time of the job" in said


def test_state_that_nobody_claims_is_given_up_where_it_is_asked_for(tmp_path: Path) -> None:
    committed(tmp_path, program())
    other = program(uid="another")
    with pytest.raises(CheckpointError, match="no operator 'Sum'"):
        Checkpoint.open(str(tmp_path), other, fresh=False)
    Checkpoint.open(str(tmp_path), other, fresh=False, ignore_unclaimed=True).close()
    Checkpoint.open(str(tmp_path), other, fresh=False).close()
    with pytest.raises(CheckpointError, match="was dropped before"):
        Checkpoint.open(str(tmp_path), program(), fresh=False, ignore_unclaimed=True)


def offset_at(epoch: int, ended: Sequence[str] = (), identity: str = "") -> str:
    """Spark's file of a planned micro-batch, in which some sources have ended."""
    sources = {source: replace(NO_PROGRESS, ended=True) for source in ended}
    return "v1\n{}\n" + json.dumps(
        Offset(epoch, epoch, epoch, WorkLimits(1, 1), sources, identity).to_json()
    )


def other_stages(made_by: JobProgram) -> JobProgram:
    """The same with one more stage, before those that are there."""
    (vertex,) = made_by.stages[0]
    before = replace(vertex, id="another", chain=replace(vertex.chain, nodes={}))
    head = vertex.chain.nodes[vertex.chain.root]
    stateless = replace(head, id="another", spec=None)
    before = replace(before, chain=replace(vertex.chain, root="a", nodes={"a": stateless}))
    return replace(made_by, stages=((before,), (replace(vertex, stage=2),)))


IDS = ["id-0", "id-1", "id-2"]
"""Of the state after a micro-batch, by partition."""


def spark_commits(folder: Path, *batches: int, planned: int | None = None, stages: int = 1) -> None:
    """What Spark writes when micro-batches are through, and one more was planned."""
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "commits").mkdir(exist_ok=True)
    (folder / "metadata").write_text('{"id": "a"}')
    ids = {str(operator): [[id_] for id_ in IDS] for operator in range(stages)}
    for batch in batches:
        (folder / "offsets" / str(batch)).write_text(offset_at(batch + 1))
        committed = json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": ids})
        (folder / "commits" / str(batch)).write_text(f"v2\n{committed}")
        for operator in range(stages):
            spark_state(folder / "state" / str(operator), batch + 1)
    if planned is not None:
        (folder / "offsets" / str(planned)).write_text(offset_at(planned + 1))


def spark_state(folder: Path, version: int) -> None:
    """Files of an operator's state; only their names are looked at before a start."""
    schema = folder / "_stateSchema" / "default" / "0_id"
    described = folder / "_metadata" / "v2"
    schema.parent.mkdir(parents=True, exist_ok=True)
    described.mkdir(parents=True, exist_ok=True)
    schema.write_text("")
    stores = [{"storeName": "default", "stateSchemaFilePaths": [f"file:{schema}"]}]
    (described / "0").write_text(f"v2\n{json.dumps({'stateStoreInfo': stores})}")
    for partition, id_ in enumerate(IDS):
        (folder / str(partition)).mkdir(exist_ok=True)
        (folder / str(partition) / f"{version}_{id_}.changelog").write_text("")


def test_state_moves_to_other_stages_in_a_folder_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, before, now = committed(tmp_path, program()), program(), other_stages(program())
    spark_commits(folder / "spark", 0, 1, planned=2)
    with Checkpoint.open(str(tmp_path), now, fresh=False) as moving:
        origin = moving.generation.origin
        assert origin is not None and (origin.number, origin.batch) == (0, 1)
        assert origin.stages == ((before.stages[0][0].id,),)
        assert origin.planned is not None
        assert (origin.start["epoch"], origin.planned["epoch"]) == (2, 3)
        assert moving.generation.first_batch == 2
        assert moving.resumed and not moving.finished
        assert moving.spark == str(folder / "spark-1") and not Path(moving.spark).exists()
        moving.settle_generation()
        assert moving.generation.origin == origin
    assert "moves to other stages of 'job'" in capsys.readouterr().err
    # A driver that died meanwhile begins that again, and leaves the old folder whole.
    spark_commits(folder / "spark-1", planned=0)
    with Checkpoint.open(str(tmp_path), now, fresh=False) as again:
        assert again.generation.origin == origin and (folder / "spark").exists()
        spark_commits(folder / "spark-1", 0, stages=2)
        again.settle_generation()
        assert again.generation.origin is None and again.generation.first_batch == 2
        assert not (folder / "spark").exists()
    with Checkpoint.open(str(tmp_path), now, fresh=False) as without_origin_if:
        assert without_origin_if.spark == str(folder / "spark-1")
        assert without_origin_if.generation == again.generation


@pytest.mark.parametrize("planned_next", [None, 1])
def test_state_of_instances_is_shared_out_unless_a_micro_batch_is_to_be_repeated(
    tmp_path: Path, planned_next: int | None
) -> None:
    before = planned(3)
    folder = committed(tmp_path, before)
    spark_commits(folder / "spark", 0, planned=planned_next, stages=len(before.stages))
    with Checkpoint.open(str(tmp_path), planned(2), fresh=False) as checkpoint:
        origin, groups = checkpoint.generation.origin, checkpoint.program.vertex("counts").groups
        if planned_next is None:
            assert groups == 2 and origin is not None and origin.groups["counts"] == 3
        else:
            assert groups == 3 and origin is None
    if planned_next is None:
        # Nothing was taken over yet, and the number changes again: the state is still that of 3.
        with Checkpoint.open(str(tmp_path), planned(4), fresh=False) as again:
            origin = again.generation.origin
            assert origin is not None and origin.groups["counts"] == 3
            assert again.program.vertex("counts").groups == 4


def test_the_old_folder_goes_at_the_next_start_where_a_driver_died_before_that(
    tmp_path: Path,
) -> None:
    folder, now = committed(tmp_path, program()), other_stages(program())
    spark_commits(folder / "spark", 0)
    Checkpoint.open(str(tmp_path), now, fresh=False).close()
    spark_commits(folder / "spark-1", 0, stages=2)
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as back:
        assert back.generation.number == 2 and back.generation.first_batch == 2
        assert back.generation.origin is not None and back.generation.origin.number == 1
        assert sorted(path.name for path in folder.glob("spark*")) == ["spark-1"]


def test_state_that_is_to_be_taken_over_must_be_there(tmp_path: Path) -> None:
    folder, now = committed(tmp_path, program()), other_stages(program())
    spark_commits(folder / "spark", 0)
    Checkpoint.open(str(tmp_path), now, fresh=False).close()
    shutil.rmtree(folder / "spark")
    with pytest.raises(CheckpointError, match="the state that is to be taken over is missing"):
        Checkpoint.open(str(tmp_path), now, fresh=False)


def test_a_finished_job_with_other_stages_stays_finished(tmp_path: Path) -> None:
    folder, now = committed(tmp_path, program()), other_stages(program())
    spark_commits(folder / "spark", 0)
    end_sources(folder / "spark", now)
    for _ in range(2):
        with Checkpoint.open(str(tmp_path), now, fresh=False) as checkpoint:
            assert checkpoint.generation.number == 1 and checkpoint.finished


def end_sources(folder: Path, made_by: JobProgram) -> None:
    """Let the first micro-batch be the last one of a program's sources."""
    ended = [source.id for source in made_by.sources]
    (folder / "offsets" / "0").write_text(offset_at(1, ended))


def stop_sources(folder: Path, made_by: JobProgram, **progress: Any) -> None:
    """Let the first micro-batch end where the sources stop."""
    at_end = {s.id: replace(NO_PROGRESS, ended=True, **progress) for s in made_by.sources}
    offset = Offset(1, 1, 1, WorkLimits(1, 1), at_end)
    (folder / "offsets" / "0").write_text("v1\n{}\n" + json.dumps(offset.to_json()))


def test_a_job_that_only_stopped_is_not_finished(tmp_path: Path) -> None:
    folder, now = committed(tmp_path, program()), program()
    spark_commits(folder / "spark", 0)
    stop_sources(folder / "spark", now, suspended=True, until="5 records")
    with Checkpoint.open(str(tmp_path), now, fresh=False) as checkpoint:
        assert checkpoint.suspended and not checkpoint.finished
    moved = other_stages(now)
    with Checkpoint.open(str(tmp_path), moved, fresh=False) as checkpoint:
        assert checkpoint.generation.number == 1 and not checkpoint.finished


def test_a_program_that_would_read_on_after_the_end_is_refused(tmp_path: Path) -> None:
    folder, now = committed(tmp_path, program()), program()
    spark_commits(folder / "spark", 0)
    stop_sources(folder / "spark", now, drained=True, until="its end")
    with Checkpoint.open(str(tmp_path), now, fresh=False) as checkpoint:
        assert checkpoint.finished and not checkpoint.suspended
    stop_sources(folder / "spark", now, drained=True, until="5 records")
    for program_ in (now, other_stages(now)):
        with pytest.raises(CheckpointError, match="an earlier run was drained") as caught:
            Checkpoint.open(str(tmp_path), program_, fresh=False)
        assert caught.value.where["checkpoint"] == str(folder)


def test_a_source_that_is_added_to_a_finished_job_is_read(tmp_path: Path) -> None:
    folder, now = committed(tmp_path, program()), program()
    spark_commits(folder / "spark", 0)
    end_sources(folder / "spark", now)
    with Checkpoint.open(str(tmp_path), now, fresh=False) as checkpoint:
        assert checkpoint.finished
        assert checkpoint.started_sources == {source.id for source in now.sources}
    more = replace(now, sources=(*now.sources, replace(now.sources[0], id="new", uid="new")))
    with Checkpoint.open(str(tmp_path), more, fresh=False) as checkpoint:
        assert not checkpoint.finished


def test_a_streaming_dataframe_does_not_move(tmp_path: Path) -> None:
    folder, now = committed(tmp_path, program()), other_stages(program())
    spark_commits(folder / "spark", 0)
    (source,) = now.sources
    frame = replace(source, source=DataFrameSource(None, ends=False))
    with pytest.raises(CheckpointError, match="streaming DataFrame"):
        Checkpoint.open(str(tmp_path), replace(now, sources=(frame,)), fresh=False)
    assert not (folder / "spark-1").exists()


def reading(*uids: str) -> JobProgram:
    """A program that reads streaming DataFrames, in this order, beside a collection."""
    env = StreamExecutionEnvironment(Configuration.from_dict({"parallelism.default": "3"}))
    for uid in uids:
        frame = DataFrameSource(None, ends=False)
        env.from_source(frame, WatermarkStrategy.no_watermarks(), uid).uid(uid).print()
    env.from_collection([1]).key_by(lambda v: v).sum().uid("sums").print()
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")


def test_streaming_dataframes_keep_their_order_in_the_query(tmp_path: Path) -> None:
    """Spark knows them by their number, and a program may name them in another order."""
    with Checkpoint.open(str(tmp_path), reading("a", "b"), fresh=False) as first:
        spark = Path(first.spark)
    spark_commits(spark, 0)
    for _ in range(2):
        with Checkpoint.open(str(tmp_path), reading("b", "a"), fresh=False) as swapped:
            assert (swapped.dataframes, swapped.generation.number) == (["a", "b"], 0)


def test_a_streaming_dataframe_may_come_where_there_was_none(tmp_path: Path) -> None:
    """Spark takes no other number of them in one query; how far they are read it alone knows."""
    with Checkpoint.open(str(tmp_path), reading(), fresh=False) as first:
        spark = Path(first.spark)
    spark_commits(spark, 0)
    with Checkpoint.open(str(tmp_path), reading("a"), fresh=False) as one:
        assert (one.dataframes, one.generation.number) == (["a"], 1)
    spark_commits(Path(one.spark), 0)
    for others in (("b", "a"), ("a", "b")):
        with pytest.raises(
            CheckpointError, match="the streaming DataFrame 'a' would be read from its beginning"
        ):
            Checkpoint.open(str(tmp_path), reading(*others), fresh=False)
    Checkpoint.open(str(tmp_path), reading("a"), fresh=False).close()
    with Checkpoint.open(str(tmp_path), reading(), False, ignore_unclaimed=True) as none:
        assert (none.dataframes, none.generation.number) == ([], 2)


def test_other_stages_before_the_first_commit_begin_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as first:
        plan(first, 0)
    with Checkpoint.open(str(tmp_path), other_stages(program()), fresh=False) as other:
        assert other.generation.number == 0 and not other.resumed
    assert "the program has other stages" in capsys.readouterr().err


def test_fresh_means_a_new_scope(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as first:
        scope = first.scope
    with Checkpoint.open(str(tmp_path), program(), fresh=True) as anew:
        assert anew.scope != scope


# Whose it is.


def test_a_name_has_one_folder() -> None:
    names = [
        *("job", "Job", "JOB", "a/b", "a b", "a-b", "a_b", "a+2fb", "..", ".", "", "+", "~", "-"),
        *("заказы", "заявки", "注文", "取引", "x" * 300, "x" * 301, "X" * 300, "ж" * 300),
    ]
    folders = [folder_name(name) for name in names]
    assert len({folder.lower() for folder in folders}) == len(names)
    assert all(len(folder.encode()) < 200 and not folder.startswith(".") for folder in folders)
    assert all("/" not in folder and "%" not in folder for folder in folders)
    assert folder_name("visits-2.by_hour") == "visits-2.by_hour"
    assert folder_name("a b/c") == "a+20b+2fc"
    assert folder_name("Visits").startswith("Visits~")


def test_jobs_of_other_names_have_folders_of_their_own(tmp_path: Path) -> None:
    with (
        Checkpoint.open(str(tmp_path), program("a b/c"), fresh=False) as one,
        Checkpoint.open(f"file://{tmp_path}", program("other"), fresh=False) as other,
    ):
        assert (one.directory, other.directory) == (
            str(tmp_path / "a+20b+2fc"),
            str(tmp_path / "other"),
        )


def test_a_path_on_remote_storage_that_spark_does_not_find_again_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A local path may have the same characters."""
    files = MemoryFiles()
    monkeypatch.setattr(layout, "file_system_of", lambda location: files)
    with pytest.raises(ConfigurationError, match="cannot have ' ' '%' in its path"):
        Checkpoint.open("s3a://bucket/a b%", program(), fresh=False)
    assert files.content == {}
    CheckpointFolder("/data/a b%/job").check_name()


def test_a_folder_that_was_given_to_another_name_is_refused(tmp_path: Path) -> None:
    committed(tmp_path, program("clicks")).rename(tmp_path / "visits")
    with pytest.raises(CheckpointError, match="belongs to the job 'clicks', not to 'visits'"):
        Checkpoint.open(str(tmp_path), program("visits"), fresh=False)


def test_a_collection_with_other_values_is_refused(tmp_path: Path) -> None:
    committed(tmp_path, program(values=["a", "b"]))
    Checkpoint.open(str(tmp_path), program(values=["a", "b"]), fresh=False).close()
    with pytest.raises(CheckpointError, match="the values of") as caught:
        Checkpoint.open(str(tmp_path), program(values=["a", "c"]), fresh=False)
    assert "HEADRACE_FRESH=1" in str(caught.value.hint) and "source" in caught.value.where
    Checkpoint.open(str(tmp_path), program(values=["a", "c"]), fresh=True).close()


# What counts before and after the first commit.


def test_before_the_first_commit_the_next_program_may_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as first:
        scope = first.scope
        offsets = plan(first, 0)
        source = Path(first.directory) / "source-0"
        source.mkdir()
    with Checkpoint.open(str(tmp_path), program(keyed=False), fresh=False) as other:
        assert other.scope != scope and not offsets.exists() and not source.exists()
    assert "starts anew, because nothing was committed in it" in capsys.readouterr().err
    with Checkpoint.open(str(tmp_path), program(keyed=False), fresh=False) as again:
        assert again.scope == other.scope
    assert capsys.readouterr().err == ""


def test_a_sink_that_may_have_published_fixes_the_shape(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as checkpoint:
        plan(checkpoint, 0)
        with pytest.raises(OSError), commit_of(checkpoint.folder, checkpoint.owner, 0):
            raise OSError("a sink has failed, or has not")
    with pytest.raises(CheckpointError, match="cannot continue from its checkpoint"):
        Checkpoint.open(str(tmp_path), program(keyed=False), fresh=False)


def test_what_spark_has_committed_fixes_the_shape(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as checkpoint:
        spark_commits(Path(checkpoint.spark), 0)
    with pytest.raises(CheckpointError, match="cannot continue from its checkpoint"):
        Checkpoint.open(str(tmp_path), program(keyed=False), fresh=False)


def test_a_driver_killed_before_its_first_plan_leaves_nothing_that_counts(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as checkpoint:
        offsets = Path(checkpoint.spark) / "offsets"
        offsets.mkdir(parents=True)
        (offsets / ".0.1234.tmp").write_text("")
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as checkpoint:
        assert not offsets.exists() and not checkpoint.resumed
        plan(checkpoint, 0)
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as checkpoint:
        assert (offsets / "0").exists() and checkpoint.resumed


# Damage.


def damaged(base: Path, name: str, data: bytes | None) -> CheckpointError:
    """What opening a checkpoint says in which one object was changed, or removed (None)."""
    path = committed(base, program()) / name
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data if data else path.read_bytes()[:-4])
    with pytest.raises(CheckpointError) as caught:
        Checkpoint.open(str(base), program(), fresh=False)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("name", ["job", "begun"])
def test_an_error_of_a_truncated_object_names_its_path(name: str, tmp_path: Path) -> None:
    error = damaged(tmp_path, name, b"")
    assert "is cut short" in error.message and error.where["object"] == str(tmp_path / "job" / name)
    Checkpoint.open(str(tmp_path), program(), fresh=True).close()


def test_a_checkpoint_that_does_not_say_whose_it_is_is_refused(tmp_path: Path) -> None:
    error = damaged(tmp_path, "job", None)
    assert error.message == "the description of the job is missing"


def test_a_checkpoint_without_sparks_part_is_refused(tmp_path: Path) -> None:
    """Spark would begin at the first record, and the sinks would discard what they know."""
    error = damaged(tmp_path, "spark/offsets/0", None)
    assert "Spark's log of offsets is missing" in error.message


SPARKS_FILES = {
    "metadata": "removed cut",
    "offsets/3": "cut",
    "offsets/2": "removed cut",
    "offsets/1": "",
    "commits/2": "removed cut",
    "commits/1": "",
    "state/0/_metadata/v2/0": "removed cut",
    "state/0/_stateSchema/default/0_id": "removed",
    "state/0/1/3_id-1.changelog": "removed",
}
"""What of Spark's is looked at before a start, and the damage that is seen; the rest Spark sees."""


@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for name in SPARKS_FILES for how in ("removed", "cut")]
)
def test_sparks_files_are_looked_at_before_a_start(name: str, how: str, tmp_path: Path) -> None:
    folder = committed(tmp_path, program())
    spark_commits(folder / "spark", 0, 1, 2, planned=3)
    file = folder / "spark" / name
    text = file.read_text()
    file.unlink() if how == "removed" else file.write_text(text[: len(text) // 2])
    if how not in SPARKS_FILES[name]:
        Checkpoint.open(str(tmp_path), program(), fresh=False).close()
        assert name not in ("metadata", "commits/2")
        return
    with pytest.raises(CheckpointError) as caught:
        Checkpoint.open(str(tmp_path), program(), fresh=False)
    assert caught.value.where["file"] == str(file) and caught.value.hint


def test_an_offset_that_the_sinks_have_published_must_be_there(tmp_path: Path) -> None:
    """Without it Spark would plan the micro-batch again, and differently."""
    folder = committed(tmp_path, program())
    spark_commits(folder / "spark", 0, planned=1)
    SplitStates(CheckpointFolder(str(folder)).store).save(2, {})
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()
    (folder / "spark" / "offsets" / "1").unlink()
    with pytest.raises(CheckpointError, match="offset of a micro-batch") as caught:
        Checkpoint.open(str(tmp_path), program(), fresh=False)
    assert caught.value.where["file"] == str(folder / "spark" / "offsets" / "1")


def test_an_offset_of_which_the_checksum_is_left_was_lost(tmp_path: Path) -> None:
    folder = committed(tmp_path, program())
    spark_commits(folder / "spark", 0)
    offsets = folder / "spark" / "offsets"
    (offsets / ".1.crc").write_text("")
    (offsets / "..2.tmp.crc").write_text("")
    with pytest.raises(CheckpointError, match="offset of a micro-batch") as caught:
        Checkpoint.open(str(tmp_path), program(), fresh=False)
    assert caught.value.where["file"] == str(offsets / "1")


def test_a_folder_that_was_moved_points_into_itself_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = committed(tmp_path / "before", program())
    spark_commits(folder / "spark", 0)
    (folder / "spark/state/0/_metadata/v2/.0.crc").write_bytes(b"of the file as it was")
    Checkpoint.open(str(tmp_path / "before"), program(), fresh=False).close()
    assert capsys.readouterr().err == ""
    (tmp_path / "before").rename(tmp_path / "after")
    for printed in (True, False):
        Checkpoint.open(str(tmp_path / "after"), program(), fresh=False).close()
        assert ("was moved to" in capsys.readouterr().err) == printed
    described = tmp_path / "after" / "job" / "spark/state/0/_metadata/v2/0"
    assert described.read_text().startswith("v2\n{")
    assert f"file:{tmp_path}/after/job/spark/state/0/_stateSchema" in described.read_text()
    assert not described.with_name(".0.crc").exists()


# Who may use it.


@pytest.mark.slow
def test_a_second_driver_is_refused_with_the_address_of_the_first(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(CheckpointLockedError, match=f"process {holder.pid} on "):
            Checkpoint.open(str(tmp_path), program(), fresh=False)
        holder.kill()
    finally:
        holder.communicate()
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()


def test_a_job_of_this_process_holds_it_too(tmp_path: Path) -> None:
    with (
        Checkpoint.open(str(tmp_path), program(), fresh=False),
        pytest.raises(CheckpointLockedError, match=f"process {os.getpid()} on "),
    ):
        Checkpoint.open(str(tmp_path), program(), fresh=True)
    Checkpoint.open(str(tmp_path), program(), fresh=False).close()


def test_a_replaced_run_cannot_commit(tmp_path: Path) -> None:
    with Checkpoint.open(str(tmp_path), program(), fresh=False) as checkpoint:
        before = checkpoint.owner
        checkpoint.transfer_to_run("the next run")
        with (
            pytest.raises(CheckpointLockedError, match="another driver has taken over"),
            commit_of(checkpoint.folder, before, 0),
        ):
            raise AssertionError("it was let in")
        with commit_of(checkpoint.folder, checkpoint.owner, 0):
            pass


def test_a_temporary_checkpoint_goes_when_the_job_ends() -> None:
    with Checkpoint.open(None, program(), fresh=False) as checkpoint:
        assert checkpoint.temporary and Path(checkpoint.directory).exists()
    assert not Path(checkpoint.directory).exists()


def test_a_sink_that_may_hold_files_back_stays_where_it_is(tmp_path: Path) -> None:
    def to(folder: str) -> JobProgram:
        env = StreamExecutionEnvironment()
        sink = FileSink.for_row_format(folder, Encoder.simple_string_encoder()).build()
        env.from_sequence(1, 9).uid("numbers").sink_to(sink).uid("files")
        return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")

    before = tmp_path / "before"
    before.mkdir()
    with Checkpoint.open(str(tmp_path), to(str(before)), fresh=False) as first:
        spark_commits(Path(first.spark), 0, stages=0)
    Checkpoint.open(str(tmp_path), to(f"file://{before}/"), fresh=False).close()
    with pytest.raises(CheckpointError, match="'FileSink' writes to another place") as caught:
        Checkpoint.open(str(tmp_path), to(str(tmp_path / "after")), fresh=False)
    assert caught.value.where["was"] == str(before)
    before.rename(tmp_path / "after")
    Checkpoint.open(str(tmp_path), to(str(tmp_path / "after")), fresh=False).close()


class Forgetful(MemoryStore):
    """A store that ignores the condition that an object must not exist."""

    def put_if_absent(self, name: str, data: bytes) -> bool:
        self.put(name, data)
        return True


def test_a_store_without_conditional_writes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    folder, store = CheckpointFolder("s3a://bucket/job"), MemoryStore()
    monkeypatch.setattr(CheckpointFolder, "store", store)
    check_put_if_absent(folder)
    assert store.list() == [], "nothing is left of the probe"
    monkeypatch.setattr(CheckpointFolder, "store", Forgetful())
    with pytest.raises(CheckpointError, match="must not exist yet") as caught:
        check_put_if_absent(folder)
    assert caught.value.where == {"checkpoint": "s3a://bucket/job"}

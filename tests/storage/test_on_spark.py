"""Jobs whose input, results and checkpoint are on a real HDFS or S3; kills, damage, moves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.common._storage.locations import file_system_of, use_access
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.errors import CheckpointError
from tests.faults import sums_job
from tests.faults.processes import log_of, start
from tests.storage.servers import Storage

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("storage")]

LINES, KEYS = 400, 7
SUMS = Counter(str((f"k{n % KEYS}", sum(range(n % KEYS, n + 1, KEYS)))) for n in range(LINES))


def lines_in(folder: str) -> Counter[str]:
    """The lines of the published files, as any reader finds them."""
    files = file_system_of(folder)
    texts = ((files.read(file.path) or b"").decode() for file in files.walk(folder))
    return Counter(line for text in texts for line in text.splitlines())


def run(settings: dict[str, str], base: str, fails_at: int = LINES) -> None:
    """Running sums by key of the files in ``in``; the first run may fail at a line."""

    def pair(line: str) -> tuple[str, int]:
        key, number = line.split(",")
        if int(number) == fails_at:
            raise ValueError("not now")
        return key, int(number)

    configuration = {
        "parallelism.default": "2",
        "headrace.source.max-records-per-batch": "100",
        "headrace.source.min-records-per-batch": "100",
        "execution.checkpointing.dir": f"{base}/checkpoint",
        **settings,
    }
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(configuration)
    )
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{base}/in")
    lines = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines").uid("in")
    pairs = lines.map(pair).key_by(lambda pair: pair[0])
    sums = pairs.reduce(lambda a, b: (b[0], a[1] + b[1])).uid("sums")
    sink = FileSink.for_row_format(f"{base}/out", Encoder.simple_string_encoder()).build()
    sums.map(str, Types.STRING()).sink_to(sink).uid("out")
    env.execute("sums of lines")


@pytest.fixture
def filled(storage: Storage, base: str) -> str:
    text = "".join(f"k{n % KEYS},{n}\n" for n in range(LINES))
    file_system_of(base).replace(f"{base}/in/lines.csv", text.encode())
    return base


def test_the_local_runner_reads_and_writes(storage: Storage, filled: str) -> None:
    run({**storage.settings, "execution.target": "local"}, filled)
    use_access(storage.access)
    assert lines_in(f"{filled}/out") == SUMS


def test_a_failed_job_goes_on(spark_settings: dict[str, str], filled: str) -> None:
    with pytest.raises(ValueError, match="not now"):
        run(spark_settings, filled, fails_at=250)
    run(spark_settings, filled)
    assert lines_in(f"{filled}/out") == SUMS


def test_what_is_lost_is_named(spark_settings: dict[str, str], filled: str) -> None:
    with pytest.raises(ValueError, match="not now"):
        run(spark_settings, filled, fails_at=250)
    checkpoint = f"{filled}/checkpoint/sums+20of+20lines"
    files = file_system_of(checkpoint)
    found = [file.path for file in files.all_files(checkpoint)]
    splits = max(path for path in found if "/splits/" in path)
    before = files.read(splits)
    assert before is not None
    files.remove(splits)
    with pytest.raises(CheckpointError) as caught:
        run(spark_settings, filled)
    assert splits in str(caught.value)
    files.replace(splits, before[:-3])
    with pytest.raises(CheckpointError) as caught:
        run(spark_settings, filled)
    assert splits in str(caught.value)
    files.replace(splits, before)
    run(spark_settings, filled)
    assert lines_in(f"{filled}/out") == SUMS


@pytest.mark.fault
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "moments", [("after",), pytest.param((*sums_job.MOMENTS,), marks=pytest.mark.proof)]
)
def test_killed_at_a_commit(
    moments: tuple[str, ...], storage: Storage, base: str, tmp_path: Path
) -> None:
    output = tmp_path / "sums"
    for moment in {*sums_job.MOMENTS} - {*moments}:
        Path(f"{output}-killed-{moment}").touch()
    settings = [f"{key}={value}" for key, value in storage.settings.items()]
    codes: list[int] = []
    while not codes or codes[-1]:
        assert len(codes) <= len(moments), log_of(output)
        job = start("tests.faults.sums_job", str(output), f"{base}/out", *settings)
        try:
            codes.append(job.wait(180))
        finally:
            job.kill()
            job.wait()
    assert len(codes) == len(moments) + 1, log_of(output)
    expected = Counter(
        str((n % sums_job.KEYS, sum(range(n % sums_job.KEYS, n + 1, sums_job.KEYS))))
        for n in range(sums_job.RECORDS)
    )
    assert lines_in(f"{base}/out") == expected

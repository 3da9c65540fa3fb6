"""What a micro-batch has added to a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.runners.spark.checkpoint.spark_files import commit_size_bytes


def test_the_changes_of_all_partitions_count(tmp_path: Path) -> None:
    def write(name: str, text: str) -> int:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.write_text(text)

    ids = {"0": [["a"], ["b"]], "1": [["c", "d"]]}
    commit = json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": ids})
    size = write("offsets/4", "plan") + write("commits/4", f"v2\n{commit}")
    size += write("state/0/0/5_a.changelog", "123") + write("state/0/1/5_b.zip", "12345")
    write("state/0/0/5_a.zip", "the whole state")  # was made beside it, later
    size += write("state/1/0/5_c.changelog", "1") + write("state/1/0/5_d.changelog", "22")
    assert commit_size_bytes(str(tmp_path), 4) == size
    assert commit_size_bytes(str(tmp_path), 5) is None
    (tmp_path / "state/1/0/5_d.changelog").unlink()
    assert commit_size_bytes(str(tmp_path), 4) is None


def test_a_job_without_state_has_a_size_too(tmp_path: Path) -> None:
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0").write_text('v2\n{"nextBatchWatermarkMs":0}')
    assert commit_size_bytes(str(tmp_path), 0) == 2 * len('v2\n{"nextBatchWatermarkMs":0}')

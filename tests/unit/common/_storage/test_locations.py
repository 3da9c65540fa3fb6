from __future__ import annotations

import os

import pytest

from headrace.common._storage.local_files import LocalFiles
from headrace.common._storage.locations import (
    absolute,
    file_system_of,
    hadoop_url,
    is_url,
    location_of,
    split_url,
    uses_urls,
)
from headrace.errors import UnsupportedError


@pytest.mark.parametrize(
    ("given", "location"),
    [
        ("data/in", "data/in"),
        ("/data/in", "/data/in"),
        ("file:/data/a%20b", "/data/a b"),
        ("file:///data/in", "/data/in"),
        ("C:/data", "C:/data"),
        ("./with:colon/in", "./with:colon/in"),
        ("hdfs://nn:8020/data//in/", "hdfs://nn:8020/data/in"),
        ("hdfs:///data/in", "hdfs:///data/in"),
        ("HDFS://nn/a/../b", "hdfs://nn/b"),
        ("s3a://bucket", "s3a://bucket"),
        ("s3a://bucket/", "s3a://bucket"),
        ("s3a://bucket/a b%20c", "s3a://bucket/a b%20c"),
        ("abfss://c@account.dfs.core.windows.net/x", "abfss://c@account.dfs.core.windows.net/x"),
    ],
)
def test_where_a_path_leads(given: str, location: str) -> None:
    assert location_of(given) == location


@pytest.mark.parametrize("url", ["gs://bucket/x", "http://host/x", "viewfs://a/b"])
def test_unknown_schemes_are_refused(url: str) -> None:
    with pytest.raises(UnsupportedError, match=r"^checkpoints on .* are not supported") as caught:
        location_of(url, "checkpoints")
    assert "hdfs://" in str(caught.value.hint) and caught.value.where == {"path": url}


def test_another_scheme_of_s3_is_refused_with_what_to_write() -> None:
    with pytest.raises(UnsupportedError, match=r"^checkpoints on s3: are not") as caught:
        location_of("s3://bucket/x", "checkpoints")
    assert "s3a://bucket/x" in str(caught.value.hint)


def test_parts_of_a_url() -> None:
    assert split_url("hdfs://nn:8020/a/b") == ("hdfs", "nn:8020", "/a/b")
    assert split_url("hdfs:/a/b") == ("hdfs", "", "/a/b")
    assert split_url("s3a://bucket") == ("s3a", "bucket", "")
    assert str(split_url("s3a://bucket/a?b#c%20")) == "s3a://bucket/a?b#c%20"


def test_what_spark_is_given() -> None:
    assert hadoop_url("s3a://bucket/a b") == "s3a://bucket/a b"
    assert hadoop_url("/data/a b") == "file:/data/a b"
    assert hadoop_url("data") == f"file:{os.getcwd()}/data"
    assert absolute("s3a://bucket/x") == "s3a://bucket/x" and absolute("x") == os.path.abspath("x")


def test_which_jobs_need_access() -> None:
    assert uses_urls(["topic", "/data, hdfs://nn/x"])
    assert not uses_urls(["", "/data/in", "orders@host:9092", "postgresql://host/db", "file:/x"])
    assert is_url("hdfs://nn/x") and not is_url("file:/x") and not is_url("x")


def test_local_paths_have_the_local_file_system() -> None:
    assert isinstance(file_system_of("/data"), LocalFiles)

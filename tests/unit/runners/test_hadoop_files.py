from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import ConfigurationError
from headrace.runners.hadoop_files import access_without_spark

CORE = """<?xml version="1.0"?>
<configuration>
  <property><name> fs.defaultFS </name><value>hdfs://nn:8020</value><final>true</final></property>
  <property><name>fs.s3a.access.key</name><value>of the file</value></property>
  <property><name>no.value</name></property>
</configuration>
"""


def test_files_and_settings_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(CORE)
    settings = {"spark.hadoop.fs.s3a.access.key": "of the job", "spark.master": "local"}
    environ = {"HADOOP_CONF_DIR": str(tmp_path), "HADOOP_USER_NAME": "ann"}
    access = access_without_spark(settings, environ)
    assert access.user == "ann"
    assert access.settings == {
        "fs.defaultFS": "hdfs://nn:8020",
        "fs.s3a.access.key": "of the job",
    }


def test_without_files_there_is_a_user() -> None:
    access = access_without_spark({}, {})
    assert access.user and access.settings == {}


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "hdfs-site.xml").write_text("<configuration>")
    with pytest.raises(ConfigurationError, match="is not valid XML") as caught:
        access_without_spark({}, {"HADOOP_CONF_DIR": str(tmp_path)})
    assert "hdfs-site.xml" in str(caught.value)

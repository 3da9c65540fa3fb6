"""``examples/kubernetes``: the manifests have their schemas, and agree with the image."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from headrace.common import Configuration
from headrace.runners.dependencies.environment import LAUNCHER, PROGRAM
from tests.kubernetes.structural import problems

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "kubernetes"
SCHEMAS = yaml.safe_load(Path(__file__).with_name("schemas.yaml").read_text("utf-8"))["objects"]
OBJECTS = [
    (path.name, each)
    for path in sorted(FOLDER.glob("*.yaml"))
    for each in yaml.safe_load_all(path.read_text("utf-8"))
]
APPLICATIONS = [each["spec"] for _, each in OBJECTS if each["kind"] == "SparkApplication"]
DOCKERFILE = (FOLDER / "Dockerfile").read_text("utf-8")
JOB = "/opt/job"
POD_SPECS = ("driverSpec", "executorSpec")


def schema_of(value: Any) -> Any:
    return SCHEMAS[f"{value['apiVersion']}/{value['kind']}"]


def argument(name: str) -> str:
    found = re.search(rf"^ARG {name}=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(("file", "value"), OBJECTS)
def test_objects_have_the_fields_of_their_schema(file: str, value: Any) -> None:
    assert list(problems(value, schema_of(value))) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"runtimeVersions": {"sparkVersion": 4.3}}, "sparkVersion: 4.3 is no string"),
        ({"runtimeVersions": {}}, "spec.runtimeVersions: sparkVersion is missing"),
        ({"sparkConf": {"spark.executor.cores": 2}}, "spark.executor.cores: 2 is no string"),
        ({"pyfiles": "local:///job.py"}, "spec.pyfiles: there is no such field"),
        ({"deploymentMode": "cluster"}, "'cluster' is not one of ClientMode, ClusterMode"),
        ({"driverArgs": ["--day", 7]}, "spec.driverArgs[1]: 7 is no string"),
    ],
)
def test_a_wrong_field_is_found(change: dict[str, Any], problem: str) -> None:
    value = next(each for file, each in OBJECTS if file == "spark-application.yaml")
    changed = {**value, "spec": {**value["spec"], **change}}
    (found,) = problems(changed, schema_of(value))
    assert problem in found


def test_a_name_with_capitals_is_found() -> None:
    value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "Streaming"}}
    (found,) = problems(value, schema_of(value))
    assert found.startswith("metadata.name: 'Streaming' does not match")


@pytest.mark.parametrize("name", ["Dockerfile", "spark-application.yaml"])
def test_the_page_shows_the_file(name: str) -> None:
    page = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text("utf-8")
    assert f"\n{(FOLDER / name).read_text('utf-8')}```\n" in page


def test_spark_has_the_version_of_the_lock() -> None:
    lock = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    assert f"\npyspark=={argument('SPARK')} " in lock
    versions = {
        spec.get("sparkVersion") or spec["runtimeVersions"]["sparkVersion"] for spec in APPLICATIONS
    }
    assert versions == {argument("SPARK")}


def test_python_can_run_headrace() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'"Programming Language :: Python :: {argument("PYTHON")}"' in project


def test_the_image_has_what_the_manifests_name() -> None:
    assert f"ADD job.tar.gz {JOB}/" in DOCKERFILE
    assert f"PYSPARK_PYTHON={JOB}/{LAUNCHER}\n" in DOCKERFILE
    for spec in APPLICATIONS:
        program = spec.get("pyFiles") or spec["mainApplicationFile"]
        assert program == f"local://{JOB}/{PROGRAM}/job.py"
        assert spec["sparkConf"]["spark.pyspark.python"] == f"{JOB}/{LAUNCHER}"


def test_the_user_is_not_root_and_the_same_everywhere() -> None:
    user = re.search(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)
    assert user is not None
    assert f"--uid {user[1]} " in DOCKERFILE
    apache, kubeflow = sorted(APPLICATIONS, key=lambda spec: "driver" in spec)
    contexts = [
        *(apache[each]["podTemplateSpec"]["spec"]["securityContext"] for each in POD_SPECS),
        *(kubeflow[each]["podSecurityContext"] for each in ("driver", "executor")),
    ]
    expected = {"runAsNonRoot": True, "runAsUser": int(user[1]), "fsGroup": int(user[1])}
    assert contexts == [expected] * 4


def test_the_settings_are_those_of_headrace() -> None:
    key = "spark.kubernetes.driverEnv.HEADRACE_SETTINGS"
    for spec in APPLICATIONS:
        settings = Configuration.from_dict(json.loads(spec["sparkConf"][key]))
        assert settings.get_string("execution.checkpointing.dir", "") == "/checkpoints"


def test_account_and_volume_are_those_of_the_namespace() -> None:
    made = {
        (each["kind"], each["metadata"]["name"])
        for file, each in OBJECTS
        if file == "namespace.yaml"
    }
    assert {("ServiceAccount", "spark"), ("PersistentVolumeClaim", "checkpoints")} <= made
    apache, kubeflow = sorted(APPLICATIONS, key=lambda spec: "driver" in spec)
    conf = apache["sparkConf"]
    assert conf["spark.kubernetes.authenticate.driver.serviceAccountName"] == "spark"
    for role in ("driver", "executor"):
        volume = f"spark.kubernetes.{role}.volumes.persistentVolumeClaim.checkpoints"
        assert conf[f"{volume}.options.claimName"] == "checkpoints"
        assert conf[f"{volume}.mount.path"] == "/checkpoints"
        assert kubeflow[role]["volumeMounts"] == [
            {"name": "checkpoints", "mountPath": "/checkpoints"}
        ]
    assert kubeflow["driver"]["serviceAccount"] == "spark"

"""What Hadoop's settings of S3 and Azure become for the client; tests/storage has a server."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common._storage.cloud import CloudFiles, azure_settings, s3_settings
from headrace.errors import UnsupportedError

KEYS = {"fs.s3a.access.key": "k", "fs.s3a.secret.key": "s"}
ACCOUNT = "account.dfs.core.windows.net"
OF_AWS = "software.amazon.awssdk.auth.credentials"
OF_S3A = "org.apache.hadoop.fs.s3a"


def test_keys_and_region() -> None:
    config, client = s3_settings("b", {**KEYS, "fs.s3a.endpoint.region": "eu-west-1"})
    assert config["access_key_id"] == "k" and config["secret_access_key"] == "s"
    assert config["region"] == "eu-west-1" and "endpoint" not in config and client == {}


def test_a_bucket_has_its_own_settings() -> None:
    settings = {**KEYS, "fs.s3a.bucket.b.access.key": "own", "fs.s3a.bucket.c.access.key": "c"}
    assert s3_settings("b", settings)[0]["access_key_id"] == "own"
    assert s3_settings("d", settings)[0]["access_key_id"] == "k"


@pytest.mark.parametrize(
    ("settings", "endpoint", "allow_http"),
    [
        ({"endpoint": "http://h:9000", "path.style.access": "true"}, "http://h:9000", True),
        ({"endpoint": "h:9000", "path.style.access": "true"}, "https://h:9000", False),
        (
            {
                "endpoint": "h:9000",
                "connection.ssl.enabled": "false",
                "path.style.access": "true",
            },
            "http://h:9000",
            True,
        ),
        ({"endpoint": "https://s3.example.com"}, "https://b.s3.example.com", False),
    ],
)
def test_endpoints(settings: dict[str, str], endpoint: str, allow_http: bool) -> None:
    config, client = s3_settings("b", {f"fs.s3a.{k}": v for k, v in settings.items()})
    assert config["endpoint"] == endpoint and client["allow_http"] is allow_http
    assert config["region"] == "us-east-1"


@pytest.mark.parametrize(
    ("endpoint", "region"),
    [
        ("s3.eu-west-1.amazonaws.com", "eu-west-1"),
        ("https://s3-ap-southeast-2.amazonaws.com", "ap-southeast-2"),
        ("s3.dualstack.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("s3-fips.ca-central-1.amazonaws.com", "ca-central-1"),
        ("s3.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("bucket.vpce-1a2b-5e6f.s3.us-west-2.vpce.amazonaws.com", "us-west-2"),
        ("s3.eu-west-1.example.com", "us-east-1"),
    ],
)
def test_the_region_of_an_endpoint(endpoint: str, region: str) -> None:
    assert s3_settings("b", {"fs.s3a.endpoint": endpoint})[0]["region"] == region
    settings = {"fs.s3a.endpoint": endpoint, "fs.s3a.endpoint.region": "eu-north-1"}
    assert s3_settings("b", settings)[0]["region"] == "eu-north-1"


@pytest.mark.parametrize("endpoint", ["s3.amazonaws.com", "https://s3.amazonaws.com"])
def test_the_central_endpoint_is_that_of_the_region(endpoint: str) -> None:
    settings = {"fs.s3a.endpoint": endpoint, "fs.s3a.endpoint.region": "eu-west-1"}
    config, client = s3_settings("b", settings)
    assert config["region"] == "eu-west-1" and "endpoint" not in config and client == {}


@pytest.mark.parametrize(
    ("providers", "expected"),
    [
        (f"{OF_S3A}.AnonymousAWSCredentialsProvider", {"skip_signature": True}),
        (f"{OF_S3A}.SimpleAWSCredentialsProvider", {"access_key_id": "k"}),
        (f"{OF_S3A}.TemporaryAWSCredentialsProvider", {"session_token": "t"}),
        (f"{OF_AWS}.EnvironmentVariableCredentialsProvider", {"access_key_id": None}),
        (f"{OF_S3A}.auth.IAMInstanceCredentialsProvider", {"access_key_id": None}),
        (
            f"{OF_S3A}.SimpleAWSCredentialsProvider , {OF_AWS}.DefaultCredentialsProvider",
            {"access_key_id": "k"},
        ),
    ],
)
def test_credential_providers(providers: str, expected: dict[str, Any]) -> None:
    settings = {
        **KEYS,
        "fs.s3a.session.token": "t",
        "fs.s3a.aws.credentials.provider": providers,
    }
    config, _ = s3_settings("b", settings)
    assert {key: config.get(key) for key in expected} == expected


def test_encryption_payer_and_proxy() -> None:
    settings = {
        "fs.s3a.encryption.algorithm": "SSE-KMS",
        "fs.s3a.encryption.key": "arn:key",
        "fs.s3a.requester.pays.enabled": "true",
        "fs.s3a.proxy.host": "proxy",
        "fs.s3a.proxy.port": "3128",
    }
    config, client = s3_settings("b", settings)
    assert config["server_side_encryption"] == "aws:kms" and config["sse_kms_key_id"] == "arn:key"
    assert config["request_payer"] is True and client["proxy_url"] == "http://proxy:3128"


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("fs.s3a.assumed.role.arn", "arn", "fs.s3a.assumed.role.arn"),
        ("fs.s3a.bucket.b.accesspoint.arn", "arn", "fs.s3a.accesspoint.arn"),
        ("fs.s3a.encryption.algorithm", "SSE-C", "fs.s3a.encryption.algorithm = SSE-C"),
        (
            "fs.s3a.aws.credentials.provider",
            "com.example.OwnProvider",
            "fs.s3a.aws.credentials.provider = OwnProvider",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_named(key: str, value: str, named: str) -> None:
    with pytest.raises(UnsupportedError, match="Python workers cannot use the setting") as caught:
        s3_settings("b", {key: value})
    assert caught.value.where == {"setting": named}


def test_azure_by_key() -> None:
    config, client = azure_settings(ACCOUNT, {f"fs.azure.account.key.{ACCOUNT}": "secret"})
    assert config == {"account_name": "account", "account_key": "secret"} and client == {}


def test_azure_by_client() -> None:
    settings = {
        "fs.azure.account.auth.type": "OAuth",
        "fs.azure.account.oauth.provider.type": (
            "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
        ),
        "fs.azure.account.oauth2.client.id": "id",
        "fs.azure.account.oauth2.client.secret": "secret",
        "fs.azure.account.oauth2.client.endpoint": (
            "https://login.microsoftonline.com/tenant/oauth2/token"
        ),
    }
    config, _ = azure_settings(ACCOUNT, settings)
    assert config["client_id"] == "id" and config["tenant_id"] == "tenant"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"fs.azure.account.auth.type": "Custom"}, "fs.azure.account.auth.type = Custom"),
        ({"fs.azure.account.auth.type": "SAS"}, "fs.azure.sas.token.provider.type"),
        (
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": "a.b.UserPasswordTokenProvider",
            },
            "fs.azure.account.oauth.provider.type = UserPasswordTokenProvider",
        ),
    ],
)
def test_azure_settings_that_cannot_be_carried_over(settings: dict[str, str], named: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        azure_settings(ACCOUNT, settings)
    assert caught.value.where == {"setting": named}


def test_missing_credentials_are_named() -> None:
    exceptions = pytest.importorskip("obstore", reason="pip install 'headrace[cloud]'").exceptions
    files = CloudFiles("s3a://b", None)

    def fail(text: str) -> None:
        with files._errors("PUT", "s3a://b/a"):
            raise exceptions.GenericError(text)

    with pytest.raises(PermissionError, match="of s3a://b/a: there are no credentials"):
        fail("Generic S3 error: PUT http://169.254.169.254/latest/api/token: timed out")
    with pytest.raises(OSError, match="of s3a://b/a: Generic S3 error: 503") as raised:
        fail("Generic S3 error: 503")
    assert not isinstance(raised.value, PermissionError)

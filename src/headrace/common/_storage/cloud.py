"""S3 and Azure Blob Storage with ``obstore``, configured by Spark's Hadoop settings."""

from __future__ import annotations

import hashlib
import posixpath
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

from headrace.common._extras import optional
from headrace.common._storage.file_system import FileSystem, ListedFile
from headrace.common._storage.locations import Location, StorageAccess
from headrace.common._storage.remote import Entry, RemoteFiles
from headrace.errors import UnsupportedError

_WRITER = "headrace_writer"
"""The attribute of an object: which call wrote it. Azure allows letters, digits and _."""


def open_s3(location: Location, access: StorageAccess) -> FileSystem:
    """Return the file system of a bucket.

    Raises:
        UnsupportedError: a setting has no equivalent in obstore.
        MissingExtraError: obstore is not installed.
    """
    config, client = s3_settings(location.authority, access.settings)
    store = optional("obstore.store")
    return CloudFiles(
        f"{location.scheme}://{location.authority}",
        store.S3Store(location.authority, config=config, client_options=client),
    )


def open_azure(location: Location, access: StorageAccess) -> FileSystem:
    """Return the file system of a container.

    Raises:
        UnsupportedError: a setting has no equivalent in obstore.
        MissingExtraError: obstore is not installed.
    """
    container, _, host = location.authority.partition("@")
    config, client = azure_settings(host, access.settings)
    store = optional("obstore.store")
    return CloudFiles(
        f"{location.scheme}://{location.authority}",
        store.AzureStore(container, config=config, client_options=client),
    )


# From the names of S3A's settings to those of obstore. Credential providers go by class name.

_S3_KEYS = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint.region": "region",
    "encryption.key": "sse_kms_key_id",
}
_S3_ENCRYPTION = {"SSE-S3": "AES256", "SSE-KMS": "aws:kms", "DSSE-KMS": "aws:kms:dsse"}
_KEY_PROVIDERS = ("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider")
_AMBIENT_PROVIDERS = (
    "EnvironmentVariableCredentialsProvider",
    "ContainerCredentialsProvider",
    "InstanceProfileCredentialsProvider",
    "IAMInstanceCredentialsProvider",
    "WebIdentityTokenFileCredentialsProvider",
    "WebIdentityTokenCredentialsProvider",
    "DefaultCredentialsProvider",
    "DefaultAWSCredentialsProviderChain",
)
_S3_REFUSED = (
    "accesspoint.arn",
    "assumed.role.arn",
    "custom.signers",
    "delegation.token.binding",
    "proxy.username",
    "proxy.password",
    "proxy.workstation",
    "signing-algorithm",
    "s3.signing-algorithm",
)

_CENTRAL_ENDPOINT = "s3.amazonaws.com"
_REGION_OF_ENDPOINT = re.compile(
    r"\bs3(?:-fips)?(?:\.dualstack)?[.-]([a-z]{2}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?amazonaws\.com"
)
_MACHINE_ROLES = "169.254.169.254"
"""Where a machine of AWS or Azure is asked for its role, after all other credentials."""
_DEFAULT_REGION = "us-east-1"  # of servers other than Amazon's


def s3_settings(bucket: str, settings: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert S3A's settings of a bucket to those of obstore, and of its HTTP client.

    Raises:
        UnsupportedError: a setting has no equivalent in obstore.
    """
    of = {
        **_with_prefix(settings, "fs.s3a."),
        **_with_prefix(settings, f"fs.s3a.bucket.{bucket}."),
    }
    for key in _S3_REFUSED:
        if of.get(key):
            raise _refused(f"fs.s3a.{key}")
    config: dict[str, Any] = {"copy_if_not_exists": "multipart"}
    client: dict[str, Any] = {}
    providers = [
        each.strip().rpartition(".")[2].partition("$")[0]
        for each in of.get("aws.credentials.provider", "").split(",")
        if each.strip()
    ]
    for each in providers:
        if each == "AnonymousAWSCredentialsProvider":
            config["skip_signature"] = True
        elif each not in (*_KEY_PROVIDERS, *_AMBIENT_PROVIDERS):
            raise _refused(f"fs.s3a.aws.credentials.provider = {each}")
    takes_keys = not providers or any(each in _KEY_PROVIDERS for each in providers)
    for key, name in _S3_KEYS.items():
        is_secret = name in ("access_key_id", "secret_access_key", "session_token")
        if of.get(key) and (takes_keys or not is_secret):
            config[name] = of[key]
    algorithm = of.get("encryption.algorithm") or of.get("server-side-encryption-algorithm", "")
    if algorithm:
        if algorithm.upper() not in _S3_ENCRYPTION:
            raise _refused(f"fs.s3a.encryption.algorithm = {algorithm}")
        config["server_side_encryption"] = _S3_ENCRYPTION[algorithm.upper()]
    is_secure = of.get("connection.ssl.enabled", "true").lower() != "false"
    endpoint = of.get("endpoint", "")
    if endpoint.rpartition("/")[2] == _CENTRAL_ENDPOINT:
        endpoint = ""  # S3A, too, asks the region's own instead: this one only redirects to it
    if endpoint:
        if "://" not in endpoint:
            endpoint = f"{'https' if is_secure else 'http'}://{endpoint}"
        path_style = of.get("path.style.access", "false").lower() == "true"
        config["endpoint"] = endpoint if path_style else _with_bucket(endpoint, bucket)
        config["virtual_hosted_style_request"] = not path_style
        found = _REGION_OF_ENDPOINT.search(endpoint)
        config.setdefault("region", _DEFAULT_REGION if found is None else found[1])
        client["allow_http"] = endpoint.startswith("http://")
    if of.get("requester.pays.enabled", "false").lower() == "true":
        config["request_payer"] = True
    if of.get("proxy.host"):
        port = f":{of['proxy.port']}" if of.get("proxy.port") else ""
        client["proxy_url"] = f"http://{of['proxy.host']}{port}"
    return config, client


def _with_bucket(endpoint: str, bucket: str) -> str:
    scheme, _, host = endpoint.partition("://")
    return f"{scheme}://{bucket}.{host}"


def azure_settings(host: str, settings: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return obstore's settings of a storage account, and those of its HTTP client.

    ``host``: ``account.dfs.core.windows.net``, or as the URL has it.

    Raises:
        UnsupportedError: a setting has no equivalent in obstore.
    """

    def of(key: str) -> str:
        return settings.get(f"fs.azure.{key}.{host}") or settings.get(f"fs.azure.{key}", "")

    config: dict[str, Any] = {"account_name": host.partition(".")[0]}
    kind = of("account.auth.type") or "SharedKey"
    if kind == "SharedKey":
        if of("account.key"):
            config["account_key"] = of("account.key")
    elif kind == "SAS":
        token = of("sas.fixed.token")
        if not token:
            raise _refused("fs.azure.sas.token.provider.type")
        config["sas_key"] = token
    elif kind == "OAuth":
        provider = of("account.oauth.provider.type").rpartition(".")[2]
        if provider == "ClientCredsTokenProvider":
            config["client_id"] = of("account.oauth2.client.id")
            config["client_secret"] = of("account.oauth2.client.secret")
            # https://login.microsoftonline.com/<tenant>/oauth2/token
            parts = of("account.oauth2.client.endpoint").split("/")
            config["tenant_id"] = parts[3] if len(parts) > 3 else ""
        elif provider == "MsiTokenProvider":
            if of("account.oauth2.client.id"):
                config["client_id"] = of("account.oauth2.client.id")
        elif provider == "WorkloadIdentityTokenProvider":
            config["client_id"] = of("account.oauth2.client.id")
            config["tenant_id"] = of("account.oauth2.msi.tenant")
            config["federated_token_file"] = of("account.oauth2.token.file")
        else:
            raise _refused(f"fs.azure.account.oauth.provider.type = {provider}")
    else:
        raise _refused(f"fs.azure.account.auth.type = {kind}")
    client: dict[str, Any] = {}
    endpoint = settings.get("fs.azure.headrace.blob.endpoint", "")
    if endpoint:
        config["endpoint"] = endpoint
        client["allow_http"] = endpoint.startswith("http://")
    return {key: value for key, value in config.items() if value}, client


def _with_prefix(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)
    }


def _refused(setting: str) -> UnsupportedError:
    return UnsupportedError(
        f"Python workers cannot use the setting {setting}",
        where={"setting": setting},
        hint="configure keys, a session token or the machine's role for this bucket or account;"
        " or use hdfs:// or a mounted folder",
    )


class CloudFiles(RemoteFiles):
    """Objects of one bucket or container. A folder is a prefix of the names of objects."""

    def __init__(self, base: str, store: Any) -> None:
        self._base, self._store = base, store
        self._obstore = optional("obstore")

    def store(self, path: str, content: IO[bytes]) -> None:
        with self._errors("PUT", path):
            self._obstore.put(self._store, self._key(path), content)

    def replace(self, path: str, data: bytes) -> None:
        with self._errors("PUT", path):
            self._obstore.put(self._store, self._key(path), data, use_multipart=False)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Store an object if there is none of this name; return whether it was stored.

        The client repeats a request if its answer is lost. The repeated request is refused, because
        the first one succeeded. The attribute shows that this call has written the object.
        """
        writer, exists = uuid.uuid4().hex, self._obstore.exceptions.AlreadyExistsError
        with self._errors("PUT", path):
            try:
                self._obstore.put(
                    self._store,
                    self._key(path),
                    data,
                    attributes={_WRITER: writer},
                    mode="create",
                    use_multipart=False,
                )
            except exists:
                found = self._obstore.get(self._store, self._key(path))
                return bool(found.attributes.get(_WRITER) == writer)
        return True

    def publish(self, source: str, target: str) -> bool:
        """Copy an object unless the target exists, and remove the source; False if it exists.

        If the target has the same content, an earlier call has made it, and the result is True.
        """
        with self._errors("COPY", source):
            try:
                self._obstore.copy(
                    self._store, self._key(source), self._key(target), overwrite=False
                )
            except self._obstore.exceptions.AlreadyExistsError:
                if not self._are_equal(source, target):
                    return False
            self.remove(source)
        return True

    def _are_equal(self, one: str, other: str) -> bool:
        if self.size(one) != self.size(other):
            return False
        digests = []
        for path in (one, other):
            digest = hashlib.sha256()
            with self.open(path) as file:
                while block := file.read(1 << 20):
                    digest.update(block)
            digests.append(digest.digest())
        return digests[0] == digests[1]

    def read_range(self, path: str, start: int, length: int) -> bytes:
        with self._errors("GET", path):
            found = self._obstore.get_range(
                self._store, self._key(path), start=start, length=length
            )
            return bytes(found)

    def read(self, path: str) -> bytes | None:
        try:
            with self._errors("GET", path):
                return bytes(self._obstore.get(self._store, self._key(path)).bytes())
        except FileNotFoundError:
            return None

    def stat(self, path: str) -> Iterator[ListedFile]:
        try:
            with self._errors("HEAD", path):
                found = self._obstore.head(self._store, self._key(path))
        except FileNotFoundError:
            return
        yield self._listed(found)

    def remove(self, path: str) -> None:
        try:
            with self._errors("DELETE", path):
                self._obstore.delete(self._store, self._key(path))
        except FileNotFoundError:
            return

    def remove_folder(self, path: str) -> None:
        keys = [self._key(file.path) for file in self.all_files(path)]
        if keys:
            with self._errors("DELETE", path):
                self._obstore.delete(self._store, keys)

    def is_folder(self, path: str) -> bool:
        prefix = f"{self._key(path)}/"
        with self._errors("LIST", path):
            for found in self._obstore.list(self._store, prefix.lstrip("/"), chunk_size=1):
                return bool(found)
        return False

    def entries(self, folder: str) -> list[Entry]:
        key = self._key(folder)
        with self._errors("LIST", folder):
            found = self._obstore.list_with_delimiter(self._store, f"{key}/" if key else None)
        folders = [
            Entry(posixpath.basename(each.rstrip("/")), True) for each in found["common_prefixes"]
        ]
        files = []
        for each in found["objects"]:
            if each["path"] == key:  # the marker of this folder
                continue
            listed, name = self._listed(each), posixpath.basename(each["path"])
            files.append(Entry(name, False, listed.size_bytes, listed.mtime_ms))
        return sorted([*folders, *files], key=lambda each: each.name)

    def walk(self, directory: str) -> Iterator[ListedFile]:
        """Yield the files below a folder, without empty ones: most of these mark folders."""
        return (file for file in super().walk(directory) if file.size_bytes)

    def all_files(self, folder: str) -> list[ListedFile]:
        key = self._key(folder)
        found: list[ListedFile] = []
        with self._errors("LIST", folder):
            for chunk in self._obstore.list(self._store, f"{key}/" if key else None):
                found += [self._listed(each) for each in chunk]
        return sorted(found, key=lambda file: file.path)

    def _listed(self, found: Mapping[str, Any]) -> ListedFile:
        mtime_ms = int(found["last_modified"].timestamp() * 1000)
        return ListedFile(f"{self._base}/{found['path']}", found["size"], mtime_ms)

    def _key(self, path: str) -> str:
        return path.removeprefix(self._base).strip("/")

    @contextmanager
    def _errors(self, operation: str, path: str) -> Iterator[None]:
        """Turn obstore's errors into ``OSError``s."""
        kinds = self._obstore.exceptions
        try:
            yield
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{operation} of {path}: there is no such object") from error
        except (kinds.PermissionDeniedError, kinds.UnauthenticatedError) as error:
            raise PermissionError(f"{operation} of {path}: {_first_line(error)}") from error
        except kinds.BaseError as error:
            text = _first_line(error)
            if _MACHINE_ROLES in text:
                text = f"there are no credentials, and this machine has no role ({text})"
                raise PermissionError(f"{operation} of {path}: {text}") from error
            raise OSError(f"{operation} of {path}: {text}") from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]

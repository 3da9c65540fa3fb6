"""Apache Kafka: one node as broker and controller, without ZooKeeper."""

from __future__ import annotations

import base64
import socket
import struct
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

from headrace.dev.artifacts import install_server
from headrace.dev.ports import HOST, choose_port, free_ports
from headrace.dev.service import Service
from headrace.errors import JobError
from headrace.runners.spark.startup.java import find_java

USUAL_PORT = 9092

# The session of a broker that was killed outlives it; until it is over, the controller refuses the
# broker that is started in its place. It is 9 s unless said otherwise, and most of such a start.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=16777216
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
{more}
"""

_LOGGING = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
)


def kafka(folder: Path, port: int | None = None, *, memory: str = "1g", more: str = "") -> Service:
    """Return a broker with its data in a folder. ``more``: additional lines of its properties.

    Raises:
        JobError: Kafka cannot be downloaded, or the port is in use.
    """
    folder.mkdir(parents=True, exist_ok=True)
    libraries = install_server("kafka")
    own = choose_port(port, USUAL_PORT)
    (controller,) = free_ports(1)
    properties, data = folder / "kafka.properties", folder / "kafka-data"
    text = _PROPERTIES.format(host=HOST, port=own, controller=controller, data=data, more=more)
    properties.write_text(text)
    java = [str(find_java().home / "bin" / "java"), "-cp", f"{libraries}/*", *_LOGGING]
    if not (data / "meta.properties").exists():
        _format(java, properties)
    return Service(
        "kafka",
        folder,
        [*java[:1], f"-Xmx{memory}", "-XX:+UseSerialGC", *java[1:], "kafka.Kafka", str(properties)],
        f"{HOST}:{own}",
        lambda: is_ready(own),
    )


def _format(java: list[str], properties: Path) -> None:
    """Initialize an empty folder for a new cluster."""
    arguments = ["kafka.tools.StorageTool", "format", "-t", cluster_id(), "-c", str(properties)]
    done = subprocess.run([*java, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise JobError(
            "Kafka could not prepare its folder",
            where={"its words": (done.stderr or done.stdout).strip()[-600:]},
        )


def cluster_id(made: Callable[[], uuid.UUID] = uuid.uuid4) -> str:
    """Return a new cluster's id: 22 characters.

    No id begins with "-", which Kafka would read as an option.
    """
    while (found := base64.urlsafe_b64encode(made().bytes).decode().rstrip("="))[0] == "-":
        pass
    return found


def is_ready(port: int) -> bool:
    """Return whether a broker lists its brokers; it lists itself once it is ready.

    Source: the Kafka protocol guide, Metadata request version 1 (no topics).
    """
    name = b"headrace"
    body = struct.pack(">hhih", 3, 1, 1, len(name)) + name + struct.pack(">i", 0)
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            answer = connection.recv(12, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(answer) == 12 and struct.unpack(">iii", answer)[2] > 0

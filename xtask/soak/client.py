"""The Python client, unmodified, in a soak: it writes and reads, and prints what its watches see.

NAMESPACE is where. A line `saw NAME` is an object that a watch was told of; a lost response or a silent watch ends the program.
"""

import os
import threading
import time

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = os.environ["NAMESPACE"]
SILENT = 30
config.load_kube_config()
core = client.CoreV1Api()
seen, lock = {}, threading.Lock()


def say(line):
    """Prints a line. Both threads print: a line and its end must not be torn apart."""
    with lock:
        print(line, flush=True)


def follow():
    """Watches without end. The client resumes by itself when the server ends a watch."""
    revision = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    while True:
        try:
            for event in watch.Watch().stream(core.list_namespaced_config_map, NAMESPACE, resource_version=revision):
                metadata = event["object"].metadata
                revision = metadata.resource_version
                with lock:
                    seen[metadata.name] = event["type"]
                if event["type"] == "ADDED":
                    say(f"saw {metadata.name}")
        except ApiException as error:
            if error.status != 410:
                raise
            revision = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version


def until(name, kind):
    deadline = time.monotonic() + SILENT
    while True:
        with lock:
            if seen.get(name) == kind:
                return
        if time.monotonic() > deadline:
            raise SystemExit(f"the watch is silent about {name}, which is {kind}")
        time.sleep(0.02)


thread = threading.Thread(target=lambda: (follow(), os._exit(1)), daemon=True)
thread.start()
time.sleep(1)
number = 0
while thread.is_alive():
    number += 1
    name = f"py-{number}"
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": name}, "data": {"v": "1"}})
    until(name, "ADDED")
    core.patch_namespaced_config_map(name, NAMESPACE, {"data": {"v": "2"}})
    until(name, "MODIFIED")
    assert core.read_namespaced_config_map(name, NAMESPACE).data == {"v": "2"}
    core.delete_namespaced_config_map(name, NAMESPACE)
    until(name, "DELETED")
    say(f"round {number}")
    time.sleep(0.5)
raise SystemExit("the watch has ended")

"""A kopf operator, unmodified, against the server that KUBECONFIG names: run, killed, run again, and ended."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from steps import equal, eventually, restart, run

config.load_kube_config()
core = client.CoreV1Api()
custom = client.CustomObjectsApi()
HERE, THERE = "kopf-here", "kopf-there"
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
HANDLERS = pathlib.Path(__file__).with_name("handlers.py")
HOME = pathlib.Path(tempfile.mkdtemp())
JOURNAL = HOME / "journal"


class Operator:
    """`kopf run`, as a process of its own."""

    def __init__(self, name, *arguments):
        self.log = HOME / f"{name}.log"
        command = [sys.executable, "-m", "kopf", "run", "--standalone", *arguments, str(HANDLERS)]
        environment = os.environ | {"RUN": name, "JOURNAL": str(JOURNAL)}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def end(self, by):
        self.process.send_signal(by)
        return self.process.wait(30)


def knob(name, color, namespace=HERE):
    body = {"apiVersion": "example.com/v1", "kind": "Knob", "metadata": {"name": name}, "spec": {"color": color}}
    return custom.create_namespaced_custom_object("example.com", "v1", namespace, "knobs", body)


def turn(name, color, namespace=HERE):
    body = {"spec": {"color": color}}
    custom.patch_namespaced_custom_object(
        "example.com", "v1", namespace, "knobs", name, body, _content_type="application/merge-patch+json")


def delete(name, namespace=HERE):
    custom.delete_namespaced_custom_object("example.com", "v1", namespace, "knobs", name)


def read(name, namespace=HERE):
    try:
        return custom.get_namespaced_custom_object("example.com", "v1", namespace, "knobs", name)
    except ApiException as error:
        assert error.status == 404, error


def status(name, field, value, namespace=HERE):
    """It comes to have this in its status. Returns it."""

    def holds():
        now = read(name, namespace)
        return now if now.get("status", {}).get(field) == value else None

    return eventually(f"{name} has {field} {value}", holds)


def child(name, namespace=HERE):
    """The color of its config map."""
    try:
        return core.read_namespaced_config_map(f"{name}-child", namespace).data["color"]
    except ApiException as error:
        assert error.status == 404, error


def journal(line):
    eventually(f"the journal has {line!r}", lambda: line in JOURNAL.read_text(encoding="utf-8").splitlines())


def plane():
    """knobs are defined, and two namespaces are there"""
    for name in [HERE, THERE]:
        core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    whatever = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": whatever, "status": whatever}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    client.ApiextensionsV1Api().create_custom_resource_definition({
        "metadata": {"name": "knobs.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "knobs", "kind": "Knob"}, "versions": [version]},
    })
    eventually("knobs are served", lambda: served())


def served():
    try:
        return custom.list_cluster_custom_object("example.com", "v1", "knobs")
    except ApiException as error:
        assert error.status == 404, error


first = None


def handled():
    """an operator of one namespace handles what is created there, at the second try"""
    global first
    knob("before", "red")
    knob("far", "red", THERE)
    first = Operator("first", "-n", HERE)
    knob("a", "red")
    for name in ["before", "a"]:
        now = status(name, "made", {"color": "red", "retry": 1})
        equal(now["metadata"]["finalizers"], [FINALIZER])
        equal(child(name), "red")
        assert "kopf.zalando.org/last-handled-configuration" in eventually(
            "what was handled is noted", lambda: read(name)["metadata"].get("annotations"))
    assert "finalizers" not in read("far", THERE)["metadata"], "it meddled with another namespace"

    def events():
        selector = f"involvedObject.kind=Knob,involvedObject.name=a,involvedObject.uid={now['metadata']['uid']}"
        told = core.list_namespaced_event(HERE, field_selector=selector).items
        return {(event.reason, event.message) for event in told}

    eventually("its events are posted", lambda: ("Made", "it is red") in events() and "Logging" in {one for one, _ in events()})


def followed():
    """it follows changes, and the events of built-ins"""
    turn("a", "green")
    status("a", "changed", "red to green")
    equal(child("a"), "green")
    labels = {"heard": "yes"}
    core.create_namespaced_config_map(HERE, {"metadata": {"name": "loud", "labels": labels}})
    journal("first heard ADDED of kopf-here/loud")
    core.delete_namespaced_config_map("loud", HERE)
    journal("first heard DELETED of kopf-here/loud")


def restarted():
    """it goes on when the server was started again"""
    restart()
    turn("a", "blue")
    status("a", "changed", "green to blue")
    knob("b", "red")
    status("b", "made", {"color": "red", "retry": 1})
    delete("b")
    journal("first ended kopf-here/b")
    eventually("b is gone", lambda: read("b") is None)
    eventually("what b owned is gone", lambda: child("b") is None)


second = None


def resumed():
    """what happened while it was dead is handled by the next one, of all namespaces"""
    global second
    knob("going", "red")
    status("going", "made", {"color": "red", "retry": 1})
    eventually("it is settled", lambda: not read("going")["metadata"]["annotations"].get("kopf.zalando.org/made"))
    equal(first.end(signal.SIGKILL), -signal.SIGKILL)
    delete("going")
    assert read("going")["metadata"]["deletionTimestamp"], "it did not wait for its finalizer"
    turn("a", "white")
    knob("late", "black")
    second = Operator("second", "-A")
    status("a", "changed", "blue to white")
    equal(child("a"), "white")
    status("late", "made", {"color": "black", "retry": 1})
    status("far", "made", {"color": "red", "retry": 1}, THERE)
    status("before", "resumed", "second")
    journal("second ended kopf-here/going")
    eventually("going is gone", lambda: read("going") is None)


def ended():
    """all is let go, and the operator ends in good order"""
    for name, namespace in [("a", HERE), ("before", HERE), ("late", HERE), ("far", THERE)]:
        delete(name, namespace)
        journal(f"second ended {namespace}/{name}")
        eventually(f"{name} is gone", lambda: read(name, namespace) is None)
        eventually(f"what {name} owned is gone", lambda: child(name, namespace) is None)
    equal(second.end(signal.SIGTERM), 0)
    counted = JOURNAL.read_text(encoding="utf-8").splitlines()
    once = [line for line in counted if line.split()[1] in ("made", "ended", "changed")]
    made = [line.split()[2] for line in once if line.split()[1] == "made"]
    equal(sorted(made), sorted(set(made)))


try:
    run(plane, handled, followed, restarted, resumed, ended)
except BaseException:
    for operator in [first, second]:
        if operator:
            print(operator.log.read_text(encoding="utf-8", errors="replace")[-20000:])
    raise
finally:
    for operator in [first, second]:
        if operator and operator.process.poll() is None:
            operator.process.kill()

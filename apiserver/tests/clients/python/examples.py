"""kopf's own examples of daemons, timers, indexing and admission, unmodified, against the server that KUBECONFIG names.

EXAMPLES is where they are. They run beside each other, each in a namespace of its own; the last one is asked for all.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from steps import equal, eventually, run

config.load_kube_config()
core = client.CoreV1Api()
custom = client.CustomObjectsApi()
hooks = client.AdmissionregistrationV1Api()
EXAMPLES = pathlib.Path(os.environ["EXAMPLES"])
CERTIFIED, POLLED = (str(pathlib.Path(__file__).with_name(name)) for name in ["certified.py", "polled.py"])
HOME = pathlib.Path(tempfile.mkdtemp())
KEXES = ("kopf.dev", "v1")
NAME = "kopf-example-1"
running = []


class Operator:
    """`kopf run` of an example, as a process of its own."""

    def __init__(self, example, *arguments):
        self.log = HOME / f"{example}.log"
        command = [sys.executable, "-m", "kopf", "run", "--verbose", "--standalone", str(EXAMPLES / example / "example.py"), *arguments]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        running.append(self)

    def says(self, what, times=1):
        eventually(f"{self.log.stem} says {what!r}", lambda: self.log.read_text(encoding="utf-8").count(what) >= times)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(30), 0)


def read(path):
    return yaml.safe_load((EXAMPLES / path).read_text(encoding="utf-8"))


def make(namespace, change=lambda body: None, **more):
    body = read("obj.yaml")
    change(body)
    return custom.create_namespaced_custom_object(*KEXES, namespace, "kopfexamples", body, **more)


def kex(namespace):
    try:
        return custom.get_namespaced_custom_object(*KEXES, namespace, "kopfexamples", NAME)
    except ApiException as error:
        assert error.status == 404, error


def change(namespace, body, call=custom.patch_namespaced_custom_object):
    return call(*KEXES, namespace, "kopfexamples", NAME, body, _content_type="application/merge-patch+json")


def goes(namespace):
    """It has a finalizer, and goes when the operator has let it go."""
    equal(kex(namespace)["metadata"]["finalizers"], ["kopf.zalando.org/KopfFinalizerMarker"])
    custom.delete_namespaced_custom_object(*KEXES, namespace, "kopfexamples", NAME)
    eventually("it is let go", lambda: kex(namespace) is None)


def refused(call):
    """The code and the message of a refusal."""
    try:
        call()
    except ApiException as error:
        return error.status, json.loads(error.body)["message"]
    raise AssertionError("it was not refused")


def plane():
    """their definition is there, and namespaces"""
    for name in ["daemons", "timers"]:
        core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    client.ApiextensionsV1Api().create_custom_resource_definition(read("crd.yaml"))
    eventually("examples are served", lambda: "items" in custom.list_cluster_custom_object(*KEXES, "kopfexamples"))


def pod(name, phase, **labels):
    container = client.V1Container(name="c", image="i")
    meta = client.V1ObjectMeta(name=name, labels=labels)
    core.create_namespaced_pod("default", client.V1Pod(metadata=meta, spec=client.V1PodSpec(containers=[container])))
    core.patch_namespaced_pod_status(name, "default", {"status": {"phase": phase}})


daemons = timers = index = None
probes = ""


def begun():
    """operators of daemons, timers and an index begin, and find what is there and what comes"""
    global daemons, timers, index, probes
    make("timers")
    pod("one", "Running", app="a")
    pod("two", "Pending", app="b")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        probes = f"http://127.0.0.1:{free.getsockname()[1]}/healthz"
    daemons = Operator("14-daemons", POLLED, "--namespace=daemons")
    timers = Operator("15-timers", "--namespace=timers")
    index = Operator("16-indexing", "--namespace=default", f"--liveness={probes}")
    make("daemons")
    make("default")


def daemons_run():
    """a daemon is tried again until it runs, and ends when its object no longer matches, or goes"""
    eventually("its third failure is told", lambda: kex("daemons").get("status", {}).get("message") == "Failed 3 times.")
    daemons.says("=> Ping from a sync daemon: field='value', retry=3")
    daemons.says("=> Ping from an async daemon: field='value'")
    change("daemons", {"metadata": {"annotations": {"someannotation": None}}})
    daemons.says("Daemon 'background_async' is cancelled.")
    assert "'background_sync' succeeded" not in daemons.log.read_text(encoding="utf-8"), "it ends while its object is there"
    goes("daemons")
    daemons.says("Daemon 'background_sync' succeeded.")


def indexed():
    """an index follows what is there, for handlers and for probes"""
    # The example means those that run; it asks whether there is a value, and there is one of each.
    def told(*names):
        eventually(f"{names} are told", lambda: sorted(kex("default").get("status", {}).get("running-pods", [])) == sorted(names))

    def probed():
        with urllib.request.urlopen(probes) as answer:
            found = json.load(answer)
        return found["pod_count"], sorted(found["pod_names"])

    told("default::one", "default::two")
    eventually("both are probed", lambda: probed() == (2, ["one", "two"]))
    index.says("('app', 'b'): ['two']")
    core.patch_namespaced_pod("two", "default", {"metadata": {"labels": {"app": "c"}}})
    pod("three", "Running", app="d")
    core.delete_namespaced_pod("one", "default", grace_period_seconds=0)
    told("default::three", "default::two")
    # Probes are asked anew after a while.
    eventually("one is probed no more", lambda: probed() == (2, ["three", "two"]))
    index.says("('app', 'c'): ['two']")
    index.says("('app', 'd'): ['three']")


def timed():
    """timers run again and again when their object is idle, with what it says then"""
    timers.says("Ping from a sync timer: field='value'", 2)
    timers.says("Ping from an async timer: field='value'", 2)
    change("timers", {"spec": {"field": "other"}})
    timers.says("Ping from a sync timer: field='other'", 2)
    goes("timers")


def admitted():
    """an admission server changes, warns and refuses; by object, field, subresource and in a dry run"""
    goes("default")
    judge = Operator("17-admission", CERTIFIED, "--all-namespaces")

    def configured():
        mutating = hooks.list_mutating_webhook_configuration().items
        validating = hooks.list_validating_webhook_configuration().items
        return [one.metadata.name for one in mutating + validating if one.webhooks]

    eventually("both configurations have webhooks", lambda: configured() == ["auto.kopf.dev"] * 2)

    def says(field):
        return lambda body: body["spec"].update(field=field)

    equal(refused(lambda: make("default", says("wrong")))[0], 500)
    assert refused(lambda: make("default", says("wrong")))[1].endswith("Meh! I don't like it. Change the field.")
    code, message = refused(lambda: make("default", says("not-allowed")))
    assert code == 555 and message.endswith("I'm too lazy anyway. Go away!"), (code, message)
    equal(make("default", says("wrong"), dry_run="All")["spec"]["field"], "wrong")
    assert kex("default") is None
    answer = make("default", _preload_content=False)
    equal(json.loads(answer.data)["spec"]["injected"], 123)
    warnings = ", ".join(answer.headers.getlist("warning"))
    for warning in ["Accessing as user-agent: ", "Also update status.field to match spec.field: 'value' != None"]:
        assert warning in warnings, warnings
    by_status = custom.patch_namespaced_custom_object_status
    _, message = refused(lambda: change("default", {"status": {"field": "another"}}, by_status))
    assert message.endswith("status.field MUST be equal to spec.field!"), message
    equal(change("default", {"status": {"field": "value"}}, by_status)["status"]["field"], "value")
    judge.end()


def ended():
    """they end in good order"""
    for operator in [daemons, timers, index]:
        operator.end()


try:
    run(plane, begun, daemons_run, indexed, timed, admitted, ended)
except BaseException:
    for operator in running:
        print(operator.log.read_text(encoding="utf-8", errors="replace")[-8000:])
    raise
finally:
    for operator in running:
        if operator.process.poll() is None:
            operator.process.kill()

"""An admission server of kopf, unmodified, against the server that KUBECONFIG names: it writes its configurations itself."""

import json
import pathlib
import signal
import subprocess
import sys

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from steps import equal, eventually, run

config.load_kube_config()
custom = client.CustomObjectsApi()
hooks = client.AdmissionregistrationV1Api()
JUDGES = pathlib.Path(__file__).with_name("judges.py")
KNOBS = ("example.com", "v1", "default", "knobs")
process = None


def make(name, spec):
    body = {"apiVersion": "example.com/v1", "kind": "Knob", "metadata": {"name": name}, "spec": spec}
    return custom.create_namespaced_custom_object(*KNOBS, body)


def refused(call):
    """The code and the message of a refusal."""
    try:
        call()
    except ApiException as error:
        return error.status, json.loads(error.body)["message"]
    raise AssertionError("it was not refused")


def plane():
    """knobs are defined"""
    whatever = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": whatever, "status": whatever}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    client.ApiextensionsV1Api().create_custom_resource_definition({
        "metadata": {"name": "knobs.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "knobs", "kind": "Knob"}, "versions": [version]},
    })


def begun():
    """an operator makes its configurations, with what it handles in them"""
    global process
    process = subprocess.Popen([sys.executable, "-m", "kopf", "run", "--standalone", "-A", str(JUDGES)])

    def there():
        mutating = hooks.list_mutating_webhook_configuration().items
        validating = hooks.list_validating_webhook_configuration().items
        return [one for one in mutating + validating if one.webhooks]

    made = eventually("both configurations have webhooks", lambda: len(there()) == 2 and there())
    equal({one.metadata.name for one in made}, {"judges.example.com"})


def asked():
    """what it says is what becomes of knobs"""
    equal(make("a", {"color": "red"})["spec"], {"color": "red", "size": 3})
    code, message = refused(lambda: make("b", {"size": 6}))
    equal(code, 422)
    assert message.startswith("admission webhook ") and "wants too much" in message, message
    equal(make("c", {"size": 5, "stays": True})["spec"]["size"], 5)
    code, message = refused(lambda: custom.delete_namespaced_custom_object(*KNOBS, "c"))
    assert message.endswith("it stays"), message
    body = {"spec": {"size": 7}}
    code, _ = refused(lambda: custom.patch_namespaced_custom_object(*KNOBS, "a", body, _content_type="application/merge-patch+json"))
    equal(code, 422)
    custom.delete_namespaced_custom_object(*KNOBS, "a")


def ended():
    """it ends, and what it has made is nobody's to ask"""
    process.send_signal(signal.SIGINT)
    process.wait(30)
    for name in ["judges.example.com"]:
        hooks.delete_mutating_webhook_configuration(name)
        hooks.delete_validating_webhook_configuration(name)
    equal(make("z", {"size": 9})["spec"], {"size": 9})


run(plane, begun, asked, ended)

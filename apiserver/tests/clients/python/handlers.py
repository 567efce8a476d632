"""What the kopf operator does with knobs: a config map of its own for each. `operators.py` runs it, and looks at what it did.

JOURNAL is a file that is told of each call; RUN says which run of the operator this is.
"""

import logging
import os

import kopf
from kubernetes import client

KNOBS = ("example.com", "v1", "knobs")
RUN = os.environ["RUN"]


def tell(what, namespace, name):
    with open(os.environ["JOURNAL"], "a", encoding="utf-8") as journal:
        journal.write(f"{RUN} {what} {namespace}/{name}\n")


@kopf.on.startup()
def configure(settings, **_):
    settings.posting.level = logging.INFO
    settings.posting.loggers = True
    settings.networking.error_backoffs = [0.2] * 100
    settings.watching.reconnect_backoff = 0.2


@kopf.on.create(*KNOBS)
def made(body, spec, name, namespace, retry, **_):
    if retry == 0:
        tell("tried", namespace, name)
        raise kopf.TemporaryError("not yet", delay=0.5)
    child = {"metadata": {"name": f"{name}-child"}, "data": {"color": spec["color"]}}
    kopf.adopt(child)
    client.CoreV1Api().create_namespaced_config_map(namespace, child)
    kopf.info(body, reason="Made", message=f"it is {spec['color']}")
    tell("made", namespace, name)
    return {"color": spec["color"], "retry": retry}


@kopf.on.update(*KNOBS, field="spec.color")
def changed(old, new, name, namespace, patch, **_):
    body = {"data": {"color": new}}
    client.CoreV1Api().patch_namespaced_config_map(f"{name}-child", namespace, body)
    patch.status["changed"] = f"{old} to {new}"
    tell("changed", namespace, name)


@kopf.on.resume(*KNOBS)
def resumed(name, namespace, patch, **_):
    patch.status["resumed"] = RUN
    tell("resumed", namespace, name)


@kopf.on.delete(*KNOBS)
def ended(name, namespace, **_):
    tell("ended", namespace, name)


@kopf.on.event("", "v1", "configmaps", labels={"heard": "yes"})
def heard(event, name, namespace, **_):
    if event["type"] is not None:
        tell(f"heard {event['type']} of", namespace, name)

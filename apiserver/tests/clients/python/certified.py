"""Loaded after an example of kopf: its admission server has this certificate, and makes none. CERTIFICATE and KEY are it."""

import os

import kopf


@kopf.on.startup()
def certified(settings, **_):
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1", host="localhost",
        certfile=os.environ["CERTIFICATE"], pkeyfile=os.environ["KEY"], cafile=os.environ["CERTIFICATE"])

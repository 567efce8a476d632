"""What the kopf operator says of knobs before they are written: `admissions.py` runs it. CERTIFICATE and KEY are those of its server."""

import os

import kopf

KNOBS = ("example.com", "v1", "knobs")


@kopf.on.startup()
def configure(settings, **_):
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1", host="localhost",
        certfile=os.environ["CERTIFICATE"], pkeyfile=os.environ["KEY"], cafile=os.environ["CERTIFICATE"])
    settings.admission.managed = "judges.example.com"


@kopf.on.mutate(*KNOBS, operation="CREATE")
def filled(spec, patch, warnings, **_):
    if "size" not in spec:
        patch.spec["size"] = 3
        warnings.append("the size was left out")


@kopf.on.validate(*KNOBS)
def judged(spec, old, new, operation, dryrun, userinfo, **_):
    if spec.get("size", 0) > 5 and operation != "DELETE":
        raise kopf.AdmissionError(f"{userinfo['username']} wants too much", code=422)
    if spec.get("stays") and operation == "DELETE":
        raise kopf.AdmissionError("it stays")

//! The work of kubectl for the operators and watches.

use anyhow::Context;
use serde_json::{Value, json};

use super::clients::Clients;
use super::kubectl::SoakKubectl;

/// Namespaces of the clients.
pub(super) const GO: &str = "soak-go";
pub(super) const KOPF: &str = "soak-kopf";
pub(super) const PYTHON: &str = "soak-python";

/// Rounds after which Events are deleted. They live for an hour, and would grow for as long.
const EVENTS: usize = 50;

/// Creates the namespaces, and the kinds of both operators.
pub(super) fn prepare(kubectl: &SoakKubectl) -> anyhow::Result<()> {
    for namespace in [GO, KOPF, PYTHON] {
        kubectl.run(&format!("create namespace {namespace}"), "")?;
    }
    for (plural, kind) in [("gophers", "Gopher"), ("knobs", "Knob")] {
        kubectl.run("apply -f -", &definition(plural, kind).to_string())?;
        let ready = format!("wait --for=condition=Established crd/{plural}.example.com --timeout=30s");
        kubectl.run(&ready, "")?;
    }
    Ok(())
}

/// Creates, changes and deletes an object of each operator, and waits for its work.
pub(super) fn run(kubectl: &SoakKubectl, clients: &mut Clients, round: usize) -> anyhow::Result<()> {
    let (gopher, knob, map) = (format!("g-{round}"), format!("k-{round}"), format!("c-{round}"));
    let create = |object: Value| kubectl.run("create -f -", &object.to_string()).map(drop);
    create(custom("Gopher", GO, &gopher, &json!({"size": 3})))?;
    create(custom("Knob", KOPF, &knob, &json!({"color": "red"})))?;
    create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": map, "namespace": PYTHON}}))?;

    let kept = format!("get gophers -n {GO} {gopher} -o jsonpath={{.status.kept}}");
    kubectl.until(&kept, "3").context("controller-runtime")?;
    let made = format!("get knobs -n {KOPF} {knob} -o jsonpath={{.status.made.color}}");
    kubectl.until(&made, "red").context("kopf")?;
    clients.expect_watched(&map)?;

    kubectl
        .run(&format!("patch gophers -n {GO} {gopher} --type=merge -p {{\"spec\":{{\"size\":4}}}}"), "")?;
    kubectl.run(
        &format!("patch knobs -n {KOPF} {knob} --type=merge -p {{\"spec\":{{\"color\":\"blue\"}}}}"),
        "",
    )?;
    kubectl.until(&kept, "4").context("controller-runtime")?;
    let child = format!("get configmaps -n {GO} {gopher} -o jsonpath={{.data.size}}");
    kubectl.until(&child, "4").context("controller-runtime")?;
    let changed = format!("get knobs -n {KOPF} {knob} -o jsonpath={{.status.changed}}");
    kubectl.until(&changed, "red to blue").context("kopf")?;

    // A deletion waits for the finalizers of the operators, and owned objects follow.
    for line in [
        format!("delete gophers -n {GO} {gopher} --timeout=30s"),
        format!("delete knobs -n {KOPF} {knob} --timeout=30s"),
        format!("delete configmaps -n {PYTHON} {map}"),
    ] {
        kubectl.run(&line, "")?;
    }
    if round.is_multiple_of(EVENTS) {
        kubectl.run(&format!("delete events -n {KOPF} --all"), "")?;
    }
    let owned = format!("get configmaps -n {KOPF} {knob}-child --ignore-not-found -o name");
    kubectl.until(&owned, "").context("the garbage collector")
}

fn custom(kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

fn definition(plural: &str, kind: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": open, "status": open}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

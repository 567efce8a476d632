//! The Python client, and operators of kopf, which stands on a client of its own.

use std::path::{Path, PathBuf};

use machinery_store::Retention;

use super::{Plane, script, tools};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/python");

async fn run(script: &str, plane: Plane, more: &[(&str, &Path)]) {
    if let Some(python) = installed().await {
        script::run(plane, &python, &[&Path::new(SCRIPTS).join(script)], more).await;
    }
}

async fn installed() -> Option<PathBuf> {
    let packages = Path::new(SCRIPTS).join("requirements.txt");
    let python = tokio::task::spawn_blocking(move || tools::python("python", &[packages.to_str().unwrap()]));
    python.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_works_unmodified() {
    // The test waits until a revision is compacted.
    let retention = Retention { revisions: Some(200), ..Retention::default() };
    run("client.py", Plane::that_remembers(retention).await, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_of_kopf_works_unmodified() {
    run("operators.py", Plane::start().await, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admission_server_of_kopf_works_unmodified() {
    let certified = Certified::new();
    run("admissions.py", Plane::start().await, &certified.variables()).await;
}

/// Daemons, timers, indexing and admission, as kopf itself shows them.
#[tokio::test(flavor = "multi_thread")]
async fn examples_of_kopf_work_unmodified() {
    let certified = Certified::new();
    let Some(python) = installed().await else { return };
    let packages = std::fs::read_to_string(Path::new(SCRIPTS).join("requirements.txt")).unwrap();
    let version = packages.lines().find_map(|line| line.strip_prefix("kopf==")).unwrap().to_owned();
    let source = tokio::task::spawn_blocking(move || tools::source(&python, "kopf", &version)).await.unwrap();
    let examples = source.join("examples");
    let more = [&[("EXAMPLES", examples.as_path())], &certified.variables()[..]].concat();
    run("examples.py", Plane::start().await, &more).await;
}

/// A certificate for a server of admission.
struct Certified {
    _home: tempfile::TempDir,
    certificate: PathBuf,
    key: PathBuf,
}

impl Certified {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (certificate, key) = (home.path().join("certificate"), home.path().join("key"));
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        Self { _home: home, certificate, key }
    }

    fn variables(&self) -> [(&'static str, &Path); 2] {
        [("CERTIFICATE", &self.certificate), ("KEY", &self.key)]
    }
}

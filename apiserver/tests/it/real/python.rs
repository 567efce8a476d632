//! The Python client, and an operator of kopf, which stands on a client of its own.

use std::path::Path;

use machinery_store::Retention;

use super::{Plane, script, tools};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/python");

async fn run(script: &str, plane: Plane, more: &[(&str, &Path)]) {
    let scripts = Path::new(SCRIPTS);
    let packages = scripts.join("requirements.txt");
    let python = tokio::task::spawn_blocking(move || tools::python("python", &[packages.to_str().unwrap()]));
    if let Some(python) = python.await.unwrap() {
        script::run(plane, &python, &[&scripts.join(script)], more).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_client_works_unmodified() {
    // It waits until a revision is gone.
    let retention = Retention { revisions: Some(200), ..Retention::default() };
    run("client.py", Plane::that_remembers(retention).await, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_of_kopf_works_unmodified() {
    run("operators.py", Plane::start().await, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admission_server_of_kopf_works_unmodified() {
    let home = tempfile::tempdir().unwrap();
    let (certificate, key) = (home.path().join("certificate"), home.path().join("key"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    run("admissions.py", Plane::start().await, &[("CERTIFICATE", &certificate), ("KEY", &key)]).await;
}

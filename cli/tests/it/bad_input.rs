//! Bad input: one line names the error and its remedy, the exit code is 2, and no file changes.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::program::{ServerProcess, run};

/// The paths below a directory, with the contents of files.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                found.extend(contents(&path));
                found.insert(path, None);
            }
            false => {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, Some(bytes));
            }
        }
    }
    found
}

/// Runs a command line in `home`: it fails, prints all `expected` texts, and changes no file.
async fn check(home: &Path, line: &str, expected: &[&str]) {
    let before = contents(home);
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let done = run(&arguments, home).await;
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "machinery {line}: {stderr}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "", "machinery {line}");
    assert!(stderr.starts_with("machinery: ") && stderr.lines().count() == 1, "machinery {line}: {stderr}");
    for one in expected {
        assert!(stderr.contains(one), "machinery {line} does not print {one:?}: {stderr}");
    }
    assert_eq!(contents(home), before, "machinery {line}: {stderr}");
}

const SERVE: &str = "serve --listen 127.0.0.1:0";

/// A temporary directory with a sound data directory `data`.
async fn home_with_data() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&["--data-dir", "data", "--listen", "127.0.0.1:0"], home.path()).await;
    serving.signal(rustix::process::Signal::TERM);
    assert!(serving.ended().await.success());
    home
}

#[tokio::test]
async fn a_port_in_use_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let expected =
        format!("cannot listen on {address}; stop the process that listens there, or choose another address");
    for kept in ["--data-dir data", "--memory"] {
        check(home.path(), &format!("serve {kept} --listen {address}"), &[&expected]).await;
    }
}

#[tokio::test]
async fn a_data_directory_in_use_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&["--data-dir", "data", "--listen", "127.0.0.1:0"], home.path()).await;
    let expected = ["data/store", "is open in another process: stop that one, or name another directory"];
    for line in [SERVE, "check", "snapshot copy"] {
        check(home.path(), &format!("{line} --data-dir data"), &expected).await;
    }
    serving.kill().await;
}

#[tokio::test]
async fn a_newer_store_format_is_refused() {
    let home = home_with_data().await;
    let store = home.path().join("data/store");
    let log = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let log = log.into_iter().find(|path| path.to_str().unwrap().contains("log-")).unwrap();
    let mut bytes = fs::read(&log).unwrap();
    bytes[8..12].copy_from_slice(&7_u32.to_le_bytes());
    fs::write(&log, bytes).unwrap();
    for line in [SERVE, "check", "snapshot copy"] {
        check(
            home.path(),
            &format!("{line} --data-dir data"),
            &["log-", "has format 7", "open it with a newer version"],
        )
        .await;
    }
}

#[tokio::test]
async fn a_foreign_directory_is_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("data")).unwrap();
    fs::write(home.path().join("data/thesis"), "mine").unwrap();
    check(
        home.path(),
        &format!("{SERVE} --data-dir data"),
        &["data holds thesis", "name an empty directory"],
    )
    .await;
    check(home.path(), &format!("{SERVE} --data-dir data/thesis"), &["data/thesis is no directory"]).await;
    for line in ["check", "snapshot copy"] {
        check(home.path(), &format!("{line} --data-dir data"), &["no data in data", "--data-dir"]).await;
    }
    fs::create_dir(home.path().join("data/store")).unwrap();
    fs::write(home.path().join("data/store/wal"), "theirs").unwrap();
    check(home.path(), &format!("{SERVE} --data-dir data"), &["data/store/ is not a store", "name an empty"])
        .await;
}

#[tokio::test]
async fn invalid_crds_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let line = format!("{SERVE} --data-dir data --crds");
    check(home.path(), &format!("{line} none.yaml"), &["cannot read none.yaml", "check the path"]).await;
    let put = |text: &str| fs::write(home.path().join("crd.yaml"), text).unwrap();
    put("a: [b\n");
    check(home.path(), &format!("{line} crd.yaml"), &["crd.yaml does not parse", "line"]).await;
    put("kind: Pod\n");
    check(
        home.path(),
        &format!("{line} crd.yaml"),
        &["crd.yaml holds a \"Pod\"", "CustomResourceDefinition"],
    )
    .await;
    put(
        "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: a.b.c}\nspec: {group: d.e}\n",
    );
    check(
        home.path(),
        &format!("{line} crd.yaml"),
        &[
            "fix the definition in crd.yaml: the CustomResourceDefinition \"a.b.c\" was refused: ",
            "spec.scope",
        ],
    )
    .await;
}

#[tokio::test]
async fn unusable_tls_files_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let line = format!("{SERVE} --data-dir data --tls-cert c --tls-key k");
    check(home.path(), &line, &["c: there is no such file; check the path"]).await;
    put("c", "no certificate");
    check(home.path(), &line, &["c: there is no certificate in it", "put one there, in PEM"]).await;
    put("c", &made().cert.pem());
    check(home.path(), &line, &["k: there is no such file"]).await;
    put("k", "no key");
    check(home.path(), &line, &["k: there is no private key in it", "put one there, in PEM"]).await;
    put("k", &made().signing_key.serialize_pem());
    check(home.path(), &line, &["c: it and k cannot be used", "put a certificate and its key there"]).await;
    let good = made();
    put("c", &good.cert.pem());
    put("k", &good.signing_key.serialize_pem());
    check(home.path(), &format!("{line} --client-ca none"), &["none: there is no such file"]).await;
}

#[tokio::test]
async fn damaged_pki_files_are_refused() {
    let home = home_with_data().await;
    let pki = home.path().join("data/pki");
    let line = format!("{SERVE} --data-dir data");
    let damage = async |name: &str, text: &str, expected: &[&str]| {
        let good = fs::read(pki.join(name)).unwrap();
        fs::write(pki.join(name), text).unwrap();
        check(home.path(), &line, expected).await;
        fs::write(pki.join(name), good).unwrap();
    };
    damage("ca.key", "no key", &["pki/ca.key: it is no key", "put the right file back, or remove ca.*"])
        .await;
    damage("server.crt", "", &["pki/server.crt", "remove server.*"]).await;
    damage("tokens.csv", "a,b\n", &["tokens.csv: line 1: it has less than three columns", "a line is: "])
        .await;
    fs::set_permissions(pki.join("tokens.csv"), fs::Permissions::from_mode(0o644)).unwrap();
    check(home.path(), &line, &["tokens.csv: others than its owner may use it", "run: chmod 600"]).await;
}

#[tokio::test]
async fn an_invalid_or_readable_encryption_configuration_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let line = format!("{SERVE} --data-dir data --encryption-provider-config keys.yaml");
    let config = "cannot use the encryption configuration keys.yaml: ";
    check(home.path(), &line, &[config, "No such file"]).await;
    let keys = home.path().join("keys.yaml");
    fs::write(&keys, "apiVersion: v1").unwrap();
    for mode in [0o640, 0o604, 0o620, 0o610] {
        fs::set_permissions(&keys, fs::Permissions::from_mode(mode)).unwrap();
        let of = format!("(mode {mode:o}); run: chmod 600 keys.yaml");
        check(home.path(), &line, &[config, "others than its owner may use it", &of]).await;
    }
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o600)).unwrap();
    let fix = "fix the encryption configuration keys.yaml: the configuration: ";
    check(home.path(), &line, &[fix, "write kind: EncryptionConfiguration"]).await;
    fs::write(&keys, vec![b'#'; (1 << 20) + 1]).unwrap();
    check(home.path(), &line, &[config, "larger than 1 MiB"]).await;
}

#[tokio::test]
async fn an_unwritable_kubeconfig_is_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("there")).unwrap();
    fs::write(home.path().join("file"), "").unwrap();
    let line = format!("{SERVE} --data-dir data --kubeconfig-out");
    check(home.path(), &format!("{line} there"), &["there: it is a directory", "name a file"]).await;
    check(home.path(), &format!("{line} file/config"), &["file/config: file is no directory"]).await;
    check(home.path(), &format!("{line} /proc/none/config"), &["/proc/none/config: ", "check the path"])
        .await;
}

#[tokio::test]
async fn unusable_snapshot_files_are_refused() {
    let home = home_with_data().await;
    fs::write(home.path().join("copy"), "mine").unwrap();
    check(home.path(), "snapshot copy --data-dir data", &["copy is there already", "name another file"])
        .await;
    check(
        home.path(),
        "restore copy --data-dir new",
        &["cannot restore copy", "does not begin like a file of a store"],
    )
    .await;
    check(home.path(), "restore none --data-dir new", &["cannot restore none", "No such file"]).await;
    fs::remove_file(home.path().join("copy")).unwrap();
    let done = run(&["snapshot", "copy", "--data-dir", "data"], home.path()).await;
    assert!(done.status.success(), "{done:?}");
    check(home.path(), "restore copy --data-dir data", &["data/store", "restored into an empty directory"])
        .await;
}

#[tokio::test]
async fn unknown_arguments_are_refused() {
    let home = tempfile::tempdir().unwrap();
    for line in
        ["serve --etcd http://127.0.0.1:2379", "serve --listen nowhere", "serve --tls-cert c", "explain x"]
    {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let done = run(&arguments, home.path()).await;
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        assert!(String::from_utf8_lossy(&done.stderr).contains("error: "), "{done:?}");
    }
    assert!(contents(home.path()).is_empty());
}

#[tokio::test]
async fn explain_reports_a_missing_page_or_controller() {
    let home = tempfile::tempdir().unwrap();
    check(
        home.path(),
        "explain host default/db-0 --at 127.0.0.1:1",
        &["no diagnostics pages at 127.0.0.1:1", "--at"],
    )
    .await;
    let plane = machinery::embedded().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    check(
        home.path(),
        &format!("explain host default/db-0 --at {at}"),
        &["no controller reconciles or watches `host`"],
    )
    .await;
    plane.stop().await;
}

#[tokio::test]
async fn an_invalid_audit_configuration_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let policy = |text: &str| fs::write(home.path().join("policy.yaml"), text).unwrap();
    let log = "--audit-policy-file policy.yaml --audit-log-path";
    let none = format!("{SERVE} {log} audit.log");
    check(home.path(), &none, &["cannot read the audit policy policy.yaml"]).await;
    policy("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]");
    check(
        home.path(),
        &none,
        &["fix the audit policy policy.yaml", "rules[0].level", "write None, Metadata"],
    )
    .await;
    policy("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]");
    let nowhere = format!("{SERVE} {log} none/audit.log");
    check(home.path(), &nowhere, &["cannot open the audit log none/audit.log", "choose another path"]).await;
}

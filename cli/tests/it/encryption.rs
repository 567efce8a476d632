//! Encryption at rest: no secret is in a file, files are private, and keys rotate over restarts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::json;

use crate::client::Connection;
use crate::program::{ServerProcess, run};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PLANTED: &str = "pl4nted-v4lue-of-a-secret";
const DISK: [&str; 4] = ["--listen", "127.0.0.1:0", "--data-dir", "data"];
const KEYS: [&str; 2] = ["--encryption-provider-config", "keys.yaml"];

/// Writes a configuration with these keys and this file mode.
fn configure(home: &Path, names: &[&str], mode: u32) {
    let key = |name: &&str| {
        let secret = STANDARD.encode([name.len() as u8; 32]);
        format!("      - {{name: {name}, secret: {secret}}}\n")
    };
    let keys: String = names.iter().map(key).collect();
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  \
         providers:\n  - aesgcm:\n      keys:\n{keys}"
    );
    let path = home.join("keys.yaml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// All paths below a directory, and the directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The files below a directory that contain `text`.
fn containing(directory: &Path, text: &str) -> Vec<PathBuf> {
    let has = |path: &PathBuf| {
        path.is_file() && fs::read(path).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
    };
    files_below(directory).into_iter().filter(has).collect()
}

async fn secret_is_there(serving: &ServerProcess) {
    let mut client = Connection::to(&serving.access).await.unwrap();
    let (code, found) = client.get(&format!("{SECRETS}/kept")).await;
    assert_eq!((code, &found["data"]["k"]), (200, &json!(STANDARD.encode(PLANTED))), "{found}");
}

async fn end(serving: ServerProcess) {
    serving.signal(Signal::TERM);
    assert!(serving.ended().await.success());
}

#[tokio::test]
async fn no_secret_is_in_any_file() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    configure(home, &["old"], 0o600);
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n";
    fs::write(home.join("policy.yaml"), policy).unwrap();
    let audit = ["--audit-policy-file", "policy.yaml", "--audit-log-path", "audit.log"];
    let serving = ServerProcess::start(&[&DISK[..], &KEYS, &audit].concat(), home).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let map = json!({"metadata": {"name": "open"}, "data": {"k": "0pen-v4lue"}});
    assert_eq!(client.request(Method::POST, MAPS, Some(&map)).await.unwrap().0, 201);
    for name in ["kept", "gone"] {
        let secret = json!({"metadata": {"name": name}, "stringData": {"s": PLANTED}, "data": {"k": STANDARD.encode(PLANTED)}});
        assert_eq!(client.request(Method::POST, SECRETS, Some(&secret)).await.unwrap().0, 201);
        for round in 0..20 {
            let mut secret = secret.clone();
            secret["metadata"]["labels"] = json!({"round": round.to_string()});
            assert_eq!(
                client.request(Method::PUT, &format!("{SECRETS}/{name}"), Some(&secret)).await.unwrap().0,
                200
            );
        }
    }
    assert_eq!(client.request(Method::DELETE, &format!("{SECRETS}/gone"), None).await.unwrap().0, 200);
    secret_is_there(&serving).await;
    let lines = serving.lines.join("\n");
    end(serving).await;
    let copied = run(&["snapshot", "copy", "--data-dir", "data"], home).await;
    assert!(copied.status.success(), "{copied:?}");

    for plaintext in [PLANTED, &*STANDARD.encode(PLANTED)] {
        assert_eq!(containing(home, plaintext), Vec::<PathBuf>::new());
        assert!(!lines.contains(plaintext));
    }
    let open = containing(home, "0pen-v4lue");
    for expected in ["audit.log", "copy", "data/store"] {
        assert!(open.iter().any(|path| path.starts_with(home.join(expected))), "{expected} in {open:?}");
    }
    for path in [files_below(&home.join("data")), vec![home.join("copy"), home.join("audit.log")]].concat() {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{} has the mode {mode:o}", path.display());
    }

    // The snapshot restores with the same key.
    let restored = run(&["restore", "copy", "--data-dir", "new"], home).await;
    assert!(restored.status.success(), "{restored:?}");
    let serving =
        ServerProcess::start(&[&["--listen", "127.0.0.1:0", "--data-dir", "new"], &KEYS[..]].concat(), home)
            .await;
    secret_is_there(&serving).await;
    end(serving).await;
    for plaintext in [PLANTED, &*STANDARD.encode(PLANTED)] {
        assert_eq!(containing(home, plaintext), Vec::<PathBuf>::new());
    }
}

#[tokio::test]
async fn keys_are_rotated_over_restarts_and_a_missing_key_is_named() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    configure(home, &["old"], 0o600);
    let arguments = [&DISK[..], &KEYS].concat();
    let serving = ServerProcess::start(&arguments, home).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let secret = json!({"metadata": {"name": "kept"}, "data": {"k": STANDARD.encode(PLANTED)}});
    assert_eq!(client.request(Method::POST, SECRETS, Some(&secret)).await.unwrap().0, 201);
    end(serving).await;
    for (names, rewrites) in [(&["newer", "old"][..], 1), (&["newer"], 1), (&["newer"], 1)] {
        configure(home, names, 0o600);
        let serving = ServerProcess::start(&arguments, home).await;
        secret_is_there(&serving).await;
        assert_eq!(
            serving
                .stderr()
                .matches("objects rewritten as the encryption configuration requires: 1\n")
                .count(),
            rewrites,
            "{}",
            serving.stderr()
        );
        end(serving).await;
    }
    for (names, more) in [(&["old"][..], &KEYS[..]), (&["old"], &[])] {
        configure(home, names, 0o600);
        let refused = run(&[&["serve"], &DISK[..], more].concat(), home).await;
        let stderr = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("`core/secrets/default/kept` is sealed by the key \"newer\""), "{stderr}");
    }
}

#[tokio::test]
async fn core_dumps_are_disabled() {
    // Many systems start with a limit of 0: raise it, so that the program has to lower it.
    let limit = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: limit.maximum, ..limit }).unwrap();
    if limit.maximum == Some(0) {
        println!("skipped: this system forbids core dumps");
    }
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&["--listen", "127.0.0.1:0", "--memory"], home.path()).await;
    let limits = fs::read_to_string(format!("/proc/{}/limits", serving.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    serving.kill().await;
}

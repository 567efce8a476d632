//! The serialization fixtures of Kubernetes, `k8s.io/api/testdata/HEAD`: one object of each kind,
//! with every field set, in JSON, YAML and protobuf. They come with the Go module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::super::{ExpectedType, decode, encode};
use crate::builtin::table;
use crate::{native, yaml};

/// Groups with types from modules without fixtures.
const ELSEWHERE: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// Returns the directory of the fixtures; the Go module is downloaded if it is missing.
fn directory() -> Option<PathBuf> {
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
    let go = if Path::new("/usr/local/go/bin/go").exists() { "/usr/local/go/bin/go" } else { "go" };
    let downloaded =
        Command::new(go).current_dir(record).args(["mod", "download", "-json", "k8s.io/api"]).output();
    let module: Option<Value> = downloaded
        .ok()
        .filter(|done| done.status.success())
        .and_then(|done| serde_json::from_slice(&done.stdout).ok());
    let directory = module.as_ref().and_then(|module| module["Dir"].as_str());
    directory.map(|directory| Path::new(directory).join("testdata/HEAD"))
}

#[test]
fn served_kinds_equal_the_fixtures_of_kubernetes() {
    let Some(directory) = directory() else {
        assert!(std::env::var_os("CI").is_none(), "the fixtures need go and its module proxy");
        // Bypasses the harness, which captures the output of passing tests.
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr().lock(),
            "SKIPPED: no Go module k8s.io/api, whose fixtures were not compared"
        );
        return;
    };
    let kinds = native::kinds().chain([native::scale()]).filter(|kind| !ELSEWHERE.contains(&&*kind.group));
    let mut compared = 0;
    for kind in kinds {
        let group = if kind.group.is_empty() { "core" } else { &kind.group };
        let name = format!("{group}.{}.{}", kind.version, kind.names.kind);
        let read = |extension: &str| {
            let path = directory.join(format!("{name}.{extension}"));
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        check(&name, &kind.api_version, &kind.names.kind, [read("json"), read("yaml"), read("pb")]);
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

/// Keys are compared in order: Go writes those of its structs in their order, and this server all
/// in that of their names.
#[track_caller]
fn check(name: &str, api_version: &str, kind: &str, [json, text, binary]: [Vec<u8>; 3]) {
    let expected: Value = serde_json::from_slice(&json).unwrap();
    let nothing = ExpectedType { api_version: "", kind: "" };
    let decoded = decode(&binary, nothing).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    assert_eq!(decoded.to_string(), expected.to_string(), "{name}");
    assert!(encode(&expected).unwrap() == binary, "{name}: other bytes than Go's");
    assert_eq!(yaml::write(&expected), String::from_utf8_lossy(&text), "{name}");
    let mut stored = expected.clone();
    native::prune(table().kind_of(api_version, kind).unwrap(), &mut stored);
    let kept = |object: &Value| {
        let mut object = object.clone();
        // Null as the value of a map: Kubernetes keeps it, and so does this server.
        object.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        object.to_string()
    };
    assert_eq!(kept(&stored), kept(&expected), "{name}: not stored as it is");
}

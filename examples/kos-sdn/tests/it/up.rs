//! The binary, as a user runs it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn kos(arguments: &[&str]) -> Command {
    let mut kos = Command::new(env!("CARGO_BIN_EXE_kos"));
    kos.args(arguments).env_remove("KUBECONFIG");
    kos
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A running `kos up`, killed on drop.
struct UpProcess(Child);

impl Drop for UpProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn up_once_pings_and_exits_with_success() {
    let ended = kos(&["up", "--once"]).output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended));
    let output = text(&ended);
    assert!(
        output.contains("12 of 12 within a network are answered, 18 of 18 between networks are not"),
        "{output}"
    );
    assert!(output.contains("invariants hold"), "{output}");
    assert!(!output.contains("serving"), "--once needs no listener: {output}");
}

#[test]
fn up_prints_json() {
    let ended = kos(&["up", "--once", "--nodes", "2", "--output", "json"]).output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended));
    let output: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&output["well"], output["attachments"].as_array().unwrap().len()), (&true.into(), 4));
    let pings = output["pings"].as_array().unwrap();
    assert_eq!(pings.iter().filter(|ping| ping["answered"] == true).count(), 4);
    assert!(pings.iter().all(|ping| ping["answered"] == ping["expected"]));
}

#[test]
fn invalid_arguments_are_rejected_with_a_hint() {
    for (arguments, why) in [
        (&["up", "--once", "--nodes", "0"][..], "from 1 to"),
        (&["up", "--once", "--fabric", "ovs", "--nodes", "251"], "1 to 250 hosts"),
        (&["ping", "--kubeconfig", "/nonexistent", "n/a", "n/b"], "--kubeconfig names another"),
    ] {
        let ended = kos(arguments).output().unwrap();
        assert!(!ended.status.success() && text(&ended).contains(why), "{}", text(&ended));
    }
}

/// Returns true if this user and machine can run a lab; otherwise reports the reason.
fn can_run_a_lab(test: &str) -> bool {
    let missing = kos::lab::missing_requirements();
    if !missing.is_empty() {
        eprintln!("SKIPPED {test}: a lab needs {}", missing.join("; "));
    }
    missing.is_empty()
}

#[test]
fn up_on_switches_pings_and_leaves_nothing() {
    if !can_run_a_lab("up_on_switches_pings_and_leaves_nothing") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let lab = directory.path().join("l");
    let arguments = ["up", "--fabric", "ovs", "--once", "--nodes", "2", "--lab-name", "kos-up-test"];
    let ended = kos(&arguments).arg("--lab-dir").arg(&lab).output().unwrap();
    let output = text(&ended);
    assert!(ended.status.success(), "{output}");
    assert!(
        output.contains("4 of 4 within a network are answered, 8 of 8 between networks are not"),
        "{output}"
    );
    assert!(output.contains("invariants hold"), "{output}");
    assert!(!lab.exists(), "{output}");
    let left = fs::read_dir("/run/netns").map(|all| {
        let names = all.flatten().map(|one| one.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("kos-up-test")).collect::<Vec<_>>()
    });
    assert_eq!(left.unwrap_or_default(), [""; 0]);
}

/// Another user than root, without a lab, gets the remedies.
#[test]
fn up_on_switches_names_missing_requirements() {
    use std::os::unix::process::CommandExt as _;
    let directory = tempfile::tempdir().unwrap();
    let lab = directory.path().join("l");
    let mut up = kos(&["up", "--fabric", "ovs", "--once"]);
    up.arg("--lab-dir").arg(&lab);
    if kos::lab::missing_requirements().is_empty() {
        up.uid(65534).gid(65534);
    }
    // That user may be unable to enter the directory of this binary.
    let ended = match up.output() {
        Ok(ended) => ended,
        Err(error) => return eprintln!("SKIPPED up_on_switches_names_missing_requirements: {error}"),
    };
    assert!(!ended.status.success() && !lab.exists());
    let output = text(&ended);
    assert!(
        output.contains("a lab needs")
            && (output.contains("root, for network namespaces: run it with sudo")
                || output.contains("apt-get install")),
        "{output}"
    );
}

#[test]
fn ping_and_trace_work_from_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    let start = || {
        let mut up = kos(&["up", "--data-dir", data, "--kubeconfig-out", kubeconfig]);
        let mut up = UpProcess(up.stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(up.0.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "Ctrl-C ends it"), "it did not come up");
        up
    };
    // The second run uses the data of the first; its switches start empty.
    for _ in 0..2 {
        let up = start();
        let ran = |command: &str, from: &str, to: &str| {
            let ended = kos(&[command, "--kubeconfig", kubeconfig, from, to]).output().unwrap();
            (ended.status.code(), text(&ended))
        };
        let (code, output) = ran("ping", "default/blue-1", "default/blue-2");
        assert!(code == Some(0) && output.contains("3 sent, 3 answered"), "{output}");
        let (code, output) = ran("ping", "default/blue-1", "default/red-2");
        assert!(code == Some(1) && output.contains("3 sent, 0 answered"), "{output}");
        let (code, output) = ran("trace", "default/red-3", "default/red-1");
        assert_eq!(code, Some(0), "{output}");
        for step in [
            "ok   the address is locked: v1-18-",
            "ms after the lock",
            "node-3",
            "tun_dst",
            "node-1",
            "a ping is answered",
        ] {
            assert!(output.contains(step), "{step}: {output}");
        }
        let (code, output) = ran("trace", "default/red-3", "default/blue-1");
        assert!(code == Some(1) && output.contains("FAIL in one network: 18 and 17"), "{output}");
        drop(up);
    }
    assert!(fs::metadata(data).unwrap().is_dir());
}

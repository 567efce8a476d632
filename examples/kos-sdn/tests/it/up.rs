//! The binary, as a stranger runs it.

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

/// One that stays up, until it is dropped.
struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn one_command_shows_frames_that_arrive_and_ends_well() {
    let ended = kos(&["up", "--once"]).output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended));
    let told = text(&ended);
    assert!(
        told.contains("12 of 12 within a network are answered, 18 of 18 between networks are not"),
        "{told}"
    );
    assert!(told.contains("audited: each address"), "{told}");
    assert!(!told.contains("serving"), "nobody is there to be served: {told}");
}

#[test]
fn what_is_there_is_told_to_programs_too() {
    let ended = kos(&["up", "--once", "--nodes", "2", "--output", "json"]).output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended));
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&told["well"], told["attachments"].as_array().unwrap().len()), (&true.into(), 4));
    let pings = told["pings"].as_array().unwrap();
    assert_eq!(pings.iter().filter(|ping| ping["answered"] == true).count(), 4);
    assert!(pings.iter().all(|ping| ping["answered"] == ping["expected"]));
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    for (arguments, why) in [
        (&["up", "--once", "--nodes", "0"][..], "from 1 to"),
        (&["up", "--once", "--fabric", "ovs"], "sim and log are"),
        (&["ping", "--kubeconfig", "/nonexistent", "n/a", "n/b"], "--kubeconfig names another"),
    ] {
        let ended = kos(arguments).output().unwrap();
        assert!(!ended.status.success() && text(&ended).contains(why), "{}", text(&ended));
    }
}

#[test]
fn a_ping_and_a_trace_from_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    let begin = || {
        let mut up = kos(&["up", "--data-dir", data, "--kubeconfig-out", kubeconfig]);
        let mut up = Up(up.stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(up.0.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "Ctrl-C ends it"), "it did not come up");
        up
    };
    // The second time on what the first left: a switch of no node has anything then.
    for _ in 0..2 {
        let up = begin();
        let ran = |command: &str, from: &str, to: &str| {
            let ended = kos(&[command, "--kubeconfig", kubeconfig, from, to]).output().unwrap();
            (ended.status.code(), text(&ended))
        };
        let (code, told) = ran("ping", "default/blue-1", "default/blue-2");
        assert!(code == Some(0) && told.contains("3 sent, 3 answered"), "{told}");
        let (code, told) = ran("ping", "default/blue-1", "default/red-2");
        assert!(code == Some(1) && told.contains("3 sent, 0 answered"), "{told}");
        let (code, told) = ran("trace", "default/red-3", "default/red-1");
        assert_eq!(code, Some(0), "{told}");
        for step in [
            "ok   the address is its own: lock v1-18-",
            "ms after the lock",
            "node-3",
            "tun_dst",
            "node-1",
            "a ping is answered",
        ] {
            assert!(told.contains(step), "{step}: {told}");
        }
        let (code, told) = ran("trace", "default/red-3", "default/blue-1");
        assert!(code == Some(1) && told.contains("FAIL in one network: 18 and 17"), "{told}");
        drop(up);
    }
    assert!(fs::metadata(data).unwrap().is_dir());
}

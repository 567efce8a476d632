//! Attachments with hostile strings in every field, on a simulated switch.

use std::net::Ipv4Addr;
use std::process::Command;

use futures::future::join_all;
use kos::drive::Fabric as _;
use kos::drive::ovs::fabric::fake::FakeOvs;
use kos::drive::ovs::fabric::{FabricLimits, OvsFabric};
use kos::model::{NetworkAttachment, Peer};
use kos::plan::ovs::SwitchSettings;
use kos::plan::{Interface, RemoteInterface, SplitMix64, desired_local};
use machinery::controllers::Progress;
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};

const BATCHES: usize = 40;
const BATCH: usize = 250;
/// A part of each hostile string, by which it is found.
const TOKEN: &str = "Qx7hostile";
const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

const PIECES: [&str; 28] = [
    "\"",
    "\\",
    "'",
    "`",
    "$(touch /tmp/x)",
    "; rm -rf /",
    "\n",
    "\r\n",
    "\0",
    "\u{1b}[2J",
    "}],\"op\":\"delete\"",
    "\",\"uuid-name\":\"x",
    "[\"uuid\",\"0\"]",
    "../../..",
    "/",
    ".",
    "..",
    "-O",
    "--db=x",
    "actions=NORMAL",
    ",output:1",
    "table=0,priority=65535",
    "%s%n",
    "\u{202e}",
    "\u{fffd}",
    "🦀",
    "a=b",
    " ",
];

fn hostile(chance: &mut SplitMix64) -> String {
    let piece = |chance: &mut SplitMix64| PIECES[chance.below(PIECES.len())].repeat(1 + chance.below(3));
    let (before, after) = (piece(chance), piece(chance));
    // A part of the texts is longer than any name may be.
    let long = if chance.below(20) == 0 { "x".repeat(300) } else { String::new() };
    format!("{before}{TOKEN}{}{after}{long}", chance.below(1 << 20))
}

/// Returns an attachment as JSON: all strings are hostile, but for some that make an interface.
fn attachment(chance: &mut SplitMix64, number: usize) -> Value {
    let mut h = || hostile(chance);
    let mut object = json!({
        "metadata": {
            "name": h(), "namespace": h(), "uid": h(), "resourceVersion": h(), "generateName": h(),
            "labels": {h(): h()}, "annotations": {h(): h()}, "finalizers": [h()],
            "ownerReferences": [{"apiVersion": h(), "kind": h(), "name": h(), "uid": h()}],
        },
        "spec": {"node": h(), "subnet": h(), "postCreateExec": [h(), h()], "postDeleteExec": [h()]},
        "status": {
            "errors": {"ipam": [h()], "host": [h()]}, "lockUID": h(), "ipv4": h(), "macAddress": h(),
            "ifcName": h(), "hostIP": h(), "addressVNI": 1 + number,
            "postCreateExecReport": {
                "command": [h()], "exitStatus": 0, "stdOut": h(), "stdErr": h(),
                "startTime": "2026-01-01T00:00:00Z", "stopTime": "2026-01-01T00:00:00Z",
            },
        },
    });
    if chance.below(16) != 0 {
        object["status"]["ipv4"] =
            json!(format!("10.{}.{}.{}", chance.below(256), chance.below(256), 1 + chance.below(250)));
        object["status"]["hostIP"] = json!(format!("192.0.2.{}", 2 + chance.below(200)));
    }
    object
}

/// Returns the interfaces that an agent makes of an attachment, on this node or another.
fn interface(object: &Value, is_local: bool) -> Option<Interface> {
    if is_local {
        return desired_local(&serde_json::from_value::<NetworkAttachment>(object.clone()).unwrap());
    }
    let (vni, address, host) = serde_json::from_value::<Peer>(object.clone()).unwrap().location()?;
    Some(Interface::Remote(RemoteInterface::new(vni, address, host)))
}

/// Calls a function with each string and the path to it.
fn strings(value: &Value, path: &str, found: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => found(path, text),
        Value::Array(all) => all.iter().for_each(|one| strings(one, &format!("{path}/*"), found)),
        Value::Object(all) => {
            for (name, one) in all {
                found(&format!("{path}/name"), name);
                strings(one, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// Creates and deletes the interfaces of a batch. Returns the number of created local interfaces,
/// and of hostile strings in transactions.
async fn batch(chance: &mut SplitMix64, first: usize) -> (usize, usize) {
    let ovs = FakeOvs::new("kos", HOST, 1500);
    let mut settings = SwitchSettings::new("node-1", HOST);
    settings.into_namespaces = true;
    let limits = FabricLimits::default();
    let fabric = OvsFabric::new(settings, limits, ovs.connect("kos"));
    fabric.repair(&Progress::default()).await.unwrap();
    let objects: Vec<_> = (0..BATCH).map(|number| attachment(chance, first + number)).collect();
    let interfaces: Vec<_> =
        objects.iter().enumerate().filter_map(|(n, object)| interface(object, n % 2 == 0)).collect();
    let created = join_all(interfaces.iter().map(async |interface| match interface {
        Interface::Local(local) => fabric.create_local(local).await.is_ok(),
        Interface::Remote(remote) => {
            fabric.create_remote(remote).await.unwrap();
            false
        }
    }));
    let created = created.await.into_iter().filter(|is_created| *is_created).count();
    let deleted = join_all(interfaces.iter().map(async |interface| match interface {
        Interface::Local(local) => fabric.delete_local(local).await,
        Interface::Remote(remote) => fabric.delete_remote(remote).await,
    }));
    deleted.await.into_iter().for_each(|deleted| deleted.unwrap());
    let mut hostile = 0;
    for request in ovs.database.requests() {
        strings(&request, "", &mut |path, text| {
            if text.contains(TOKEN) {
                hostile += 1;
                assert_eq!(path, "/*/row/external_ids/*/*/*", "{text}");
                let is_one = |it: &Value| {
                    let metadata = &it["metadata"];
                    format!(
                        "{}/{}",
                        metadata["namespace"].as_str().unwrap(),
                        metadata["name"].as_str().unwrap()
                    ) == text
                };
                assert!(objects.iter().any(is_one), "a part of a text: {text}");
            }
        });
    }
    let bundles = format!("{:?}", ovs.flows.bundles());
    assert!(!bundles.contains(TOKEN), "{bundles}");
    assert_eq!(ovs.flows.flows().len(), 2, "flows were left");
    (created, hostile)
}

const NAME: &str = "ovs::hostile::hostile_strings_stay_in_external_ids";
const CHILD: &str = "KOS_TEST_WITHOUT_CHILDREN";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_strings_stay_in_external_ids() {
    if std::env::var_os(CHILD).is_none() {
        // In a process of its own, which has no children of other tests.
        let own = std::env::current_exe().unwrap();
        let ran = Command::new(own).args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let text = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        return;
    }
    let mut chance = SplitMix64::new(32);
    let (mut created, mut hostile) = (0, 0);
    for number in 0..BATCHES {
        let done = batch(&mut chance, number * BATCH).await;
        created += done.0;
        hostile += done.1;
    }
    println!(
        "{} attachments, {created} interfaces, {hostile} hostile strings in transactions",
        BATCHES * BATCH
    );
    assert!(created > BATCHES && hostile >= created, "{created} {hostile}");
    assert_eq!(getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss(), 0, "a child process ended");
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let children = std::fs::read_to_string(task.unwrap().path().join("children"));
        assert_eq!(children.unwrap_or_default(), "", "a child process runs");
    }
}

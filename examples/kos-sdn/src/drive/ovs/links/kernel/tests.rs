//! Tests with namespaces of this machine, as root.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Child, Command};
use std::time::Duration;

use machinery::tokio;
use machinery::tokio::time::timeout;
use tempfile::TempDir;

use super::{KernelLinks, KernelLinksSettings, NAMESPACES};
use crate::drive::ovs::links::{
    EchoRequest, InterfaceAddress, LinkChange, LinkError, LinkEvent, LinkEvents, LinkPlace, LinkStep, Links,
    NamespaceName, NamespaceState,
};
use crate::plan::Mac;

/// A namespace with a process that plays the switch. Its other namespaces have its name as prefix.
struct KernelHost {
    name: String,
    directory: TempDir,
    process: Child,
}

impl KernelHost {
    /// Returns `None`, and prints the reason, if this machine cannot run the test.
    fn new(test: &str) -> Option<Self> {
        let can = rustix::process::geteuid().is_root() && succeeds("ip", &["-V"]);
        if !can {
            skip(test);
            return None;
        }
        let name = format!("links-{}-{test}", std::process::id());
        ip(&["netns", "add", &name]);
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("ovs-vswitchd");
        symlink("/bin/sleep", &program).unwrap();
        let process =
            Command::new("ip").args(["netns", "exec", &name]).arg(&program).arg("600").spawn().unwrap();
        fs::write(directory.path().join("pid"), format!("{}\n", process.id())).unwrap();
        let comm = format!("/proc/{}/comm", process.id());
        while fs::read_to_string(&comm).unwrap().trim() != "ovs-vswitchd" {
            std::thread::yield_now();
        }
        Some(Self { name, directory, process })
    }

    fn links(&self, owner: &str) -> KernelLinks {
        let pid_file = self.directory.path().join("pid");
        KernelLinks::start(KernelLinksSettings { pid_file, owner: format!("{} {owner}", self.name) }).unwrap()
    }

    fn namespace(&self, name: &str) -> NamespaceName {
        NamespaceName::of_attachment(&self.name, name).unwrap()
    }

    fn ip(&self, arguments: &[&str]) {
        ip(&[&["-n", &self.name], arguments].concat());
    }
}

impl Drop for KernelHost {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let of_test = |name: &str| name == self.name || name.starts_with(&format!("{}.", self.name));
        for entry in fs::read_dir(NAMESPACES).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if of_test(&name) {
                succeeds("ip", &["netns", "delete", &name]);
            }
        }
    }
}

/// Past the harness, which keeps the output of tests that pass.
fn skip(test: &str) {
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED: {test} needs root and iproute2");
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn ip(arguments: &[&str]) {
    assert!(succeeds("ip", arguments), "ip {}", arguments.join(" "));
}

/// Waits until all expected events came, in any order, beside others.
async fn wait_for<const N: usize>(events: &mut LinkEvents, expected: [LinkEvent; N]) {
    let mut missing = Vec::from(expected);
    let found = timeout(Duration::from_secs(60), async {
        while !missing.is_empty() {
            let event = events.next().await.unwrap();
            missing.retain(|expected| *expected != event);
        }
    });
    assert!(found.await.is_ok(), "{missing:?}");
}

fn link_event(name: &str) -> LinkEvent {
    LinkEvent::Link { name: name.into() }
}

fn set(place: &LinkPlace, name: &str, change: LinkChange) -> LinkStep {
    LinkStep::Set { place: place.clone(), name: name.into(), change }
}

#[tokio::test]
async fn a_link_is_moved_configured_and_deleted() {
    let Some(host) = KernelHost::new("a_link_is_moved_configured_and_deleted") else { return };
    let (links, name) = (host.links("a"), host.namespace("a"));
    host.ip(&["link", "add", "kos1", "type", "veth", "peer", "name", "kos2"]);
    let mut events = links.watch().await.unwrap();
    let index = links.list().await.unwrap().named("kos1").next().unwrap().index;
    let place = LinkPlace::Workload(name.clone());
    let address = InterfaceAddress { address: [10, 0, 0, 2].into(), prefix: 24 };
    let change = LinkChange { mac: Some(Mac([2; 6])), mtu: Some(1450), up: Some(true) };
    let steps = [
        LinkStep::CreateNamespace(name.clone()),
        LinkStep::CreateNamespace(name.clone()),
        LinkStep::loopback_up(name.clone()),
        LinkStep::Move { name: "kos1".into(), index, to: name.clone() },
        LinkStep::AddAddress { place: place.clone(), name: "kos1".into(), address },
        LinkStep::AddAddress { place: place.clone(), name: "kos1".into(), address },
        set(&place, "kos1", change),
    ];
    links.apply(&steps).await.unwrap();
    let list = links.list().await.unwrap();
    let found: Vec<_> = list.named("kos1").cloned().collect();
    assert_eq!((found.len(), &found[0].place, found[0].mtu, found[0].up), (1, &place, 1450, true));
    assert_eq!((found[0].mac, &found[0].addresses[..]), (Some(Mac([2; 6])), &[address][..]));
    assert_eq!(list.namespaces.len(), 1);
    assert!(list.namespaces[0].loopback_up);
    wait_for(&mut events, [LinkEvent::Namespace { name: name.clone() }, link_event("kos1")]).await;

    let mut events = links.watch().await.unwrap();
    ip(&["-n", name.as_str(), "address", "delete", "10.0.0.2/24", "dev", "kos1"]);
    wait_for(&mut events, [link_event("kos1")]).await;
    assert_eq!(links.list_place(&place).await.unwrap()[0].addresses, []);

    let delete = |index| [LinkStep::Delete { place: place.clone(), name: "kos1".into(), index }];
    let failed = links.apply(&delete(found[0].index + 1)).await.unwrap_err();
    assert!(matches!(failed.error, LinkError::Replaced { .. }), "{failed}");
    links.apply(&delete(found[0].index)).await.unwrap();
    links.apply(&delete(found[0].index)).await.unwrap();
    assert_eq!(links.list_place(&place).await, Ok(Vec::new()));
    let failed = links.apply(&[set(&place, "kos1", change)]).await.unwrap_err();
    assert_eq!(failed.error, LinkError::LinkMissing { place, name: "kos1".into() });
    links.apply(&[LinkStep::DeleteNamespace(name.clone()), LinkStep::DeleteNamespace(name)]).await.unwrap();
    assert_eq!(links.list().await.unwrap().namespaces, []);
}

/// A deleted namespace must not live on in a socket of the agent.
#[tokio::test]
async fn a_namespace_deleted_by_hand_is_reported() {
    let Some(host) = KernelHost::new("a_namespace_deleted_by_hand_is_reported") else { return };
    let (links, name) = (host.links("a"), host.namespace("a"));
    host.ip(&["link", "add", "kos1", "type", "veth", "peer", "name", "kos2"]);
    let index = links.list().await.unwrap().named("kos1").next().unwrap().index;
    let steps = [
        LinkStep::CreateNamespace(name.clone()),
        LinkStep::Move { name: "kos1".into(), index, to: name.clone() },
    ];
    links.apply(&steps).await.unwrap();
    let mut events = links.watch().await.unwrap();
    ip(&["netns", "delete", name.as_str()]);
    wait_for(&mut events, [LinkEvent::Namespace { name: name.clone() }, link_event("kos2")]).await;
    let list = links.list().await.unwrap();
    assert_eq!((list.named("kos1").count(), list.namespaces.len()), (0, 0));
}

#[tokio::test]
async fn namespaces_of_others_are_left_alone() {
    let Some(host) = KernelHost::new("namespaces_of_others_are_left_alone") else { return };
    let (links, others, name) = (host.links("a"), host.links("b"), host.namespace("a"));
    let taken = |error: LinkError| assert!(matches!(error, LinkError::NamespaceTaken { .. }), "{error}");
    let create = [LinkStep::CreateNamespace(name.clone())];
    let delete = [LinkStep::DeleteNamespace(name.clone())];
    for by_hand in [true, false] {
        match by_hand {
            true => ip(&["netns", "add", name.as_str()]),
            false => others.apply(&create).await.unwrap(),
        }
        taken(links.apply(&create).await.unwrap_err().error);
        taken(links.apply(&delete).await.unwrap_err().error);
        taken(links.apply(&[LinkStep::loopback_up(name.clone())]).await.unwrap_err().error);
        assert_eq!(links.list().await.unwrap().namespaces, []);
        ip(&["netns", "delete", name.as_str()]);
    }
}

#[tokio::test]
async fn a_name_without_namespace_keeps_its_owner() {
    let Some(host) = KernelHost::new("a_name_without_namespace_keeps_its_owner") else { return };
    let (links, others, name) = (host.links("a"), host.links("b"), host.namespace("a"));
    let create = [LinkStep::CreateNamespace(name.clone())];
    let delete = [LinkStep::DeleteNamespace(name.clone())];
    links.apply(&create).await.unwrap();
    assert!(succeeds("umount", &["--lazy", &format!("{NAMESPACES}/{name}")]));
    assert_eq!(others.list().await.unwrap().namespaces, []);
    assert!(others.apply(&delete).await.is_err());
    assert_eq!(links.list().await.unwrap().namespaces[0].state, NamespaceState::NameOnly);
    links.apply(&create).await.unwrap();
    assert_eq!(links.list().await.unwrap().namespaces[0].state, NamespaceState::Live);
    assert!(succeeds("umount", &["--lazy", &format!("{NAMESPACES}/{name}")]));
    links.apply(&delete).await.unwrap();
    assert_eq!(links.list().await.unwrap().namespaces, []);
}

#[tokio::test]
async fn a_ping_leaves_from_the_workload() {
    let Some(host) = KernelHost::new("a_ping_leaves_from_the_workload") else { return };
    let (links, name) = (host.links("a"), host.namespace("a"));
    host.ip(&["link", "add", "kos1", "type", "veth", "peer", "name", "kos2"]);
    host.ip(&["address", "add", "10.9.0.1/24", "dev", "kos2"]);
    host.ip(&["link", "set", "kos2", "up"]);
    let list = links.list().await.unwrap();
    assert_eq!(list.underlay_mtu([10, 9, 0, 1].into()), Some(1500));
    let index = list.named("kos1").next().unwrap().index;
    let place = LinkPlace::Workload(name.clone());
    let address = InterfaceAddress { address: [10, 9, 0, 2].into(), prefix: 24 };
    let up = LinkChange { up: Some(true), ..LinkChange::default() };
    let steps = [
        LinkStep::CreateNamespace(name.clone()),
        LinkStep::Move { name: "kos1".into(), index, to: name.clone() },
        LinkStep::AddAddress { place: place.clone(), name: "kos1".into(), address },
        set(&place, "kos1", up),
    ];
    links.apply(&steps).await.unwrap();
    let request = |to: [u8; 4]| EchoRequest {
        namespace: name.clone(),
        from: [10, 9, 0, 2].into(),
        to: to.into(),
        sequence: 7,
        time_limit: Duration::from_secs(60),
    };
    let (one, two) = (request([10, 9, 0, 1]), request([10, 9, 0, 1]));
    let pings = tokio::join!(links.ping(&one), links.ping(&two));
    assert_eq!(pings, (Ok(()), Ok(())));
    let absent = EchoRequest { time_limit: Duration::from_millis(100), ..request([10, 9, 0, 9]) };
    let reason = "no reply within 100 ms".into();
    assert_eq!(links.ping(&absent).await, Err(LinkError::NoReply { to: absent.to, reason }));
    let unreachable = links.ping(&request([192, 0, 2, 1])).await;
    assert!(matches!(unreachable, Err(LinkError::NoReply { .. })), "{unreachable:?}");
}

#[tokio::test]
async fn an_unknown_switch_is_an_error() {
    if !rustix::process::geteuid().is_root() {
        return skip("an_unknown_switch_is_an_error");
    }
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let settings = KernelLinksSettings { pid_file: pid_file.clone(), owner: "kos".into() };
    let links = KernelLinks::start(settings).unwrap();
    for content in [None, Some("x"), Some("4194999"), Some(&*std::process::id().to_string())] {
        if let Some(content) = content {
            fs::write(&pid_file, content).unwrap();
        }
        assert!(matches!(links.list().await, Err(LinkError::SwitchUnknown { .. })), "{content:?}");
    }
    let long = KernelLinksSettings { pid_file, owner: "a".repeat(256) };
    assert!(matches!(KernelLinks::start(long), Err(LinkError::Mark { .. })));
}

//! Links of a real Open vSwitch, as root on this machine.

use std::time::Duration;

use kos::drive::ovs::links::{
    InterfaceAddress, KernelLinks, KernelLinksSettings, Link, LinkChange, LinkEvent, LinkEvents, LinkPlace,
    LinkStep, Links, NamespaceName,
};
use kos::lab::{Daemon, Lab, LabHost};
use machinery::tokio;
use machinery::tokio::process::Command;
use machinery::tokio::time::timeout;

use crate::lab::Site;

async fn vsctl(lab: &Lab, host: &LabHost, arguments: &[&str]) {
    let mut vsctl = Command::new("ovs-vsctl");
    vsctl.args(["--timeout=60"]).args(arguments);
    assert!(lab.exec(host, vsctl).await.unwrap().wait().await.unwrap().success(), "{arguments:?}");
}

async fn wait_for_link(events: &mut LinkEvents, name: &str) {
    let found = timeout(Duration::from_secs(60), async {
        while events.next().await != Some(LinkEvent::Link { name: name.into() }) {}
    });
    assert!(found.await.is_ok(), "no event of {name}");
}

/// Waits until as many links as expected have the name.
async fn links_named(links: &KernelLinks, name: &str, count: usize) -> Vec<Link> {
    let found = timeout(Duration::from_secs(60), async {
        loop {
            let list = links.list().await.unwrap();
            let named: Vec<_> = list.named(name).cloned().collect();
            if named.len() == count {
                return named;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    found.await.unwrap_or_else(|_| panic!("not {count} links {name}"))
}

fn place_steps(index: u32, name: &NamespaceName) -> Vec<LinkStep> {
    let place = LinkPlace::Workload(name.clone());
    let address = InterfaceAddress { address: [10, 0, 0, 2].into(), prefix: 24 };
    let change = LinkChange { mtu: Some(1450), up: Some(true), ..LinkChange::default() };
    vec![
        LinkStep::CreateNamespace(name.clone()),
        LinkStep::Move { name: "kos1".into(), index, to: name.clone() },
        LinkStep::AddAddress { place: place.clone(), name: "kos1".into(), address },
        LinkStep::Set { place, name: "kos1".into(), change },
    ]
}

/// A killed switch leaves its port in the workload's namespace, and makes another one of that name.
#[tokio::test]
async fn an_orphan_of_a_killed_switch_is_replaced() {
    let Some(site) = Site::new("an_orphan_of_a_killed_switch_is_replaced", "links-o") else { return };
    let lab = Lab::up(site.settings(1)).await.unwrap();
    let host = &lab.hosts()[0];
    let settings =
        KernelLinksSettings { pid_file: host.file("ovs-vswitchd.pid"), owner: host.workload_mark() };
    let links = KernelLinks::start(settings).unwrap();
    let port = ["--", "set", "interface", "kos1", "type=internal"];
    vsctl(&lab, host, &[&["add-port", "underlay", "kos1"], &port[..]].concat()).await;
    let name = NamespaceName::of_attachment(&lab.settings().name, "a").unwrap();
    let place = LinkPlace::Workload(name.clone());
    let list = links.list().await.unwrap();
    assert_eq!(list.underlay_mtu(host.address), Some(1500));
    let index = list.named("kos1").next().unwrap().index;
    links.apply(&place_steps(index, &name)).await.unwrap();
    let moved = links_named(&links, "kos1", 1).await;
    assert_eq!((&moved[0].place, moved[0].mtu, moved[0].carrier), (&place, 1450, true));

    let mut events = links.watch().await.unwrap();
    lab.kill(host, Daemon::Switch).await.unwrap();
    wait_for_link(&mut events, "kos1").await;
    assert!(links.list().await.is_err(), "the namespace of a killed switch is unknown");
    lab.start(host, Daemon::Switch).await.unwrap();
    let both = links_named(&links, "kos1", 2).await;
    assert_eq!((&both[0].place, &both[1].place), (&LinkPlace::Switch, &place));
    assert!(!both[1].carrier, "the old port is dead");
    let orphan = LinkStep::Delete { place: place.clone(), name: "kos1".into(), index: both[1].index };
    links.apply(&[orphan]).await.unwrap();
    links.apply(&place_steps(both[0].index, &name)).await.unwrap();
    let moved = links_named(&links, "kos1", 1).await;
    assert_eq!((&moved[0].place, moved[0].carrier), (&place, true));

    vsctl(&lab, host, &["del-port", "underlay", "kos1"]).await;
    links_named(&links, "kos1", 0).await;
    // Workloads' namespaces are removed with the lab.
    lab.down().await.unwrap();
    site.assert_clean("after down");
}

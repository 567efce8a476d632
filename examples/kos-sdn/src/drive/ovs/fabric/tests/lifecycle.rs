//! Creation, deletion and adoption.

use std::sync::Arc;

use machinery::tokio;
use machinery::tokio::io::AsyncReadExt as _;
use machinery::tokio::net::UnixListener;
use machinery::tokio_util::sync::CancellationToken;

use super::bench::{DEADLINE, FabricBench, HOST, local, remote, settings};
use crate::drive::FabricPort;
use crate::drive::ovs::fabric::{OvsFabric, OvsSettings};
use crate::drive::ovs::links::{LinkPlace, Links as _, NamespaceName};
use crate::drive::{FabricError, FabricRepairs, InterfaceList};
use crate::plan::{RemoteInterface, interface_name};

#[tokio::test(crate = "machinery::tokio")]
async fn a_local_interface_has_port_link_and_flows() {
    let bench = FabricBench::new().await;
    bench.fabric.create_local(&local(2)).await.unwrap();
    let name = interface_name(local(2).mac);
    let (ports, flows, namespaces) = bench.state().await;
    assert_eq!(ports, ["kos".to_owned(), "kos-vtep".to_owned(), name.clone()]);
    assert_eq!((flows, namespaces), (2 + 4, vec!["default.a2".to_owned()]));
    let place = LinkPlace::Workload(NamespaceName::of_attachment("default", "a2").unwrap());
    let links = bench.ovs.links.list_place(&place).await.unwrap();
    let [link] = &links[..] else { panic!("{links:?}") };
    assert_eq!((&link.name, link.mac, link.mtu, link.up), (&name, Some(local(2).mac), 1450, true));
    assert_eq!((link.addresses[0].address, link.addresses[0].prefix), (local(2).address, 24));
    let row = bench.ovs.database.rows().interface(&name).unwrap().clone();
    assert_eq!(row.external_ids["kos-attachment"], "default/a2");

    bench.fabric.delete_local(&local(2)).await.unwrap();
    let (ports, flows, namespaces) = bench.state().await;
    assert_eq!(ports, ["kos", "kos-vtep"]);
    assert_eq!((flows, namespaces.len()), (2, 0));
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_bridge_and_its_tunnel_port_are_created_once() {
    let bench = FabricBench::new().await;
    let rows = bench.ovs.database.rows();
    let bridge = rows.bridge("kos").unwrap();
    assert_eq!((&*bridge.datapath_type, bridge.fail_mode.as_deref()), ("netdev", Some("secure")));
    let tunnel = rows.interface("kos-vtep").unwrap();
    assert_eq!((&*tunnel.kind, &*tunnel.options["local_ip"]), ("vxlan", &*HOST.to_string()));
    assert_eq!(bench.fabric.reconcile().await, Ok(FabricRepairs::default()));
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_restarted_fabric_adopts_interfaces_without_changes() {
    let bench = FabricBench::new().await;
    for low in 2..5 {
        bench.fabric.create_local(&local(low)).await.unwrap();
        bench.fabric.create_remote(&remote(low)).await.unwrap();
    }
    let before = bench.fabric.list().await.unwrap();
    let ovs = bench.crash().await;
    let (commits, bundles) = (ovs.database.commits(), ovs.flows.bundles().len());
    ovs.links.take_steps();
    let dumps = ovs.flows.dumps();
    let bench = FabricBench::on(ovs.clone());
    assert_eq!(bench.fabric.list().await, Ok(before.clone()));
    assert_eq!((before.locals.len(), before.remotes.len(), before.broken.len()), (3, 3, 0));
    assert_eq!(bench.fabric.reconcile().await, Ok(FabricRepairs::default()));
    assert_eq!((ovs.database.commits(), ovs.flows.bundles().len()), (commits, bundles));
    assert_eq!(ovs.links.take_steps(), []);
    assert_eq!(ovs.flows.dumps(), dumps + 1, "one dump while the monitor is unbroken");
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn concurrent_requests_share_transactions_and_bundles() {
    let bench = FabricBench::new().await;
    let (commits, bundles) = (bench.ovs.database.commits(), bench.ovs.flows.bundles().len());
    let (locals, remotes): (Vec<_>, Vec<_>) = (2..102).map(|low| (local(low), remote(low))).unzip();
    let here = futures::future::try_join_all(locals.iter().map(|one| bench.fabric.create_local(one)));
    let there = futures::future::try_join_all(remotes.iter().map(|one| bench.fabric.create_remote(one)));
    futures::future::try_join(here, there).await.unwrap();
    assert!(bench.ovs.database.commits() - commits <= 3, "100 ports need no 100 transactions");
    assert!(bench.ovs.flows.bundles().len() - bundles <= 6);
    assert_eq!(bench.state().await.1, 2 + 200 * 4);
    bench.crash().await;
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_moved_remote_interface_has_the_flows_of_its_new_node() {
    let bench = FabricBench::new().await;
    bench.fabric.create_remote(&remote(2)).await.unwrap();
    let moved = RemoteInterface::new(remote(2).vni, remote(2).address, [192, 0, 2, 8].into());
    assert!(matches!(bench.fabric.create_remote(&moved).await, Err(FabricError::Taken { .. })));
    bench.fabric.delete_remote(&remote(2)).await.unwrap();
    bench.fabric.create_remote(&moved).await.unwrap();
    let list = InterfaceList { remotes: vec![moved], ..InterfaceList::default() };
    assert_eq!(bench.fabric.list().await, Ok(list));
    assert_eq!(bench.state().await.1, 2 + 4);
    bench.crash().await;
}

/// The former fabric kept the lock of the database when its future was dropped without a
/// cancellation: its tasks lived on.
#[tokio::test(crate = "machinery::tokio")]
async fn a_dropped_fabric_closes_its_connections() {
    let directory = tempfile::tempdir().unwrap();
    let listen = |name: &str| UnixListener::bind(directory.path().join(name)).unwrap();
    let (database, bridge) = (listen("db.sock"), listen("kos.mgmt"));
    let fabric = OvsFabric::start(OvsSettings::new(settings(), directory.path())).unwrap();
    let actuator = FabricPort::actuator(Arc::new(fabric), DEADLINE);
    let mut running = Box::pin(actuator.run(CancellationToken::new()));
    let accepted = futures::future::try_join(database.accept(), bridge.accept());
    let accepted = tokio::select! {
        biased;
        _ = &mut running => unreachable!("it runs"),
        accepted = accepted => accepted.unwrap(),
    };
    drop(running);
    for mut socket in [accepted.0.0, accepted.1.0] {
        let closed = tokio::time::timeout(DEADLINE, socket.read_to_end(&mut Vec::new())).await;
        assert!(closed.is_ok(), "the connection stays open");
    }
}

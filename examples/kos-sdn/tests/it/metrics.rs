//! Metrics and the dashboard.

use std::process::Command;
use std::time::Duration;

use kos::metrics::descriptions;
use kos::model::{NetworkAttachment, Subnet};
use kos::up::{LocalCluster, LocalClusterSettings, pairs, ping_pairs};
use machinery::Objects;
use machinery::metrics::undeclared_series;

#[test]
fn the_dashboard_and_the_table_in_the_tree_are_current() {
    for (option, file) in [
        (None, include_str!("../../deploy/dashboard.json")),
        (Some("--table"), include_str!("../../deploy/metrics.md")),
    ] {
        let printed = Command::new(env!("CARGO_BIN_EXE_kos")).arg("dashboard").args(option).output().unwrap();
        assert!(
            String::from_utf8(printed.stdout).unwrap() == file,
            "generate them: cargo run -p kos -- dashboard > examples/kos-sdn/deploy/dashboard.json; cargo run -p kos -- dashboard --table > examples/kos-sdn/deploy/metrics.md"
        );
    }
}

/// Each latency is observed exactly once per attachment, on two nodes with two networks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_latency_is_observed_once() {
    let up = LocalCluster::start(LocalClusterSettings { nodes: 2, ..LocalClusterSettings::default() })
        .await
        .unwrap();
    let checker = up.checker().unwrap();
    up.make_samples().await.unwrap();
    let all = up.all_ready(Duration::from_secs(60), |_, _| {}).await.unwrap();
    // Once frames arrive, each node has its peers.
    let asks = kos::probe::Prober::new(up.plane(), Duration::from_secs(60)).unwrap();
    ping_pairs(&asks, &all, &pairs(&all), Duration::from_secs(60)).await;
    let page = up.plane().metrics();
    let sum = |name: &str| -> f64 {
        let lines = page
            .lines()
            .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    };
    let attachments = all.len() as f64;
    for (name, expected) in [
        ("kos_subnet_validator_subnet_create_to_validated_latency_seconds_count", 2.0),
        ("kos_ipam_last_client_write_to_lock_latency_seconds_count", attachments),
        ("kos_ipam_last_client_write_to_address_latency_seconds_count", attachments),
        ("kos_ipam_address_contention_count", attachments),
        ("kos_ipam_address_contention_sum", 0.0),
        ("kos_agent_last_client_write_to_local_ifc_latency_seconds_count", attachments),
        ("kos_agent_last_client_write_to_status_update_latency_seconds_count", attachments),
        ("kos_agent_last_client_write_to_remote_ifc_latency_seconds_count", attachments),
        ("kos_agent_local_attachments", attachments),
        ("kos_agent_remote_attachments", attachments),
        ("kos_agent_fabric_count", 2.0),
    ] {
        assert_eq!(sum(name), expected, "{name}\n{page}");
    }
    assert_eq!(undeclared_series(&page, &descriptions()), Vec::<String>::new());
    crate::harness::assert_converges(&checker).await;
    up.plane().stop().await;
}

/// The IPAM controller and the agents write one status at the same time, for each of many
/// attachments: an agent reports at once that a program is not allowed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_one_status_meet_in_no_conflict() {
    const COUNT: usize = 60;
    let up = LocalCluster::start(LocalClusterSettings { nodes: 2, ..LocalClusterSettings::default() })
        .await
        .unwrap();
    let (subnets, attachments) =
        (up.plane().objects::<Subnet>().unwrap(), up.plane().objects::<NetworkAttachment>().unwrap());
    subnets.create(&Subnet::new("default", "s", 99, "10.9.0.0/24")).await.unwrap();
    for number in 0..COUNT {
        let node = format!("node-{}", number % 2 + 1);
        let mut attachment = NetworkAttachment::new("default", &format!("a{number}"), &node, "s");
        attachment.spec.post_create_exec = vec!["/not/allowed".into()];
        attachments.create(&attachment).await.unwrap();
    }
    let is_complete = |it: &NetworkAttachment| {
        let conditions = &it.status.conditions;
        conditions.is_true("AddressAssigned")
            && conditions.find("Ready").is_some_and(|ready| ready.reason == "InterfaceFailed")
            && !it.status.ifc_name.is_empty()
    };
    let all = |objects: &Objects<NetworkAttachment>| {
        (objects.read().iter().filter(|(_, it)| is_complete(it)).count() == COUNT).then_some(())
    };
    attachments.until(crate::harness::DEADLINE, all).await.unwrap();
    let page = up.plane().metrics();
    for name in ["kos_agent_attachment_status_latency", "kos_ipam_attachment_update_latency"] {
        let lines: Vec<_> =
            page.lines().filter(|line| line.starts_with(name) && line.contains("_count")).collect();
        assert!(lines.iter().any(|line| line.contains("err=\"ok\"")), "{page}");
        assert!(!lines.iter().any(|line| line.contains("err=\"err\"")), "{lines:#?}");
    }
    up.plane().stop().await;
}

use machinery::metrics::undeclared_series;

use super::*;

/// The original's dashboards queried names that no longer existed.
#[test]
fn metric_names_match_the_original() {
    let described = descriptions();
    let names: Vec<&str> = described.iter().map(|one| one.name).collect();
    for name in [
        "subnet_validator_subnet_create_to_validated_latency_seconds",
        "ipam_last_client_write_to_lock_latency_seconds",
        "ipam_last_client_write_to_address_latency_seconds",
        "ipam_ip_lock_latency_seconds",
        "agent_last_client_write_to_local_ifc_latency_seconds",
        "agent_last_client_write_to_remote_ifc_latency_seconds",
        "agent_attachment_impl_to_remote_ifc_latency_seconds",
        "agent_last_client_write_to_status_update_latency_seconds",
        "agent_fabric_latency_seconds",
        "agent_attachment_exec_duration_secs",
        "driver_attachment_create_to_addressed_easy_latency_seconds",
        "driver_attachment_ready_to_half_tested_latency_seconds",
        "driver_test_count",
        "version",
    ] {
        assert_eq!(
            names.iter().filter(|other| other.strip_prefix("kos_") == Some(name)).count(),
            1,
            "{name}"
        );
    }
}

#[test]
fn observations_are_on_the_page_with_labels() {
    let metrics = Metrics::default();
    let mut set = MetricSet::default();
    set.add(&metrics);
    let node = metrics.agent.of("node-1", "sim");
    let report = crate::model::ExecReport {
        command: Vec::new(),
        exit_status: -4,
        start_time: time(1),
        stop_time: time(4),
        std_out: "Invalid Invalid".into(),
        std_err: String::new(),
    };
    node.ran("postCreate", &report);
    let page = set.page();
    assert_eq!(undeclared_series(&page, set.descriptions()), Vec::<String>::new());
    let labels = r#"{node="node-1",what="postCreate",exitStatus="-4",lgComplaints="1"}"#;
    assert!(page.contains(&format!("kos_agent_attachment_exec_duration_secs_sum{labels} 3.0\n")), "{page}");
    assert!(page.contains(&format!("kos_agent_attachment_exec_status_count_total{labels} 1\n")), "{page}");
    assert!(page.contains("kos_agent_fabric_count{node=\"node-1\",fabric=\"sim\"} 1\n"), "{page}");
}

/// Every latency once counted as 62.5 ms, half of the first bound.
#[test]
fn percentiles_of_a_few_milliseconds_are_a_few_milliseconds() {
    let metrics = Metrics::default();
    let mut set = MetricSet::default();
    set.add(&metrics);
    let run = metrics.load.of("run", "commit");
    (0..100).for_each(|_| run.ready(0.004, true));
    let rows = crate::load::parse_latencies(&set.page());
    let ready = rows.iter().find(|row| row.step == "driver_attachment_create_to_ready").unwrap();
    assert_eq!(ready.count, 100);
    assert!(ready.seconds.iter().all(|seconds| (0.002..=0.005).contains(seconds)), "{ready:?}");
}

fn time(second: i64) -> machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time {
    machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        jiff::Timestamp::from_second(second).unwrap(),
    )
}

use machinery::prometheus_client::encoding::text;

use super::*;

/// The original's dashboards queried names that no longer existed.
#[test]
fn metric_names_match_the_original() {
    let metrics = Metrics::default();
    let mut names: Vec<_> = metrics.described().iter().map(|described| described.name).collect();
    let sorted = {
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        sorted
    };
    names.sort_unstable();
    assert_eq!(names, sorted, "each once");
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
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn observations_are_on_the_page_with_labels() {
    let metrics = Metrics::default();
    let mut registry = Registry::default();
    metrics.register(&mut registry);
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
    let mut page = String::new();
    text::encode(&mut page, &registry).unwrap();
    let labels = r#"{node="node-1",what="postCreate",exitStatus="-4",lgComplaints="1"}"#;
    assert!(page.contains(&format!("kos_agent_attachment_exec_duration_secs_sum{labels} 3.0\n")), "{page}");
    assert!(page.contains(&format!("kos_agent_attachment_exec_status_count_total{labels} 1\n")), "{page}");
    assert!(page.contains("kos_agent_fabric_count{node=\"node-1\",fabric=\"sim\"} 1\n"), "{page}");
}

fn time(second: i64) -> machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time {
    machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        jiff::Timestamp::from_second(second).unwrap(),
    )
}

//! The load generator and its reports.

use std::process::Command;
use std::time::Duration;

use kos::load::{
    AttachmentRecord, LoadOutcome, LoadSettings, LoadShape, NodeSelection, RunDirectory, read_records,
    run_load,
};
use kos::metrics::Metrics;
use kos::up::{LocalCluster, LocalClusterSettings};
use machinery::metrics::MetricSet;
use tokio_util::sync::CancellationToken;

use crate::harness::assert_converges;

/// Runs a load on two nodes, under the invariant checker.
async fn driven(
    directory: &std::path::Path,
    change: impl FnOnce(&mut LoadSettings),
) -> (LoadOutcome, String) {
    driven_until(directory, CancellationToken::new(), change).await
}

async fn driven_until(
    directory: &std::path::Path,
    stopping: CancellationToken,
    change: impl FnOnce(&mut LoadSettings),
) -> (LoadOutcome, String) {
    let up = LocalCluster::start(LocalClusterSettings { nodes: 2, ..LocalClusterSettings::default() })
        .await
        .unwrap();
    let checker = up.checker().unwrap();
    let nodes = NodeSelection { names: vec!["node-1".into(), "node-2".into()], in_turn: true };
    let mut settings = LoadSettings::new("run", nodes);
    settings.load =
        LoadShape { nets: 3, top: 6.0, bias: 0.0, exponent: 1.0, factor: 1.0, single_subnet: false };
    (settings.attachments, settings.threads, settings.rate) = (24, 3, 0.0);
    settings.test_fraction = 0.5;
    change(&mut settings);
    let directory = RunDirectory::new(directory).unwrap();
    let driven = run_load(up.plane(), &settings, &directory, stopping).await.unwrap();
    assert_converges(&checker).await;
    let page = up.plane().metrics();
    up.plane().stop().await;
    (driven, page)
}

fn ran(arguments: &[&str]) -> (Option<i32>, String) {
    let ended = Command::new(env!("CARGO_BIN_EXE_kos")).args(arguments).output().unwrap();
    let text = [ended.stdout, ended.stderr].concat();
    (ended.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_is_created_tested_and_reported() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("run");
    // Nothing is deleted, and all attachments have time to become ready.
    let metrics = Metrics::default();
    let (driven, page) = driven(&directory, |settings| {
        settings.metrics = metrics.load.clone();
        (settings.attachments, settings.test_fraction) = (11, 1.0);
        settings.wait_after_create = Duration::from_secs(10);
    })
    .await;
    let LoadOutcome { created, not_created, deleted, broken, shared, left, tests, .. } = &driven;
    assert_eq!((*created, *deleted), (11, 0));
    assert_eq!([*not_created, *broken, *shared, *left], [0; 4], "{driven:?}");
    assert_eq!(*tests, [6, 5, 0], "the first of each subnet is tested without frames");

    let (head, records) = read_records(&directory).unwrap();
    assert_eq!((head["slots"].as_u64(), records.len()), (Some(11), 11));
    let all = |record: &AttachmentRecord| {
        ["lock", "address", "implemented"].iter().all(|step| record.server.contains_key(*step))
            && ["create", "addressed", "ready"].iter().all(|step| record.client.contains_key(*step))
    };
    assert!(records.iter().all(all), "{records:#?}");

    let mut own = MetricSet::default();
    own.add(&metrics);
    let own = own.page();
    for (name, count) in [
        ("attachment_create_latency_seconds_count{runID=\"run\",err=\"ok\"}", 11),
        ("attachment_create_to_addressed_easy_latency_seconds_count{runID=\"run\"}", 11),
        ("attachment_create_to_ready_latency_seconds_count{runID=\"run\"}", 11),
        ("attachment_ready_to_half_tested_latency_seconds_count{runID=\"run\"}", 6),
        ("attachment_create_to_tested_latency_seconds_count{runID=\"run\"}", 5),
        ("test_count_total{runID=\"run\",ok=\"true\",full=\"true\"}", 5),
        ("version{runID=\"run\",git_commit=\"unknown\"}", 1),
    ] {
        assert!(own.contains(&format!("kos_driver_{name} {count}\n")), "{name}: {own}");
    }

    let metrics = home.path().join("page");
    std::fs::write(&metrics, page).unwrap();
    let [run, metrics] = [&directory, &metrics].map(|path| path.to_str().unwrap());
    let (code, output) = ran(&["report", run, "--metrics", metrics]);
    assert_eq!(code, Some(0), "{output}");
    for part in [
        "lock",
        "address",
        "implemented",
        "seen, easy",
        "na",
        "P99 ms",
        "agent_last_client_write_to_local_ifc",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let html = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(html.matches("<svg ").count() >= 6 && html.contains("last client write to address"), "{html}");
    assert!(directory.join("address.svg").exists());
    let sizes = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    assert_eq!(sizes("size-distribution.csv"), "I,size\n1,6\n2,3\n3,2\n");
    assert_eq!(sizes("size-distribution-outline.csv"), "I,size\n1,6\n2,3\n3,2\n");
    let (code, output) = ran(&["report", home.path().to_str().unwrap()]);
    assert!(code == Some(1) && output.contains("attachments.jsonl"), "{output}");
}

/// In subnets that are too small: waiting attachments are counted separately, and none is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contended_load_is_reported_separately() {
    let home = tempfile::tempdir().unwrap();
    let (driven, _) = driven(&home.path().join("run"), |settings| {
        (settings.load.factor, settings.load.single_subnet, settings.load.nets) = (0.01, true, 2);
        (settings.load.top, settings.attachments, settings.test_fraction) = (12.0, 60, 0.0);
        (settings.rate, settings.wait_after_delete) = (30.0, Duration::from_secs(60));
    })
    .await;
    assert_eq!((driven.created, driven.deleted, driven.left), (60, 60, 0), "{driven:?}");
    let all = |record: &AttachmentRecord| {
        ["create", "delete", "gone"].iter().all(|step| record.client.contains_key(*step))
    };
    assert!(driven.records.iter().all(all), "{driven:#?}");
    assert_eq!((driven.broken, driven.shared, driven.tests), (0, 0, [0; 3]), "{driven:?}");
    assert!(driven.records.iter().any(|record| !record.easy));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_load_stops_creating() {
    for deletes in [true, false] {
        let (home, stopping) = (tempfile::tempdir().unwrap(), CancellationToken::new());
        let stops = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            stopping.cancel();
        };
        let driving = driven_until(home.path(), stopping.clone(), |settings| {
            (settings.rate, settings.test_fraction) = (if deletes { 2.0 } else { 0.0 }, 0.0);
            settings.attachments = if deletes { 24 } else { 11 };
            settings.wait_after_create = Duration::from_secs(if deletes { 0 } else { 3600 });
            settings.wait_after_delete = Duration::from_secs(60);
        });
        let (_, ended) = tokio::join!(stops, tokio::time::timeout(Duration::from_secs(60), driving));
        let (driven, _) = ended.expect("the run ends soon after cancellation");
        match deletes {
            true => assert!((1..10).contains(&driven.created), "{driven:?}"),
            false => assert_eq!(driven.created, 11, "{driven:?}"),
        }
        assert_eq!(
            (driven.deleted, driven.left),
            (if deletes { driven.created } else { 0 }, 0),
            "{driven:?}"
        );
    }
}

/// The outline has the ends of runs of equal size.
#[test]
fn load_plan_is_written_without_a_cluster() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run");
    let directory = RunDirectory::new(&path).unwrap();
    let nodes = NodeSelection { names: vec!["node-1".into()], in_turn: true };
    let mut settings = LoadSettings::new("run", nodes);
    settings.load =
        LoadShape { nets: 7, top: 2.0, bias: 0.0, exponent: 1.0, factor: 1.0, single_subnet: false };
    (settings.attachments, settings.threads, settings.rate) = (9, 2, 4.0);
    directory.sizes(&settings.load).unwrap();
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read("size-distribution-outline.csv"), "I,size\n1,2\n2,1\n7,1\n");

    let (due, operations) = settings.schedule();
    directory.times(&due, &operations).unwrap();
    let times = read("attachments-ops-times.csv");
    let rows: Vec<Vec<&str>> = times.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["operation", "thread", "seconds", "what", "slot"]);
    let count = |what: &str| rows.iter().filter(|row| row[3] == what).count();
    assert_eq!((count("create"), count("delete")), (9, 9));
    for row in &rows[1..] {
        let [number, thread] = [row[0], row[1]].map(|text| text.parse::<usize>().unwrap());
        assert_eq!(number % 2, thread, "{row:?}");
        assert_eq!(row[2].parse::<f64>().unwrap(), (number + 1) as f64 / 4.0, "{row:?}");
    }
}

#[test]
fn load_estimate_needs_no_cluster() {
    let (code, output) = ran(&["drive", "--estimate"]);
    assert!(code == Some(0) && output.contains("296 attachments at a time; each has 52.73"), "{output}");
}

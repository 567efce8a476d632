//! Histories of concurrent clients are valid, and the checker detects every flaw.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use machinery_store::faulty::{self, FaultOdds};
use machinery_store::history::{History, TrafficPlan, TrafficStats, Violation, check, traffic};
use machinery_store::model::{Flaw, FlawedBackend, NaiveBackend};
use machinery_store::{Backend, Disk, DiskOptions, Memory, Options};

const HANG: Duration = Duration::from_secs(300);

async fn record(backend: Arc<dyn Backend>, plan: TrafficPlan) -> History {
    let run = tokio::time::timeout(HANG, traffic(backend, plan)).await;
    run.unwrap_or_else(|_| panic!("seed {}: it hangs", plan.seed)).unwrap_or_else(|little| panic!("{little}"))
}

async fn is_right(backend: Arc<dyn Backend>, plan: TrafficPlan) {
    let history = record(backend, plan).await;
    match check(&history) {
        Ok(replay) => {
            eprintln!("seed {}: {:?}, up to {}", plan.seed, TrafficStats::of(&history), replay.last())
        }
        Err(wrong) => {
            let told: Vec<String> = wrong.iter().take(5).map(ToString::to_string).collect();
            panic!("seed {}: {} violations: {told:#?}", plan.seed, wrong.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_history_is_valid() {
    for seed in 1..=5 {
        is_right(Arc::new(NaiveBackend::default()), TrafficPlan { seed, ..TrafficPlan::default() }).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_history_is_valid() {
    for seed in 1..=10 {
        is_right(Arc::new(Memory::new(Options::default())), TrafficPlan { seed, ..TrafficPlan::default() })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disk_history_is_valid() {
    for seed in 1..=4 {
        let directory = tempfile::tempdir().expect("a directory of our own");
        let options =
            DiskOptions { segment_bytes: 4096, checkpoint_bytes: 16 * 1024, ..DiskOptions::default() };
        let disk = Disk::open(directory.path(), options).expect("a new store is opened");
        is_right(
            Arc::new(disk.clone()),
            TrafficPlan { seed, given_up_per_mille: 20, ..TrafficPlan::default() },
        )
        .await;
        disk.close().await.expect("the store is closed");
    }
}

/// Lost answers and ended watches are no violation: commits without an answer may be applied or
/// not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_over_a_faulty_connection_are_valid() {
    let odds = FaultOdds { unavailable: 20, lost: 30, ending: 10, ..FaultOdds::default() };
    for seed in 1..=5 {
        let line = faulty::FaultyBackend::new(Memory::new(Options::default()), odds, seed);
        is_right(Arc::new(line), TrafficPlan { seed, ..TrafficPlan::default() }).await;
    }
}

/// The rate of each flaw, and the validator that detects it.
const FOUND_BY: [(Flaw, u64, &str); 28] = [
    (Flaw::DropsEvent, 11, "reliable"),
    (Flaw::DropsPartOfRevision, 11, "reliable"),
    (Flaw::SwapsRevisions, 11, "ordered"),
    (Flaw::RepeatsEvent, 11, "unique"),
    (Flaw::SplitsRevision, 11, "atomic"),
    (Flaw::LeaksOtherKeys, 11, "filter"),
    (Flaw::WrongBefore, 11, "before"),
    (Flaw::WrongCreate, 11, "is-create"),
    (Flaw::WrongValue, 11, "reliable"),
    (Flaw::MarksTooEarly, 5, "bookmarkable"),
    (Flaw::MarksGoBack, 5, "bookmarkable"),
    (Flaw::ResumesTooLate, 5, "resumable"),
    (Flaw::LosesDeleteAtCompaction, 1, "resumable"),
    (Flaw::HidesGap, 1, "reliable"),
    (Flaw::ReadsStale, 11, "linearizable"),
    (Flaw::ReadsFuture, 1, "linearizable"),
    (Flaw::ReadsCompacted, 1, "read"),
    (Flaw::ReadsNowForThen, 11, "read"),
    (Flaw::TearsPages, 11, "read"),
    (Flaw::DropsLastEntry, 11, "linearizable"),
    (Flaw::LosesWrite, 11, "revision-reused"),
    (Flaw::ReusesRevision, 11, "revision-reused"),
    (Flaw::TellsOldRevision, 11, "linearizable"),
    (Flaw::HalvesTransaction, 11, "linearizable"),
    (Flaw::AppliesRefused, 11, "linearizable"),
    (Flaw::IgnoresAba, 11, "linearizable"),
    (Flaw::CompactsLiving, 1, "linearizable"),
    (Flaw::CountsNoOps, 1, "linearizable"),
];

/// The plan is that of the valid runs. Some flaws need rare events: hence several seeds.
#[tokio::test]
async fn each_flaw_is_found_by_the_validator_about_it() {
    for (flaw, every, name) in FOUND_BY {
        let mut found = BTreeSet::new();
        for seed in 1..=40 {
            let backend = FlawedBackend::new(Arc::new(NaiveBackend::default()), flaw, every);
            let plan = TrafficPlan { seed, ..TrafficPlan::default() };
            // A flaw may reduce the traffic below the minimum, which fails the run as well.
            let Ok(history) =
                tokio::time::timeout(HANG, traffic(Arc::new(backend), plan)).await.expect("it ends")
            else {
                found.insert("too little");
                continue;
            };
            found.extend(check(&history).err().iter().flatten().map(Violation::name));
            if found.contains(name) {
                eprintln!("{flaw:?}: seed {seed}, {found:?}");
                break;
            }
        }
        assert!(found.contains(name), "{flaw:?} is not found as {name}, but as {found:?}");
    }
}

//! Records of many clients at one store, judged; and the judge, held against stores that are wrong.

use std::sync::Arc;
use std::time::Duration;

use machinery_store::history::{History, Load, Plan, Violation, check, traffic};
use machinery_store::model::{Flaw, Flawed, Naive};
use machinery_store::{Backend, Disk, DiskOptions, Memory, Options};

const HANG: Duration = Duration::from_secs(300);

async fn record(backend: Arc<dyn Backend>, plan: Plan) -> History {
    let run = tokio::time::timeout(HANG, traffic(backend, plan)).await;
    run.unwrap_or_else(|_| panic!("seed {}: it hangs", plan.seed)).unwrap_or_else(|little| panic!("{little}"))
}

async fn is_right(backend: Arc<dyn Backend>, plan: Plan) {
    let history = record(backend, plan).await;
    match check(&history) {
        Ok(replay) => eprintln!("seed {}: {:?}, up to {}", plan.seed, Load::of(&history), replay.last()),
        Err(wrong) => {
            let told: Vec<String> = wrong.iter().take(5).map(ToString::to_string).collect();
            panic!("seed {}: {} violations: {told:#?}", plan.seed, wrong.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_is_right() {
    for seed in 1..=5 {
        is_right(Arc::new(Naive::default()), Plan { seed, ..Plan::default() }).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_right() {
    for seed in 1..=10 {
        is_right(Arc::new(Memory::new(Options::default())), Plan { seed, ..Plan::default() }).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disk_is_right() {
    for seed in 1..=4 {
        let directory = tempfile::tempdir().expect("a directory of our own");
        let options =
            DiskOptions { segment_bytes: 4096, checkpoint_bytes: 16 * 1024, ..DiskOptions::default() };
        let disk = Disk::open(directory.path(), options).expect("a new store is opened");
        is_right(Arc::new(disk.clone()), Plan { seed, given_up_per_mille: 20, ..Plan::default() }).await;
        disk.close().await.expect("the store is closed");
    }
}

/// What each flaw is found by, among what else it may break.
const FOUND_BY: [(Flaw, &str); 26] = [
    (Flaw::DropsEvent, "reliable"),
    (Flaw::DropsPartOfRevision, "reliable"),
    (Flaw::SwapsRevisions, "ordered"),
    (Flaw::RepeatsEvent, "unique"),
    (Flaw::SplitsRevision, "atomic"),
    (Flaw::LeaksOtherKeys, "filter"),
    (Flaw::WrongBefore, "before"),
    (Flaw::WrongCreate, "is-create"),
    (Flaw::WrongValue, "reliable"),
    (Flaw::MarksTooEarly, "bookmarkable"),
    (Flaw::MarksGoBack, "bookmarkable"),
    (Flaw::ResumesTooLate, "resumable"),
    (Flaw::HidesGap, "reliable"),
    (Flaw::ReadsStale, "linearizable"),
    (Flaw::ReadsFuture, "read"),
    (Flaw::ReadsCompacted, "read"),
    (Flaw::ReadsNowForThen, "read"),
    (Flaw::TearsPages, "read"),
    (Flaw::DropsLastEntry, "linearizable"),
    (Flaw::LosesWrite, "revision-reused"),
    (Flaw::ReusesRevision, "revision-reused"),
    (Flaw::TellsOldRevision, "linearizable"),
    (Flaw::HalvesTransaction, "linearizable"),
    (Flaw::AppliesRefused, "linearizable"),
    (Flaw::IgnoresAba, "linearizable"),
    (Flaw::CompactsLiving, "linearizable"),
];

#[tokio::test]
async fn every_flaw_is_found() {
    let mut out = String::new();
    for (flaw, _) in FOUND_BY.into_iter().chain([
        (Flaw::CountsChanges, ""),
        (Flaw::CountsNoOps, ""),
        (Flaw::LosesDeleteAtCompaction, ""),
        (Flaw::EndsQuietWatch, ""),
    ]) {
        let plan = Plan { seed: 7, ..Plan::default() };
        let backend = Flawed::new(Arc::new(Naive::default()), flaw, 11);
        let begun = std::time::Duration::ZERO;
        let _ = begun;
        let history =
            tokio::time::timeout(std::time::Duration::from_secs(20), traffic(Arc::new(backend), plan)).await;
        let history = match history {
            Ok(Ok(h)) => h,
            other => {
                out += &format!("{flaw:?}: {:?}\n", other.map(|r| r.map(|_| ())));
                continue;
            }
        };
        let mut names = std::collections::BTreeMap::new();
        if let Err(wrong) = check(&history) {
            for w in &wrong {
                *names.entry(w.name()).or_insert(0) += 1;
            }
        }
        out += &format!("{flaw:?}: {names:?}\n");
    }
    std::fs::write("/tmp/t-conf/history.txt", out).unwrap();
}

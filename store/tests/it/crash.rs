//! A crash at every step of a scripted workload, with every way to lose unsynced data.

use std::io::ErrorKind;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::join_all;
use machinery_objects::Revision;
use machinery_store::faulty::{self, CrashDamage, Dice, DiskCall, DiskFault, FaultEffect, PowerLoss};
use machinery_store::{
    Backend, CommitError, CompactError, Disk, DiskOptions, KeySpan, OpenError, Options, Retention,
    Transaction, Watch,
};

use crate::crash_witness::{At, Witness};

/// A step of the script.
#[derive(Clone, Copy, Debug)]
enum ScriptStep {
    /// Puts this many bytes under a key.
    Put(&'static str, usize),
    Delete(&'static str),
    /// Puts two keys and deletes a third, if a fourth is unchanged.
    Guarded,
    /// Puts several keys concurrently.
    Together(usize),
    /// Commits with a condition that fails.
    Conflict,
    /// Creates a key twice concurrently.
    Race(&'static str),
    /// Compacts all but this many revisions.
    Compact(u64),
    Checkpoint,
    Reopen,
}

const SCRIPT: &[ScriptStep] = {
    use ScriptStep::{Checkpoint, Compact, Conflict, Delete, Guarded, Put, Race, Reopen, Together};
    &[
        Put("a", 10),
        Put("b", 700),
        Delete("a"),
        Guarded,
        Conflict,
        Put("a", 1500),
        Race("r"),
        Together(3),
        Put("b", 20),
        Guarded,
        Put("c", 900),
        Compact(4),
        Put("a", 30),
        Delete("c"),
        Together(4),
        Guarded,
        Checkpoint,
        Put("c", 1200),
        Put("d", 5000),
        Delete("b"),
        Reopen,
        Put("a", 40),
        Guarded,
        Compact(6),
        Put("b", 1100),
        Together(2),
        Put("a", 1300),
        Delete("nothing"),
        Checkpoint,
        Race("s"),
        Guarded,
        Put("d", 50),
        Put("e", 1000),
        Compact(2),
        Put("c", 800),
        Reopen,
        Delete("d"),
        Put("a", 60),
        Guarded,
        Compact(0),
        Together(3),
        Put("e", 1),
        Checkpoint,
        Put("b", 2),
        Delete("e"),
        Reopen,
        Put("f", 3),
    ]
};

/// Tiny segments, and a deterministic order of disk calls.
pub(crate) fn options() -> DiskOptions {
    let store = Options { retention: Retention::MANUAL, ..Options::default() };
    let background = false;
    DiskOptions { store, segment_bytes: 4096, checkpoint_bytes: 12 * 1024, background }
}

pub(crate) fn open(disk: &faulty::FaultyDisk) -> Result<Disk, OpenError> {
    Disk::open_on(Arc::new(disk.clone()), options())
}

/// Opens the store on `disk`, checks it, and runs the script until the disk stops.
async fn run(disk: &faulty::FaultyDisk, witness: &mut Witness) {
    let Ok(mut store) = open(disk) else { return };
    witness.check(&store).await;
    let mut watch = DrainedWatch::begin(&store, witness.newest()).await;
    let mut writes = true;
    for what in SCRIPT {
        let goes_on = match *what {
            ScriptStep::Reopen => {
                let _ = store.close().await;
                let Ok(again) = open(disk) else { return };
                store = again;
                watch = DrainedWatch::begin(&store, witness.newest()).await;
                true
            }
            ScriptStep::Checkpoint => {
                let _ = store.checkpoint().await;
                true
            }
            ScriptStep::Compact(back) => {
                let to = Revision(witness.newest().0.saturating_sub(back));
                witness.compacted(to, &store.compact(to).await)
            }
            what => {
                let transactions = transactions(what, witness, &store).await;
                let answers = join_all(transactions.iter().map(|one| store.commit(one.clone()))).await;
                let answered = transactions.into_iter().zip(answers);
                answered.fold(true, |on, (one, answer)| witness.answered(one, answer) && on)
            }
        };
        watch.drain(witness);
        if std::mem::replace(&mut writes, goes_on) && !goes_on {
            // Space may be available again, and writes then continue.
            if store.trouble().is_some_and(|why| why.contains("there is no room")) {
                witness.strict().check(&store).await;
                writes = true;
            } else {
                still_reads(&store, witness).await;
            }
        }
    }
    let _ = store.close().await;
}

/// A store that refuses writes still serves all published commits, and no others.
pub(crate) async fn still_reads(store: &Disk, witness: &Witness) {
    witness.strict().check(store).await;
    let refused = store.commit(Transaction::new().put("a", *b"refused")).await.unwrap_err();
    assert!(matches!(refused, CommitError::Refused { .. }), "{refused}");
    let refused = store.compact(witness.newest()).await.unwrap_err();
    assert!(matches!(refused, CompactError::Refused { .. }), "{refused}");
}

async fn transactions(what: ScriptStep, witness: &mut Witness, store: &Disk) -> Vec<Transaction> {
    let mut value = |bytes: usize| {
        let mut value = format!("{} ", witness.count()).into_bytes();
        value.resize(value.len().max(bytes), b'.');
        value
    };
    let new = Transaction::new();
    match what {
        ScriptStep::Put(key, bytes) => vec![new.put(key, value(bytes))],
        ScriptStep::Delete(key) => vec![new.delete(key)],
        ScriptStep::Guarded => {
            let (now, both) = (store.revision().await.unwrap(), value(60));
            vec![new.if_unchanged("b", now).put("one", both.clone()).delete("a").put("other", both)]
        }
        ScriptStep::Together(many) => {
            (0..many).map(|part| Transaction::new().put(format!("t{part}"), value(300))).collect()
        }
        ScriptStep::Race(key) => {
            (0..2).map(|_| Transaction::new().if_absent(key).put(key, value(20))).collect()
        }
        ScriptStep::Conflict => vec![new.if_at("b", Revision(1)).put("b", *b"never")],
        ScriptStep::Compact(_) | ScriptStep::Checkpoint | ScriptStep::Reopen => {
            unreachable!("not transactions")
        }
    }
}

/// A watch of all keys, drained after each step.
struct DrainedWatch(Option<Watch>);

impl DrainedWatch {
    async fn begin(store: &Disk, after: Revision) -> Self {
        Self(Some(store.watch(KeySpan::all(), after).await.unwrap()))
    }

    fn drain(&mut self, witness: &mut Witness) {
        while let Some(watch) = &mut self.0 {
            match watch.next().now_or_never() {
                Some(Ok(seen)) => witness.observe(&seen),
                Some(Err(_)) => self.0 = None,
                None => return,
            }
        }
    }
}

/// Opens the store after a crash, and checks it. Cuts the power again, since data that was read
/// must not be lost; then writes, and cuts the power once more.
async fn check(disk: &faulty::FaultyDisk, witness: &Witness) {
    let opened = |when: &str, disk| open(disk).unwrap_or_else(|error| panic!("{when}: {error}"));
    let mut witness = witness.clone();
    let store = opened("at first", disk);
    witness.check(&store).await;
    let cut = disk.crash(PowerLoss::Everything, 0);
    witness.clone().check(&opened("after a second cut", &cut)).await;
    witness.write_next(&store).await;
    let cut = disk.crash(PowerLoss::Everything, 0);
    witness.clone().check(&opened("after a third cut", &cut)).await;
    store.close().await.unwrap();
    witness.check(&opened("at last", disk)).await;
}

fn trace(disk: &faulty::FaultyDisk) -> String {
    disk.trace()
        .iter()
        .enumerate()
        .map(|(step, (call, name))| format!("{step:4} {call:?} {name}\n"))
        .collect()
}

/// Runs the script with the disk stopped before each of its steps, and then to its end.
async fn every_step(mut after: impl AsyncFnMut(&faulty::FaultyDisk, &Witness, usize)) {
    for step in 0.. {
        let disk = faulty::FaultyDisk::new();
        disk.crash_at(step);
        let mut witness = Witness::new();
        {
            let _at = At(|| format!("stopped at step {step}\n{}", trace(&disk)));
            run(&disk, &mut witness).await;
        }
        after(&disk, &witness, step).await;
        if disk.steps() < step {
            assert!(step > 150, "the script does something");
            return;
        }
    }
}

#[tokio::test]
async fn a_power_cut_at_any_step_loses_nothing_acknowledged_or_visible() {
    let (mut cuts, mut total) = (0, CrashDamage::default());
    every_step(async |disk, witness, step| {
        let all = [PowerLoss::Everything, PowerLoss::Nothing].map(|lost| (lost, 0));
        let each =
            (0..disk.pending()).flat_map(|one| [(PowerLoss::AllBut(one), 0), (PowerLoss::Only(one), 0)]);
        let some = (0..3)
            .flat_map(|seed| [PowerLoss::After, PowerLoss::Some, PowerLoss::Torn].map(|lost| (lost, seed)));
        for (lost, seed) in all.into_iter().chain(each).chain(some) {
            let _at =
                At(|| format!("power cut before step {step}, {lost:?} lost, seed {seed}\n{}", trace(disk)));
            let cut = disk.crash(lost, seed);
            let damage = cut.damage();
            check(&cut, witness).await;
            cuts += 1;
            total.arrived += damage.arrived;
            total.lost += damage.lost;
            total.torn += damage.torn;
            total.hollow += damage.hollow;
        }
    })
    .await;
    println!("{cuts} power cuts: {total:?}");
    assert!(
        [total.arrived, total.lost, total.torn, total.hollow].iter().all(|often| *often > 20),
        "{total:?}"
    );
}

#[tokio::test]
async fn a_power_cut_at_any_step_of_a_recovery_loses_nothing() {
    let mut cuts = 0;
    every_step(async |disk, witness, step| {
        let mut dice = Dice::new(step as u64);
        let lost = [PowerLoss::Everything, PowerLoss::Nothing, PowerLoss::After, PowerLoss::Torn]
            [dice.below(4) as usize];
        for at in 0.. {
            let recovering = disk.crash(lost, step as u64);
            recovering.crash_at(at);
            let again = [PowerLoss::Everything, PowerLoss::Nothing, PowerLoss::Torn][dice.below(3) as usize];
            let what = format!("{lost:?} lost, and in its recovery before step {at}, {again:?} lost");
            let _at = At(|| format!("power cut before step {step}, {what}\n{}", trace(&recovering)));
            let mut witness = witness.clone();
            if let Ok(store) = open(&recovering) {
                witness.check(&store).await;
            }
            check(&recovering.crash(again, at as u64), &witness).await;
            cuts += 1;
            if recovering.steps() < at {
                break;
            }
        }
    })
    .await;
    println!("{cuts} power cuts in recoveries");
    assert!(cuts > 500, "a recovery has steps of its own: {cuts}");
}

/// Data written before a kill is cached, perhaps with a part of a last write. The next process
/// builds on it until the power is cut.
#[tokio::test]
async fn a_kill_at_any_step_and_a_power_cut_later_lose_nothing() {
    let mut dice = Dice::new(7);
    for step in 0.. {
        let (disk, mut witness) = (faulty::FaultyDisk::new(), Witness::new());
        disk.crash_in(step, dice.below(1500) as usize);
        run(&disk, &mut witness).await;
        let _at = At(|| format!("killed in step {step}\n{}", trace(&disk)));
        check(&disk.kill(), &witness).await;
        for later in [dice.below(20), dice.below(200)] {
            let second = disk.kill();
            second.crash_at(later as usize);
            let mut witness = witness.clone();
            let _at = At(|| format!("stopped before step {later} of its second life\n{}", trace(&second)));
            run(&second, &mut witness).await;
            for lost in [PowerLoss::Everything, PowerLoss::Nothing, PowerLoss::Torn] {
                check(&second.crash(lost, later), &witness).await;
            }
        }
        if disk.steps() < step {
            assert!(step > 150, "the script does something");
            return;
        }
    }
}

/// The script takes as many steps as it has disk calls, so each call fails once.
#[tokio::test]
async fn a_failure_of_any_call_loses_nothing_and_the_store_recovers() {
    let calls = [
        DiskCall::Write,
        DiskCall::Sync,
        DiskCall::Create,
        DiskCall::Rename,
        DiskCall::Remove,
        DiskCall::SyncNames,
        DiskCall::Open,
    ];
    let mut unknown = 0;
    for call in calls {
        let effects = match call {
            DiskCall::Write => {
                vec![FaultEffect::Fail(ErrorKind::Other), FaultEffect::Short(700, ErrorKind::StorageFull)]
            }
            DiskCall::Sync => {
                vec![FaultEffect::Fail(ErrorKind::Other), FaultEffect::Forget(ErrorKind::Other)]
            }
            _ => vec![FaultEffect::Fail(ErrorKind::Other)],
        };
        for effect in effects {
            for after in 0.. {
                let (disk, mut witness) = (faulty::FaultyDisk::new(), Witness::new());
                disk.inject(DiskFault::new(call, effect.clone()).after(after));
                let _at = At(|| format!("{call:?} number {after}: {effect:?}\n{}", trace(&disk)));
                run(&disk, &mut witness).await;
                if disk.fired().is_empty() {
                    assert!(after > 0 || call == DiskCall::Open, "{call:?} is called");
                    break;
                }
                unknown += witness.unknown();
                check(&disk.kill(), &witness).await;
                check(&disk.crash(PowerLoss::Everything, after), &witness).await;
                check(&disk.crash(PowerLoss::Torn, after), &witness).await;
            }
        }
    }
    println!("{unknown} transactions without an answer");
    assert!(unknown > 20);
}

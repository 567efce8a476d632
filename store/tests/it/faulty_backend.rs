//! The faulty backend fails as the contract allows, and in no other way.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::poll;
use machinery_objects::Revision;
use machinery_store::conformance::Subject;
use machinery_store::faulty::{self, Dice, FaultOdds};
use machinery_store::{
    Backend, CommitError, CompactError, KeySpan, Limits, Memory, Options, Range, ReadError, Retention,
    Transaction, WatchError, WatchItem,
};

use crate::crash_witness::{At, Witness};

fn memory(limits: Limits) -> Memory {
    Memory::new(Options { limits, retention: Retention::MANUAL, ..Options::default() })
}

fn behind(odds: FaultOdds, seed: u64) -> faulty::FaultyBackend<Memory> {
    faulty::FaultyBackend::new(memory(Limits::default()), odds, seed)
}

struct Faultless;

#[async_trait]
impl Subject for Faultless {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        Arc::new(faulty::FaultyBackend::new(memory(limits), FaultOdds::default(), 0))
    }
}

mod faultless {
    machinery_store::conformance_tests!(super::Faultless);
}

/// A client that continues after any error, and a watcher that resumes where its watch ended.
#[tokio::test(start_paused = true)]
async fn the_store_agrees_with_all_answers_under_faults() {
    let mut total = [0; 4];
    for seed in 0..50 {
        let _at = At(|| format!("seed {seed}"));
        let often = FaultOdds {
            unavailable: 100,
            lost: 100,
            ending: 100,
            delay: 200,
            longest: Duration::from_millis(50),
            ..FaultOdds::default()
        };
        let (store, mut witness, mut dice) = (behind(often, seed), Witness::new(), Dice::new(seed));
        let mut seen = Vec::new();
        let writes = async {
            for _ in 0..100 {
                let key = format!("k{}", dice.below(5));
                let value = witness.count().to_string().into_bytes();
                let transaction = match dice.below(4) {
                    0 => Transaction::new().delete(key),
                    1 => Transaction::new().if_absent(&*key).put(key, value),
                    _ => Transaction::new().put("both", &*value).put(key, value),
                };
                witness.answered(transaction.clone(), store.commit(transaction).await);
                match store.range(Range::of(KeySpan::all())).await {
                    Ok(page) => assert!(page.at >= witness.newest()),
                    Err(error) => assert!(matches!(error, ReadError::Unavailable { .. }), "{error}"),
                }
            }
            let _ = store.inner().commit(Transaction::new().put("end", *b"")).await;
        };
        let watches = async {
            let mut after = Revision(1);
            loop {
                let mut watch = match store.watch(KeySpan::all(), after).await {
                    Ok(watch) => watch,
                    Err(error) => {
                        assert!(matches!(error, WatchError::Unavailable { .. }), "{error}");
                        continue;
                    }
                };
                while let Ok(one) = watch.next().await {
                    let WatchItem::Changes { revision, events } = &one else { panic!("nobody asked") };
                    after = *revision;
                    let last = &*events[0].key().clone() == "end";
                    seen.push(one);
                    if last {
                        return;
                    }
                }
                assert!(matches!(watch.next().await, Err(WatchError::Unavailable { .. })), "it has ended");
            }
        };
        futures::join!(writes, watches);
        let fired = store.fired();
        for (sum, more) in total.iter_mut().zip([fired.unavailable, fired.lost, fired.ending, fired.delay]) {
            *sum += more;
        }
        assert!(seen.iter().map(revision).eq((2..=store.inner().revision().await.unwrap().0).map(Revision)));
        seen.iter().for_each(|one| witness.observe(one));
        witness.check(store.inner()).await;
    }
    assert!(total.iter().all(|often| *often > 200), "{total:?}");
}

fn revision(seen: &WatchItem) -> Revision {
    match seen {
        WatchItem::Changes { revision, .. } | WatchItem::Progress(revision) => *revision,
    }
}

#[tokio::test]
async fn refused_calls_have_no_effect_and_calls_with_lost_answers_do() {
    let put = || Transaction::new().put("k", *b"v");
    let store = behind(FaultOdds { unavailable: 1000, ..FaultOdds::default() }, 0);
    assert!(matches!(store.commit(put()).await, Err(CommitError::Refused { .. })));
    assert!(matches!(store.compact(Revision(1)).await, Err(CompactError::Refused { .. })));
    assert!(matches!(store.revision().await, Err(ReadError::Unavailable { .. })));
    assert!(matches!(store.watch(KeySpan::all(), Revision(1)).await, Err(WatchError::Unavailable { .. })));
    assert_eq!(store.inner().revision().await, Ok(Revision(1)));
    store.set(FaultOdds { lost: 1000, ..FaultOdds::default() });
    assert!(matches!(store.commit(put()).await, Err(CommitError::Unknown { .. })));
    assert!(matches!(store.compact(Revision(2)).await, Err(CompactError::Unknown { .. })));
    assert!(matches!(store.range(Range::of(KeySpan::all())).await, Err(ReadError::Unavailable { .. })));
    store.set(FaultOdds::default());
    assert_eq!(store.revision().await, Ok(Revision(2)));
    let compacted = ReadError::Compacted { requested: Revision(1), compacted: Revision(2) };
    assert_eq!(store.range(Range::of(KeySpan::all()).at(Revision(1))).await, Err(compacted));
    assert_eq!((store.fired().unavailable, store.fired().lost), (4, 3));
}

#[tokio::test]
async fn a_rival_compacts_between_two_pages() {
    let store = behind(FaultOdds::default(), 5);
    for key in ["a", "b", "c"] {
        store.commit(Transaction::new().put(key, *b"v")).await.unwrap();
    }
    store.set(FaultOdds { compaction: 1000, window: 0, ..FaultOdds::default() });
    let page = store.range(Range::of(KeySpan::all()).limit(1)).await.unwrap();
    store.commit(Transaction::new().put("d", *b"v")).await.unwrap();
    let next = store.range(Range::of(KeySpan::all()).resume(page.next.unwrap())).await;
    assert_eq!(next, Err(ReadError::Compacted { requested: Revision(4), compacted: Revision(5) }));
    let late = store.watch(KeySpan::all(), Revision(4)).await.unwrap_err();
    assert_eq!(late, WatchError::Compacted { after: Revision(4), compacted: Revision(5) });
    assert_eq!(store.fired().compaction, 3);
}

#[tokio::test]
async fn held_calls_resume_when_released() {
    let store = behind(FaultOdds::default(), 0);
    let hold = store.hold();
    let also = store.hold();
    let mut commit = pin!(store.commit(Transaction::new().put("k", *b"v")));
    let mut read = pin!(store.revision());
    assert!(poll!(&mut commit).is_pending() && poll!(&mut read).is_pending());
    drop(hold);
    assert!(poll!(&mut commit).is_pending() && poll!(&mut read).is_pending());
    assert_eq!(store.inner().revision().await, Ok(Revision(1)));
    drop(also);
    assert_eq!(commit.await.unwrap().revision, Revision(2));
    assert_eq!(read.await, Ok(Revision(2)));
    assert_eq!(store.fired().held, 2);
}

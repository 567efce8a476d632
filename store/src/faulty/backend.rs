//! A backend behind an unreliable connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use futures::Stream;
use machinery_objects::Revision;
use machinery_sync::{Mutex, Notify};

use super::dice::Dice;
use crate::contract::{
    self, Commit, CommitError, CompactError, KeySpan, Page, Range, ReadError, Transaction, Watch, WatchError,
    WatchItem, WatchStream,
};

/// Fault probabilities, per thousand calls; zero by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultOdds {
    /// A call fails without effect: a read or a watch is unavailable, a commit or a compaction is
    /// refused.
    pub unavailable: u16,
    /// A call is executed and its answer is lost: a read is unavailable, a commit or a compaction
    /// is unknown.
    pub lost: u16,
    /// Another client compacts before a read or a watch, up to a revision at most `window` below
    /// the newest.
    pub compaction: u16,
    /// See [`compaction`](Self::compaction).
    pub window: u64,
    /// A watch ends instead of yielding its next item.
    pub ending: u16,
    /// A call is delayed by up to `longest`, before its execution and again after it. Needs tokio's
    /// clock.
    pub delay: u16,
    /// See [`delay`](Self::delay).
    pub longest: Duration,
}

/// Counts of the faults that happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of `FaultOdds`")]
pub struct FaultCounts {
    pub unavailable: u64,
    pub lost: u64,
    pub compaction: u64,
    pub ending: u64,
    pub delay: u64,
    pub held: u64,
}

/// A backend that fails like one behind a network, within the contract: it invents no conflict,
/// loses no change, and reorders nothing.
///
/// With default odds it behaves like the inner backend. Clones share it.
#[derive(Debug)]
pub struct FaultyBackend<B> {
    inner: Arc<B>,
    line: Arc<Link>,
}

/// Blocks all calls of a [`FaultyBackend`] until it is dropped.
#[derive(Debug)]
pub struct HoldGuard(Arc<Link>);

#[derive(Debug)]
struct Link {
    state: Mutex<State>,
    released: Notify,
}

#[derive(Debug)]
struct State {
    odds: FaultOdds,
    dice: Dice,
    holds: usize,
    fired: FaultCounts,
}

enum CallFault {
    None,
    Before,
    After,
}

impl<B: contract::Backend> FaultyBackend<B> {
    /// Wraps `inner` with these fault probabilities.
    pub fn new(inner: B, odds: FaultOdds, seed: u64) -> Self {
        let state = State { odds, dice: Dice::new(seed), holds: 0, fired: FaultCounts::default() };
        let line = Link { state: Mutex::new(state), released: Notify::new() };
        Self { inner: Arc::new(inner), line: Arc::new(line) }
    }

    /// Changes the probabilities; the default disables all faults.
    pub fn set(&self, odds: FaultOdds) {
        self.line.state.lock().odds = odds;
    }

    /// Blocks all calls that begin from now on, until the returned guard is dropped.
    #[must_use]
    pub fn hold(&self) -> HoldGuard {
        self.line.state.lock().holds += 1;
        HoldGuard(self.line.clone())
    }

    /// Returns the counts of the faults that happened.
    #[must_use]
    pub fn fired(&self) -> FaultCounts {
        self.line.state.lock().fired
    }

    /// Returns the inner backend.
    #[must_use]
    pub fn inner(&self) -> &B {
        &self.inner
    }

    async fn read<T>(&self, call: impl Future<Output = Result<T, ReadError>>) -> Result<T, ReadError> {
        let fault = self.line.meet().await;
        if matches!(fault, CallFault::Before) {
            return Err(ReadError::Unavailable { why: why() });
        }
        self.race().await;
        let answer = call.await;
        self.line.delay().await;
        match fault {
            CallFault::After => Err(ReadError::Unavailable { why: why() }),
            _ => answer,
        }
    }

    /// Compacts with the configured probability, as another client would.
    async fn race(&self) {
        let Some(back) = self.line.state.lock().compaction() else { return };
        if let Ok(now) = self.inner.revision().await {
            // Another compaction may be ahead of it, which is as good.
            let _ = self.inner.compact(Revision(now.0.saturating_sub(back))).await;
        }
    }
}

impl<B> Clone for FaultyBackend<B> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), line: self.line.clone() }
    }
}

#[async_trait]
impl<B: contract::Backend> contract::Backend for FaultyBackend<B> {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.read(self.inner.revision()).await
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        self.read(self.inner.range(range)).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        let fault = self.line.meet().await;
        if matches!(fault, CallFault::Before) {
            return Err(CommitError::Refused { why: why() });
        }
        let answer = self.inner.commit(transaction).await;
        self.line.delay().await;
        match fault {
            CallFault::After => Err(CommitError::Unknown { why: why() }),
            _ => answer,
        }
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        let fault = self.line.meet().await;
        if matches!(fault, CallFault::Before) {
            return Err(WatchError::Unavailable { why: why() });
        }
        self.race().await;
        let watch = self.inner.watch(span, after).await;
        self.line.delay().await;
        match fault {
            CallFault::After => Err(WatchError::Unavailable { why: why() }),
            _ => watch.map(|inner| Watch::new(EndingWatch { inner, line: self.line.clone(), ended: false })),
        }
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        let fault = self.line.meet().await;
        if matches!(fault, CallFault::Before) {
            return Err(CompactError::Refused { why: why() });
        }
        let answer = self.inner.compact(to).await;
        self.line.delay().await;
        match fault {
            CallFault::After => Err(CompactError::Unknown { why: why() }),
            _ => answer,
        }
    }
}

impl Link {
    /// Waits while the connection is held or delayed, then draws the fault of the call.
    async fn meet(&self) -> CallFault {
        let mut counted = false;
        loop {
            let listener = self.released.listen();
            {
                let state = &mut *self.state.lock();
                if state.holds == 0 {
                    break;
                }
                state.fired.held += u64::from(!std::mem::replace(&mut counted, true));
            }
            listener.await;
        }
        self.delay().await;
        let state = &mut *self.state.lock();
        if state.dice.chance(state.odds.unavailable) {
            state.fired.unavailable += 1;
            CallFault::Before
        } else if state.dice.chance(state.odds.lost) {
            state.fired.lost += 1;
            CallFault::After
        } else {
            CallFault::None
        }
    }

    async fn delay(&self) {
        let delay = self.state.lock().delay();
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
    }
}

impl State {
    fn compaction(&mut self) -> Option<u64> {
        self.dice.chance(self.odds.compaction).then(|| {
            self.fired.compaction += 1;
            self.dice.below(self.odds.window + 1)
        })
    }

    fn delay(&mut self) -> Option<Duration> {
        self.dice.chance(self.odds.delay).then(|| {
            self.fired.delay += 1;
            self.odds.longest.mul_f64(self.dice.below(1001) as f64 / 1000.0)
        })
    }
}

impl Drop for HoldGuard {
    fn drop(&mut self) {
        self.0.state.lock().holds -= 1;
        self.0.released.notify_all();
    }
}

/// A watch that may end before its next item.
struct EndingWatch {
    inner: Watch,
    line: Arc<Link>,
    ended: bool,
}

impl WatchStream for EndingWatch {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchItem, WatchError>> {
        if !self.ended {
            let seen = ready!(Pin::new(&mut self.inner).poll_next(cx)).expect("a watch ends with an error");
            let state = &mut *self.line.state.lock();
            self.ended = state.dice.chance(state.odds.ending);
            if !self.ended {
                return Poll::Ready(seen);
            }
            state.fired.ending += 1;
        }
        Poll::Ready(Err(WatchError::Unavailable { why: why() }))
    }

    fn request_progress(&mut self) {
        self.inner.request_progress();
    }
}

fn why() -> Arc<str> {
    "the connection failed (an injected fault)".into()
}

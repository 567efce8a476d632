//! A port in memory with faults, and an actuator on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use machinery_controllers::{
    Actuator, ActuatorPort, ActuatorSettings, ChangeBatch, Disturbance, FoundItem, ItemState,
};
use machinery_sync::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Above the time that anything takes, virtual or on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct FakeError(pub(crate) &'static str);

pub(crate) type Found = FoundItem<u32, &'static str, FakeError>;

/// A port in memory. Clones are the same system, with the same faults.
#[derive(Clone, Default)]
pub(crate) struct FakePort(Arc<FakeSystem>);

#[derive(Default)]
pub(crate) struct FakeSystem {
    pub(crate) items: Mutex<BTreeMap<u32, &'static str>>,
    /// Keys whose changes fail, do not return, or panic.
    pub(crate) failing: Mutex<BTreeSet<u32>>,
    pub(crate) hanging: Mutex<BTreeSet<u32>>,
    pub(crate) panicking: Mutex<BTreeSet<u32>>,
    /// Keys whose changes are reported done and not made.
    pub(crate) ignored: Mutex<BTreeSet<u32>>,
    /// Items listed besides those that exist.
    pub(crate) nonsense: Mutex<Vec<Found>>,
    pub(crate) is_down: AtomicBool,
    pub(crate) list_hangs: AtomicBool,
    pub(crate) list_panics: AtomicBool,
    /// Whether results are reported one by one, as early as they are known.
    pub(crate) reports: AtomicBool,
    /// Whether `disturbed` always resolves at once, or panics.
    pub(crate) always_disturbed: AtomicBool,
    pub(crate) disturbed_panics: AtomicBool,
    pub(crate) disturbances: Mutex<Vec<Disturbance>>,
    pub(crate) disturbed: Notify,
    pub(crate) lists: AtomicUsize,
    /// The keys of each batch.
    pub(crate) batches: Mutex<Vec<Vec<u32>>>,
    /// Whether the port's own tasks run.
    pub(crate) runs: AtomicBool,
}

/// A fault of the whole port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Down,
    ListPanics,
    ListHangs,
    AlwaysDisturbed,
    DisturbedPanics,
}

impl std::ops::Deref for FakePort {
    type Target = FakeSystem;

    fn deref(&self) -> &FakeSystem {
        &self.0
    }
}

impl FakePort {
    pub(crate) fn with(items: impl IntoIterator<Item = (u32, &'static str)>) -> Self {
        let port = Self::default();
        port.items.lock().extend(items);
        port
    }

    pub(crate) fn get(&self, key: u32) -> Option<&'static str> {
        self.items.lock().get(&key).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.lock().len()
    }

    pub(crate) fn disturb(&self, disturbance: Disturbance) {
        self.disturbances.lock().push(disturbance);
        self.disturbed.notify_one();
    }

    pub(crate) fn fault(&self, fault: Fault) -> &AtomicBool {
        match fault {
            Fault::Down => &self.is_down,
            Fault::ListPanics => &self.list_panics,
            Fault::ListHangs => &self.list_hangs,
            Fault::AlwaysDisturbed => &self.always_disturbed,
            Fault::DisturbedPanics => &self.disturbed_panics,
        }
    }

    pub(crate) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, SeqCst);
    }

    fn check(&self) -> Result<(), FakeError> {
        if self.is_down.load(SeqCst) { Err(FakeError("it is down")) } else { Ok(()) }
    }
}

#[async_trait]
impl ActuatorPort for FakePort {
    type Key = u32;
    type Item = &'static str;
    type Error = FakeError;

    async fn list(&self) -> Result<Vec<Found>, FakeError> {
        self.lists.fetch_add(1, SeqCst);
        while self.list_hangs.load(SeqCst) {
            std::future::pending::<()>().await;
        }
        assert!(!self.list_panics.load(SeqCst), "list panics");
        self.check()?;
        let items = self.items.lock();
        let existing = items.iter().map(|(key, item)| FoundItem::whole(*key, *item));
        Ok(existing.chain(self.nonsense.lock().iter().cloned()).collect())
    }

    async fn apply(&self, batch: &ChangeBatch<u32, &'static str, FakeError>) -> Result<(), FakeError> {
        self.batches.lock().push(batch.changes().iter().map(|change| change.key).collect());
        tokio::task::yield_now().await;
        self.check()?;
        for change in batch.changes() {
            let key = change.key;
            assert!(!self.panicking.lock().contains(&key), "{key} panics");
            if self.hanging.lock().contains(&key) {
                std::future::pending::<()>().await;
            }
            if self.failing.lock().contains(&key) {
                batch.report(&key, Err(FakeError("it is refused")));
                continue;
            }
            if !self.ignored.lock().contains(&key) {
                match change.to {
                    Some(item) => drop(self.items.lock().insert(key, item)),
                    None => drop(self.items.lock().remove(&key)),
                }
            }
            if self.reports.load(SeqCst) {
                batch.report(&key, Ok(()));
            }
        }
        batch.report(&u32::MAX, Ok(())); // a key of no change
        Ok(())
    }

    async fn disturbed(&self) -> Disturbance {
        assert!(!self.disturbed_panics.load(SeqCst), "disturbed panics");
        loop {
            if self.always_disturbed.load(SeqCst) {
                return Disturbance::Changed;
            }
            if let Some(disturbance) = self.disturbances.lock().pop() {
                return disturbance;
            }
            self.disturbed.notified().await;
        }
    }

    async fn run(&self) {
        struct Ends<'a>(&'a AtomicBool);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.store(false, SeqCst);
            }
        }
        self.runs.store(true, SeqCst);
        let _ends = Ends(&self.runs);
        std::future::pending().await
    }
}

/// A running actuator.
pub(crate) struct Bench {
    pub(crate) port: FakePort,
    pub(crate) actuator: Actuator<FakePort>,
    pub(crate) stopping: CancellationToken,
    pub(crate) running: JoinHandle<()>,
}

/// Settings whose timer does not elapse within a test.
pub(crate) fn settings() -> ActuatorSettings {
    ActuatorSettings { interval: Duration::from_secs(100 * 86_400), ..ActuatorSettings::default() }
}

impl Bench {
    pub(crate) fn on(port: &FakePort) -> Self {
        Self::with(port, settings())
    }

    pub(crate) fn with(port: &FakePort, settings: ActuatorSettings) -> Self {
        let actuator = Actuator::new("test", Arc::new(port.clone()), settings);
        let stopping = CancellationToken::new();
        #[expect(clippy::disallowed_methods, reason = "the bench aborts it")]
        let running = tokio::spawn({
            let (actuator, stopping) = (actuator.clone(), stopping.clone());
            async move { actuator.run(stopping).await.unwrap() }
        });
        Self { port: port.clone(), actuator, stopping, running }
    }

    /// Waits until a condition holds; it is checked at each millisecond.
    pub(crate) async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let holds = async {
            while !condition(self) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(DEADLINE, holds).await.expect("the condition holds in time");
    }

    pub(crate) fn is_ready(&self, key: u32) -> bool {
        matches!(self.actuator.state(&key), Some(ItemState::Ready(_)))
    }

    pub(crate) fn batches(&self) -> Vec<Vec<u32>> {
        self.port.batches.lock().clone()
    }

    /// Ends the run as a crash does: its future is dropped.
    pub(crate) async fn crash(self) {
        self.running.abort();
        let _ = self.running.await;
    }
}

//! The disk as a test sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use machinery_sync::Mutex;

use super::super::dice::Dice;
use super::cut::{CrashDamage, PowerLoss};
use super::plan::{DiskCall, DiskFault, FaultPlan};
use super::platter::Platter;

/// A directory of files in memory: a page cache, what is durable under it, and a plan of faults.
///
/// Each write, sync, creation, rename, removal and sync of names is a *step*; steps are counted from zero, and
/// [`crash_at`](Self::crash_at) stops the disk before any one of them, so that a test can try them all. What the disk is
/// after the power cut is then asked of [`crash`](Self::crash), as often as there are ways to lose things; after the
/// mere death of a process it is [`kill`](Self::kill).
///
/// Clones are the same disk. It has no thread, and blocks only at a [`Gate`](crate::faulty::Gate).
#[derive(Clone)]
pub struct FaultyDisk(pub(super) Arc<Mutex<State>>);

pub(super) struct State {
    pub(super) platter: Platter,
    pub(super) plan: FaultPlan,
    pub(super) locked: bool,
    /// For salts, and for what a sync forgets.
    pub(super) dice: Dice,
    /// What the power cut did that this disk came out of.
    damage: CrashDamage,
}

impl FaultyDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Platter::default(), Dice::new(0), CrashDamage::default())
    }

    fn of(platter: Platter, dice: Dice, damage: CrashDamage) -> Self {
        let state = State { platter, plan: FaultPlan::default(), locked: false, dice, damage };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Adds a fault to the plan. Of those that fit a call, the first that is due happens.
    pub fn inject(&self, fault: DiskFault) {
        self.0.lock().plan.faults.push(fault);
    }

    /// Takes all faults back: the disk is well from now on.
    pub fn heal(&self) {
        let mut state = self.0.lock();
        state.plan = FaultPlan { trace: std::mem::take(&mut state.plan.trace), ..FaultPlan::default() };
    }

    /// Stops the disk before its step `step`: that one and every call after it fails.
    pub fn crash_at(&self, step: usize) {
        self.crash_in(step, 0);
    }

    /// Stops the disk in its step `step`: if that is a write, its first `bytes` bytes are cached.
    pub fn crash_in(&self, step: usize, bytes: usize) {
        self.0.lock().plan.stop = Some((step, bytes));
    }

    /// Stops the disk now.
    pub fn stop(&self) {
        self.0.lock().plan.stopped = true;
    }

    /// How many steps were taken.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.0.lock().plan.trace.len()
    }

    /// The steps that were taken, each with the file it was about.
    #[must_use]
    pub fn trace(&self) -> Vec<(DiskCall, String)> {
        self.0.lock().plan.trace.clone()
    }

    /// How often each effect happened, by the call it happened to and its name.
    #[must_use]
    pub fn fired(&self) -> BTreeMap<(DiskCall, &'static str), u64> {
        self.0.lock().plan.fired.clone()
    }

    /// At most so many bytes in all files: a write takes what fits, and fails.
    pub fn limit(&self, bytes: u64) {
        self.0.lock().plan.limit = Some(bytes);
    }

    /// Takes no changes from now on; or does again.
    pub fn set_read_only(&self, read_only: bool) {
        self.0.lock().plan.read_only = read_only;
    }

    /// How many writes and changes of names are not durable.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.0.lock().platter.pending.len()
    }

    /// The disk as it is after a power cut of this moment. This one is left as it is.
    #[must_use]
    pub fn crash(&self, lost: PowerLoss, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let (platter, damage) = self.0.lock().platter.cut(lost, &mut dice);
        Self::of(platter, dice, damage)
    }

    /// The disk as the next process finds it: everything cached is there. This one is left as it is.
    #[must_use]
    pub fn kill(&self) -> Self {
        let state = self.0.lock();
        Self::of(state.platter.clone(), state.dice.clone(), CrashDamage::default())
    }

    /// What the power cut did that this disk came out of.
    #[must_use]
    pub fn damage(&self) -> CrashDamage {
        self.0.lock().damage
    }

    /// All files as a reader finds them.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        self.0.lock().platter.contents()
    }

    /// Puts a file there, durable from the beginning.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.0.lock().platter.put(name, bytes.to_vec());
    }

    /// Turns one bit of a file over, counted from the first one's least significant.
    ///
    /// # Panics
    /// If there is no such file or bit.
    pub fn flip(&self, name: &str, bit: usize) {
        self.0.lock().platter.flip(name, bit);
    }
}

impl Default for FaultyDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for FaultyDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk")
            .field("steps", &self.steps())
            .field("pending", &self.pending())
            .finish_non_exhaustive()
    }
}

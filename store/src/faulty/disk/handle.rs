//! The test's handle of the faulty disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use machinery_sync::Mutex;

use super::super::dice::Dice;
use super::cut::{CrashDamage, PowerLoss};
use super::plan::{DiskCall, DiskFault, FaultPlan};
use super::platter::{FileNumber, Platter};

/// A directory of files in memory: a page cache, durable data under it, and a plan of faults.
///
/// Each write, sync, creation, rename, removal and directory sync is a *step*. Steps are counted
/// from zero, and [`crash_at`](Self::crash_at) stops the disk before any of them, so that a test
/// can try all. [`crash`](Self::crash) returns the disk after a power cut, for each way to lose
/// data; [`kill`](Self::kill) the disk after the death of the process.
///
/// Clones share the disk. It has no thread, and blocks only at a [`Gate`](crate::faulty::Gate).
#[derive(Clone)]
pub struct FaultyDisk(pub(super) Arc<Mutex<State>>);

pub(super) struct State {
    pub(super) platter: Platter,
    pub(super) plan: FaultPlan,
    pub(super) locked: bool,
    /// The number of the lock file. It is not among the files.
    pub(super) lock_file: u64,
    pub(super) locked_files: BTreeSet<FileNumber>,
    /// Chooses salts, and the sectors that a failed sync drops.
    pub(super) dice: Dice,
    /// The effects of the power cut that made this disk.
    damage: CrashDamage,
}

impl FaultyDisk {
    /// Creates an empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Platter::default(), Dice::new(0), CrashDamage::default())
    }

    fn of(platter: Platter, dice: Dice, damage: CrashDamage) -> Self {
        let (plan, locked_files) = (FaultPlan::default(), BTreeSet::new());
        let state = State { platter, plan, locked: false, lock_file: 0, locked_files, dice, damage };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Adds a fault to the plan. Of the faults that match a call, the first due one applies.
    pub fn inject(&self, fault: DiskFault) {
        self.0.lock().plan.faults.push(fault);
    }

    /// Removes all faults.
    pub fn heal(&self) {
        let mut state = self.0.lock();
        state.plan = FaultPlan { trace: std::mem::take(&mut state.plan.trace), ..FaultPlan::default() };
    }

    /// Stops the disk before step `step`: that step and every later call fail.
    pub fn crash_at(&self, step: usize) {
        self.crash_in(step, 0);
    }

    /// Stops the disk in step `step`: if it is a write, its first `bytes` bytes are cached.
    pub fn crash_in(&self, step: usize, bytes: usize) {
        self.0.lock().plan.stop = Some((step, bytes));
    }

    /// Stops the disk now.
    pub fn stop(&self) {
        self.0.lock().plan.stopped = true;
    }

    /// Returns the number of steps taken.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.0.lock().plan.trace.len()
    }

    /// Returns the steps taken, each with its file.
    #[must_use]
    pub fn trace(&self) -> Vec<(DiskCall, String)> {
        self.0.lock().plan.trace.clone()
    }

    /// Returns how often each effect happened, by call and name of the effect.
    #[must_use]
    pub fn fired(&self) -> BTreeMap<(DiskCall, &'static str), u64> {
        self.0.lock().plan.fired.clone()
    }

    /// Limits the bytes of all files: a write beyond it stores a prefix and fails.
    pub fn limit(&self, bytes: u64) {
        self.0.lock().plan.limit = Some(bytes);
    }

    /// Sets whether the disk refuses changes.
    pub fn set_read_only(&self, read_only: bool) {
        self.0.lock().plan.read_only = read_only;
    }

    /// Replaces the lock file by another one, which is not locked.
    pub fn replace_lock(&self) {
        let mut state = self.0.lock();
        state.lock_file += 1;
        state.locked = false;
    }

    /// Returns the number of writes and directory changes that are not durable.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.0.lock().platter.pending.len()
    }

    /// Returns the disk after a power cut at this moment. This disk is unchanged.
    #[must_use]
    pub fn crash(&self, lost: PowerLoss, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let (platter, damage) = self.0.lock().platter.cut(lost, &mut dice);
        Self::of(platter, dice, damage)
    }

    /// Returns the disk as a next process finds it, with all cached data. This disk is unchanged.
    #[must_use]
    pub fn kill(&self) -> Self {
        let state = self.0.lock();
        Self::of(state.platter.clone(), state.dice.clone(), CrashDamage::default())
    }

    /// The effects of the power cut that made this disk.
    #[must_use]
    pub fn damage(&self) -> CrashDamage {
        self.0.lock().damage
    }

    /// Returns all files with their cached content.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        self.0.lock().platter.contents()
    }

    /// Adds a durable file.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.0.lock().platter.put(name, bytes.to_vec());
    }

    /// Flips one bit of a file, counted from the first byte's least significant.
    ///
    /// # Panics
    ///
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

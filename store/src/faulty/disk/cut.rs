//! The effect of a power cut.

use std::sync::Arc;

use super::super::dice::Dice;
use super::platter::{FileBytes, PendingChange, Platter};

/// The unsynced changes that a power cut loses. Changes are numbered in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerLoss {
    /// All changes.
    Everything,
    /// No change.
    Nothing,
    /// All changes but this one.
    AllBut(usize),
    /// This change only.
    Only(usize),
    /// All changes after a random one, which is torn.
    After,
    /// A random subset.
    Some,
    /// Any sectors, and either half of a rename. The grown part of a file may hold data of other
    /// files.
    Torn,
}

/// Counts of the effects of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashDamage {
    /// Writes and directory changes that persisted whole.
    pub arrived: u64,
    /// Those that were lost.
    pub lost: u64,
    /// Those that persisted in part.
    pub torn: u64,
    /// Files that grew and hold zeros or stale data.
    pub hollow: u64,
}

enum Fate {
    Arrives,
    Lost,
    Torn,
}

impl Platter {
    /// Returns the disk after a power cut.
    pub(super) fn cut(&self, lost: PowerLoss, dice: &mut Dice) -> (Self, CrashDamage) {
        let mut after = Self { pending: Vec::new(), ..self.clone() };
        let mut damage = CrashDamage::default();
        if matches!(lost, PowerLoss::After | PowerLoss::Some | PowerLoss::Torn) {
            after.grow(lost == PowerLoss::Torn, dice, &mut damage);
        }
        let border = dice.below(self.pending.len() as u64 + 1) as usize;
        for (at, pending) in self.pending.iter().enumerate() {
            let fate = match lost {
                PowerLoss::Everything => Fate::Lost,
                PowerLoss::Nothing => Fate::Arrives,
                PowerLoss::AllBut(one) if at == one => Fate::Arrives,
                PowerLoss::Only(one) if at != one => Fate::Arrives,
                PowerLoss::AllBut(_) | PowerLoss::Only(_) => Fate::Lost,
                PowerLoss::After if at == border => Fate::Torn,
                PowerLoss::After if at < border => Fate::Arrives,
                PowerLoss::Some if dice.coin() => Fate::Arrives,
                PowerLoss::After | PowerLoss::Some => Fate::Lost,
                PowerLoss::Torn => Fate::Torn,
            };
            after.meet(pending, fate, dice, &mut damage);
        }
        after.names = after.durable_names.clone();
        for file in &mut after.files {
            file.cached = file.durable.clone();
        }
        (after, damage)
    }

    /// Gives some grown files their new length, without their new data.
    fn grow(&mut self, stale: bool, dice: &mut Dice, damage: &mut CrashDamage) {
        for file in 0..self.files.len() {
            let FileBytes { cached, durable } = &self.files[file];
            if durable.len() >= cached.len() || dice.coin() {
                continue;
            }
            let mut grown = durable.to_vec();
            grown.resize(cached.len(), 0);
            if stale && dice.coin() {
                let other = dice.below(self.files.len() as u64) as usize;
                let range = durable.len()..cached.len().min(self.files[other].durable.len());
                if other != file && !range.is_empty() {
                    grown[range.clone()].copy_from_slice(&self.files[other].durable[range]);
                }
            }
            self.files[file].durable = Arc::new(grown);
            damage.hollow += 1;
        }
    }

    fn meet(&mut self, pending: &PendingChange, fate: Fate, dice: &mut Dice, damage: &mut CrashDamage) {
        let (mut arrived, mut lost) = (false, false);
        let mut arrives = |dice: &mut Dice| {
            let arrives = match fate {
                Fate::Arrives => true,
                Fate::Lost => false,
                Fate::Torn => dice.coin(),
            };
            arrived |= arrives;
            lost |= !arrives;
            arrives
        };
        match pending {
            PendingChange::Sectors { file, first, image } => {
                self.files[*file].arrive(*first, image, || arrives(dice))
            }
            name => {
                if arrives(dice) {
                    let whole = arrives(dice);
                    name.name(&mut self.durable_names, whole);
                }
            }
        }
        match (arrived, lost) {
            (true, true) => damage.torn += 1,
            (true, false) => damage.arrived += 1,
            _ => damage.lost += 1,
        }
    }
}

//! Answers: what becomes of a key that was out.

use super::Core;
use super::slab::NEVER;
use crate::cause::{self, Causes};
use crate::config::MAX_DELAY;
use crate::limiter::Charge;
use std::time::Duration;

/// How a work was answered.
pub(crate) enum Answer<'a> {
    Done,
    After(Duration),
    Failed(&'a Causes),
    Abandoned(&'a Causes),
}

/// What became of the key.
#[derive(Debug)]
pub(crate) struct Answered<K> {
    /// The key, if its entry ended. To be dropped outside the lock.
    pub ended: Option<K>,
    pub retried: Retried,
    /// The key, if it is a dead letter and has an entry all the same.
    pub dead: Option<K>,
    pub attempts: u16,
}

/// What became of a key that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// It is handed out again once this is over.
    After(Duration),
    /// It was added meanwhile and is ready again at once; the failure still counts.
    AtOnce,
    /// It has failed [`crate::Config::max_tries`] times in a row, and is not tried again.
    DeadLetter,
}

impl<K: Eq + Clone> Core<K> {
    #[inline]
    pub(crate) fn answer(&mut self, now: u64, slot: u32, answer: Answer<'_>) -> Answered<K> {
        self.turn(now);
        let (retried, dead) = match answer {
            Answer::Done => {
                self.entries[slot].attempts = 0;
                (Retried::AtOnce, None)
            }
            Answer::After(delay) => {
                let due = self.after(delay);
                let entry = &mut self.entries[slot];
                entry.attempts = 0;
                entry.keep_level();
                entry.causes.merge(cause::AFTER, 1);
                entry.merge_plain(due);
                (Retried::After(delay.min(MAX_DELAY)), None)
            }
            Answer::Failed(causes) => self.fail(slot, causes, cause::retry),
            Answer::Abandoned(causes) => {
                self.stats.abandoned += 1;
                self.fail(slot, causes, cause::abandoned)
            }
        };
        let attempts = self.entries[slot].attempts;
        self.bring_in(slot);
        let ended = if self.entries[slot].due == NEVER {
            self.end(slot)
        } else {
            let entry = &mut self.entries[slot];
            entry.level = entry.rerun_level;
            if dead.is_some() {
                entry.attempts = 0;
            }
            self.place(slot);
            None
        };
        self.settle();
        Answered { ended, retried, dead, attempts }
    }

    /// Counts a failure, and says when the key runs again.
    fn fail(&mut self, slot: u32, causes: &Causes, why: fn(u16) -> crate::Cause) -> (Retried, Option<K>) {
        self.stats.retries += 1;
        let now = self.now;
        let entry = &mut self.entries[slot];
        let attempts = entry.attempts.saturating_add(1);
        let last = self.max_tries.is_some_and(|max| attempts >= max.get());
        if last {
            // The clone is the user's code: before anything changes, in case it panics.
            let key = entry.key.clone();
            entry.attempts = attempts;
            self.stats.dead_letters += 1;
            return (Retried::DeadLetter, key);
        }
        let at_once = entry.due <= now;
        let delay = (!at_once).then(|| {
            let ask = self.ask(attempts);
            self.limiter.take(&ask)
        });
        let due = delay.map_or(now, |delay| self.after(delay.wait));
        let entry = &mut self.entries[slot];
        entry.attempts = attempts;
        entry.keep_level();
        let mut merged = *causes;
        merged.merge(why(attempts), 1);
        merged.merge_all(&entry.causes);
        entry.causes = merged;
        let overtaken = entry.due < due;
        entry.merge_plain(due);
        let due = entry.due;
        if let Some(charge) = delay.and_then(|delay| delay.charge) {
            entry.charge = Charge::to_bits(Some(charge));
            if overtaken {
                self.refund(slot);
            }
        }
        match due.saturating_sub(now) {
            0 => (Retried::AtOnce, None),
            wait => (Retried::After(Duration::from_micros(wait)), None),
        }
    }

    /// Takes an entry off the list of what is out.
    #[inline]
    fn bring_in(&mut self, slot: u32) {
        let since = self.entries[slot].since;
        self.out.unlink(&mut self.entries, slot);
        self.out_len -= 1;
        self.out_since -= u128::from(since);
        self.stats.worked.record(self.now.saturating_sub(since));
    }
}

impl<K> super::slab::Entry<K> {
    /// The run after this one is at least as urgent.
    fn keep_level(&mut self) {
        self.rerun_level = self.rerun_level.max(self.level);
    }
}

//! What answers mean.

use std::sync::Arc;
use std::time::Instant;

use machinery_objects::{ListError, Object, SourceError, WriteError};

use super::says::{Change, Loss, Trouble};
use super::step::{Asked, Election, Known, Role, Sight, What};
use crate::lease::Lease;

impl Election {
    pub(super) fn read(&mut self, now: Instant, read: Result<Option<Arc<Lease>>, ListError>) {
        let Some(asked) = self.asked.take_if(|asked| asked.what == What::Read) else { return };
        match read {
            Ok(Some(lease)) if lease.version().is_none() || lease.uid().is_none() => {
                self.failed(now, asked, Trouble::Nameless);
            }
            Ok(Some(lease)) => self.found(now, lease),
            Ok(None) => {
                self.sight = None;
                if matches!(self.role, Role::Leading { .. }) {
                    self.lose(Loss::Gone);
                } else {
                    (self.known, self.trouble) = (Known::NotThere, None);
                }
            }
            Err(error) => self.failed(now, asked, Trouble::Read(error)),
        }
    }

    fn found(&mut self, now: Instant, lease: Arc<Lease>) {
        let record = lease.record();
        if let Role::Leading { uid, .. } = &self.role {
            // What it wrote last, or what it tried to write and had no answer: whatever else of the object is another than before.
            let written = self.sight.as_ref().is_some_and(|sight| sight.record == record);
            let tried = self.tried.as_ref().is_some_and(|tried| tried.record == record);
            if lease.is_deleting() {
                self.lose(Loss::Gone);
            } else if lease.uid() != Some(uid.as_str()) || !(written || tried) {
                self.lose(Loss::Taken);
            }
        }
        if self.role == Role::Standing {
            self.trouble = None;
        }
        if self.role != Role::Lost {
            self.known = Known::There;
        }
        let same = |sight: &&Sight| sight.record == record && sight.lease.uid() == lease.uid();
        let since = self.sight.as_ref().filter(same).map_or(now, |sight| sight.since);
        self.sight = Some(Sight { lease, record, since });
    }

    pub(super) fn wrote(&mut self, now: Instant, written: Result<Lease, WriteError>) {
        let Some(asked) = self.asked.take_if(|asked| asked.what != What::Read) else { return };
        let lease = match written {
            Ok(lease) => lease,
            Err(error) => return self.refused(now, asked, error),
        };
        if asked.what == What::Release {
            (self.role, self.known) = (Role::Standing, Known::No);
            self.counts.written += 1;
            return;
        }
        let (record, uid) = (lease.record(), lease.of_uid());
        let epoch = self.tried.as_ref().and_then(|tried| tried.record.epoch());
        let is_own = record.holder() == Some(&self.config.identity) && record.epoch() == epoch;
        let is_another = matches!(&self.role, Role::Leading { uid: held, .. } if Some(held) != uid.as_ref());
        let is_own = is_own && !is_another && lease.version().is_some();
        let (Some(uid), Some(epoch), true) = (uid, epoch, is_own) else {
            return self.failed(now, asked, Trouble::Altered);
        };
        if now >= asked.at + self.config.renew_deadline {
            // It is stored, and its time is over: when it is seen again it is known as its own, and taken in the same turn.
            return self.failed(now, asked, Trouble::Write(SourceError::TimedOut.into()));
        }
        if !matches!(self.role, Role::Leading { .. }) && !self.is_leaving() {
            self.counts.terms += 1;
            self.change = Some(Change::Leads { uid: uid.clone(), epoch });
        }
        self.counts.written += 1;
        self.role = Role::Leading { uid, epoch, renewed: asked.at };
        self.sight = Some(Sight { lease: Arc::new(lease), record, since: asked.at });
        (self.known, self.tried, self.trouble, self.hurried) = (Known::There, None, None, false);
        self.next = now + self.config.retry_period;
    }

    /// A leader whose write is refused looks at once what there is instead, but not again and again: somebody may write all the time.
    fn refused(&mut self, now: Instant, asked: Asked, error: WriteError) {
        let there_is_another = matches!(
            error,
            WriteError::Conflict(_) | WriteError::NotFound | WriteError::AlreadyExists { .. }
        );
        let leads = matches!(self.role, Role::Leading { .. });
        self.failed(now, asked, Trouble::Write(error));
        if leads && there_is_another && !self.hurried {
            (self.hurried, self.next) = (true, now);
        }
    }

    fn failed(&mut self, now: Instant, asked: Asked, trouble: Trouble) {
        self.later(now);
        if matches!(self.role, Role::Leading { .. }) {
            self.next = now.max(asked.at + self.config.retry_period);
        }
        self.counts.failed += 1;
        self.trouble = Some(trouble);
    }
}

//! Updates the state of an election by the responses to reads and writes of the Lease.

use std::sync::Arc;
use std::time::Instant;

use machinery_objects::{ListError, Object, SourceError, WriteError};

use super::messages::{ElectionProblem, LeadershipChange, Loss};
use super::step::{Election, LeaseKnowledge, ObservedLease, PendingRequest, RequestKind, Role};
use crate::lease::Lease;

impl Election {
    pub(super) fn read(&mut self, now: Instant, read: Result<Option<Arc<Lease>>, ListError>) {
        let Some(pending) = self.pending.take_if(|pending| pending.kind == RequestKind::Read) else { return };
        match read {
            Ok(Some(lease)) if lease.version().is_none() || lease.uid().is_none() => {
                self.failed(now, pending, ElectionProblem::Nameless);
            }
            Ok(Some(lease)) => self.found(now, lease),
            Ok(None) => {
                self.observed = None;
                if matches!(self.role, Role::Leading { .. }) {
                    self.lose(Loss::Gone);
                } else {
                    (self.known, self.problem) = (LeaseKnowledge::Absent, None);
                }
            }
            Err(error) => self.failed(now, pending, ElectionProblem::Read(error)),
        }
    }

    fn found(&mut self, now: Instant, lease: Arc<Lease>) {
        let record = lease.record();
        if let Role::Leading { uid, .. } = &self.role {
            // The record equals the last write, or the attempted one without a response; changes of
            // other fields do not matter.
            let written = self.observed.as_ref().is_some_and(|observed| observed.record == record);
            let tried = self.tried.as_ref().is_some_and(|tried| tried.record == record);
            if lease.is_deleting() {
                self.lose(Loss::Gone);
            } else if lease.uid() != Some(uid.as_str()) || !(written || tried) {
                self.lose(Loss::Taken);
            }
        }
        if self.role == Role::Candidate {
            self.problem = None;
        }
        if self.role != Role::Lost {
            self.known = LeaseKnowledge::Present;
        }
        // Another UID is another Lease: its record is observed from now on.
        let same =
            |observed: &&ObservedLease| observed.record == record && observed.lease.uid() == lease.uid();
        let since = self.observed.as_ref().filter(same).map_or(now, |observed| observed.since);
        self.observed = Some(ObservedLease { lease, record, since });
    }

    pub(super) fn wrote(&mut self, now: Instant, written: Result<Lease, WriteError>) {
        let Some(pending) = self.pending.take_if(|pending| pending.kind != RequestKind::Read) else { return };
        let lease = match written {
            Ok(lease) => lease,
            Err(error) => return self.refused(now, pending, error),
        };
        if pending.kind == RequestKind::Release {
            (self.role, self.known) = (Role::Candidate, LeaseKnowledge::Unread);
            self.counts.written += 1;
            return;
        }
        let (record, uid) = (lease.record(), lease.typed_uid());
        let epoch = self.tried.as_ref().and_then(|tried| tried.record.epoch());
        // A webhook may have changed the record: only a record of its own proves a term.
        let is_own = record.holder() == Some(&self.config.identity) && record.epoch() == epoch;
        // A recreated Lease has another UID, which the fence of this term does not name.
        let is_another = matches!(&self.role, Role::Leading { uid: held, .. } if Some(held) != uid.as_ref());
        let is_own = is_own && !is_another && lease.version().is_some();
        let (Some(uid), Some(epoch), true) = (uid, epoch, is_own) else {
            return self.failed(now, pending, ElectionProblem::Altered);
        };
        if now >= pending.at + self.config.renew_deadline {
            // The write is stored but too late for its term; the next read recognises the record
            // and renews it in the same step.
            return self.failed(now, pending, ElectionProblem::Write(SourceError::TimedOut.into()));
        }
        if !matches!(self.role, Role::Leading { .. }) && !self.is_leaving() {
            self.counts.terms += 1;
            self.change = Some(LeadershipChange::Acquired { uid: uid.clone(), epoch });
        }
        self.counts.written += 1;
        self.role = Role::Leading { uid, epoch, renewed: pending.at };
        self.observed = Some(ObservedLease { lease: Arc::new(lease), record, since: pending.at });
        (self.known, self.tried, self.problem, self.reread_at_once) =
            (LeaseKnowledge::Present, None, None, false);
        self.next = now + self.config.retry_period;
    }

    /// Handles a rejected write. A leader re-reads at once, but only once in a row: another client
    /// may write continuously.
    fn refused(&mut self, now: Instant, pending: PendingRequest, error: WriteError) {
        let there_is_another = matches!(
            error,
            WriteError::Conflict(_) | WriteError::NotFound | WriteError::AlreadyExists { .. }
        );
        let leads = matches!(self.role, Role::Leading { .. });
        self.failed(now, pending, ElectionProblem::Write(error));
        if leads && there_is_another && !self.reread_at_once {
            (self.reread_at_once, self.next) = (true, now);
        }
    }

    fn failed(&mut self, now: Instant, pending: PendingRequest, problem: ElectionProblem) {
        self.retry_later(now);
        if matches!(self.role, Role::Leading { .. }) {
            // Without the jitter of candidates: the renew deadline does not wait.
            self.next = now.max(pending.at + self.config.retry_period);
        }
        self.counts.failed += 1;
        self.problem = Some(problem);
    }
}

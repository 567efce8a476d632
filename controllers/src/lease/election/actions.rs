//! Chooses the next action of an election: acquire, renew, read, release or wait.

use std::time::Instant;

use jiff::Timestamp;
use machinery_objects::{Object, ResourceVersion};

use super::messages::{Action, ElectionProblem, ElectionTime};
use super::step::{AttemptedWrite, Election, LeaseKnowledge, PendingRequest, RequestKind, Role};
use crate::lease::Lease;
use crate::lease::record::LeaseRecord;

impl Election {
    pub(super) fn next_action(&mut self, now: ElectionTime) -> Action {
        let leads = matches!(self.role, Role::Leading { .. });
        if let Some(until) = self.leaving {
            let is_reading = self.pending.is_some_and(|pending| pending.kind == RequestKind::Read);
            if until <= now.at || !leads && (self.pending.is_none() || is_reading) {
                return Action::Stop;
            }
        }
        if self.pending.is_some() {
            return Action::AwaitResponse;
        }
        // A resigning candidate waits only after a failure.
        let waits = now.at < self.next && (self.leaving.is_none() || self.problem.is_some());
        // No candidacy before the work of the lost term has ended: two terms would overlap.
        if waits || self.role == Role::Lost {
            return Action::Sleep;
        }
        match (self.known, self.observed.as_ref().map(|observed| observed.lease.clone())) {
            (LeaseKnowledge::Present, Some(lease)) if leads && self.is_leaving() => self.release(now, &lease),
            (LeaseKnowledge::Present, Some(lease)) if leads => self.renew(now, RequestKind::Renew, &lease),
            (LeaseKnowledge::Present, Some(lease)) => self.take(now, &lease),
            (LeaseKnowledge::Absent, _) => {
                let record = self.new_record(now, 0);
                let record = self.attempt_record(None, record);
                self.begin_request(now.at, RequestKind::Take);
                Action::Create(Lease::new(&self.config.lease).with(&record))
            }
            _ => {
                self.begin_request(now.at, RequestKind::Read);
                Action::Read
            }
        }
    }

    /// Acquires a Lease that is free or expired; continues an own acquisition with a lost
    /// response.
    fn take(&mut self, now: ElectionTime, lease: &Lease) -> Action {
        let record = lease.record();
        let duration = record.duration().unwrap_or(self.config.lease_duration);
        // Since the local observation: times in the Lease are those of another clock.
        let since = self.observed.as_ref().map(|observed| observed.since);
        let is_over = since.and_then(|since| since.checked_add(duration)).is_some_and(|end| end <= now.at);
        // By the record, not the identity: two candidates may be configured with one name.
        let is_own = self.tried.as_ref().is_some_and(|tried| tried.record == record);
        // A Lease that is being deleted gives no term: every fence on it fails.
        if lease.is_deleting() || !(is_own || is_over || record.is_free()) {
            self.retry_later(now.at);
            return Action::Sleep;
        }
        if is_own {
            return self.renew(now, RequestKind::Take, lease);
        }
        // Unlike client-go also over its own name: writes of its earlier term have to be refused.
        let Some(epoch) = record.next_epoch() else {
            self.problem = Some(ElectionProblem::Uncountable);
            self.retry_later(now.at);
            return Action::Sleep;
        };
        let record = self.new_record(now, epoch);
        self.update(now.at, RequestKind::Take, lease, record)
    }

    fn new_record(&mut self, now: ElectionTime, epoch: u64) -> LeaseRecord {
        // Times advance steadily within one term only; a new term starts from the wall clock.
        self.last_stamp = None;
        let wall = self.stamp(now);
        LeaseRecord::held(&self.config.identity, self.config.lease_duration, epoch, wall)
    }

    fn renew(&mut self, now: ElectionTime, kind: RequestKind, lease: &Lease) -> Action {
        let wall = self.stamp(now);
        let record = lease.record().renewed(self.config.lease_duration, wall);
        self.update(now.at, kind, lease, record)
    }

    fn release(&mut self, now: ElectionTime, lease: &Lease) -> Action {
        let record = lease.record().released(now.wall);
        self.begin_request(now.at, RequestKind::Release);
        Action::Update(lease.with(&record))
    }

    fn update(&mut self, now: Instant, kind: RequestKind, lease: &Lease, record: LeaseRecord) -> Action {
        let record = self.attempt_record(lease.version(), record);
        self.begin_request(now, kind);
        Action::Update(lease.with(&record))
    }

    /// Returns the renew time to write. Observers detect a renewal by it, client-go in whole
    /// seconds: so within a term it advances with the monotonic clock, even if the wall clock
    /// stands still or is set back.
    fn stamp(&mut self, now: ElectionTime) -> Timestamp {
        let least = self
            .last_stamp
            .and_then(|(at, wall)| wall.checked_add(now.at.saturating_duration_since(at)).ok());
        let wall = least.map_or(now.wall, |least| least.max(now.wall));
        self.last_stamp = Some((now.at, wall));
        wall
    }

    /// Repeats the same record over one version, so that the candidate recognises its own write
    /// after a lost response.
    fn attempt_record(&mut self, over: Option<ResourceVersion>, record: LeaseRecord) -> LeaseRecord {
        if let Some(tried) = self.tried.as_ref().filter(|tried| tried.over == over) {
            return tried.record.clone();
        }
        self.tried = Some(AttemptedWrite { over, record: record.clone() });
        record
    }

    fn begin_request(&mut self, at: Instant, kind: RequestKind) {
        self.pending = Some(PendingRequest { kind, at });
    }
}

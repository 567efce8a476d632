//! What is to be asked next.

use std::time::Instant;

use jiff::Timestamp;
use machinery_objects::{Object, ResourceVersion};

use super::says::{Now, Order, Trouble};
use super::step::{Asked, Election, Known, Role, Tried, What};
use crate::lease::Lease;
use crate::lease::record::Record;

impl Election {
    pub(super) fn order(&mut self, now: Now) -> Order {
        let leads = matches!(self.role, Role::Leading { .. });
        if let Some(until) = self.leaving {
            let is_reading = self.asked.is_some_and(|asked| asked.what == What::Read);
            if until <= now.at || !leads && (self.asked.is_none() || is_reading) {
                return Order::End;
            }
        }
        if self.asked.is_some() {
            return Order::Await;
        }
        // Who leaves waits for nothing but after a failure.
        let waits = now.at < self.next && (self.leaving.is_none() || self.trouble.is_some());
        if waits || self.role == Role::Lost {
            return Order::Rest;
        }
        match (self.known, self.sight.as_ref().map(|sight| sight.lease.clone())) {
            (Known::There, Some(lease)) if leads && self.is_leaving() => self.release(now, &lease),
            (Known::There, Some(lease)) if leads => self.renew(now, What::Renew, &lease),
            (Known::There, Some(lease)) => self.take(now, &lease),
            (Known::NotThere, _) => {
                let record = self.held(now, 0);
                let record = self.trying(None, record);
                self.ask(now.at, What::Take);
                Order::Create(Lease::new(&self.config.lease).with(&record))
            }
            _ => {
                self.ask(now.at, What::Read);
                Order::Read
            }
        }
    }

    /// Takes what is free, or seems to be; what it tried to take before, and is stored, it takes in the same turn.
    fn take(&mut self, now: Now, lease: &Lease) -> Order {
        let record = lease.record();
        let lasts = record.lasts().unwrap_or(self.config.lease_duration);
        let since = self.sight.as_ref().map(|sight| sight.since);
        let is_over = since.and_then(|since| since.checked_add(lasts)).is_some_and(|end| end <= now.at);
        let is_own = self.tried.as_ref().is_some_and(|tried| tried.record == record);
        if lease.is_deleting() || !(is_own || is_over || record.is_free()) {
            self.later(now.at);
            return Order::Rest;
        }
        if is_own {
            return self.renew(now, What::Take, lease);
        }
        let Some(epoch) = record.next_epoch() else {
            self.trouble = Some(Trouble::Uncountable);
            self.later(now.at);
            return Order::Rest;
        };
        let record = self.held(now, epoch);
        self.update(now.at, What::Take, lease, record)
    }

    fn held(&mut self, now: Now, epoch: u64) -> Record {
        self.stamped = None;
        let wall = self.stamp(now);
        Record::held(&self.config.identity, self.config.lease_duration, epoch, wall)
    }

    fn renew(&mut self, now: Now, what: What, lease: &Lease) -> Order {
        let wall = self.stamp(now);
        let record = lease.record().renewed(self.config.lease_duration, wall);
        self.update(now.at, what, lease, record)
    }

    fn release(&mut self, now: Now, lease: &Lease) -> Order {
        let record = lease.record().released(now.wall);
        self.ask(now.at, What::Release);
        Order::Update(lease.with(&record))
    }

    fn update(&mut self, now: Instant, what: What, lease: &Lease, record: Record) -> Order {
        let record = self.trying(lease.version(), record);
        self.ask(now, what);
        Order::Update(lease.with(&record))
    }

    /// The time to write. Others see a renewal by it, and client-go by its whole seconds: so within a term it goes on as time does, if
    /// the clock on the wall stands still, or is set back to where it has been.
    fn stamp(&mut self, now: Now) -> Timestamp {
        let least =
            self.stamped.and_then(|(at, wall)| wall.checked_add(now.at.saturating_duration_since(at)).ok());
        let wall = least.map_or(now.wall, |least| least.max(now.wall));
        self.stamped = Some((now.at, wall));
        wall
    }

    /// Over one version it always writes the same, so that it knows its own when it sees it.
    fn trying(&mut self, over: Option<ResourceVersion>, record: Record) -> Record {
        if let Some(tried) = self.tried.as_ref().filter(|tried| tried.over == over) {
            return tried.record.clone();
        }
        self.tried = Some(Tried { over, record: record.clone() });
        record
    }

    fn ask(&mut self, at: Instant, what: What) {
        self.asked = Some(Asked { what, at });
    }
}

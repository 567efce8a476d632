//! Table-like tests of the election state machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinery_objects::{Conflict, ListError, Object, SourceError, WriteError};
use serde_json::{Value, json};

use super::messages::{Action, ElectionProblem, ElectionTime, Input, LeadershipChange};
use super::step::Election;
use crate::lease::{ElectionConfig, ElectionCounts, Lease};

mod candidate;
mod leader;
mod malformed;
mod resign;

/// A candidate `me` with the default timing, and the current time.
struct ElectionHarness {
    election: Election,
    begin: Instant,
    at: f64,
    /// Value of a stopped wall clock.
    fixed_wall_clock: Option<f64>,
    wrote: Option<Lease>,
}

impl ElectionHarness {
    fn new() -> Self {
        let begin = tokio::time::Instant::now().into_std();
        let config = ElectionConfig::new("n/x".parse().unwrap(), "me", 7);
        Self {
            election: Election::new(config, ElectionCounts::default(), begin),
            begin,
            at: 0.0,
            fixed_wall_clock: None,
            wrote: None,
        }
    }

    /// A candidate that created the Lease as version 1 and leads since 0.
    fn leading() -> Self {
        let mut harness = Self::new();
        harness.step(Input::Tick, "read");
        harness.step(Input::Read(Ok(None)), "create me 0, acquired 0, renewed 0");
        harness.stored(1, "leads 0; rest until 2");
        harness
    }

    /// Performs a step and compares its output.
    #[track_caller]
    fn step(&mut self, input: Input, expected: &str) {
        let since = Duration::from_secs_f64(self.at);
        let wall = self.fixed_wall_clock.unwrap_or(self.at);
        let off = Duration::from_secs_f64(wall.abs());
        let wall = if wall < 0.0 { Timestamp::UNIX_EPOCH - off } else { Timestamp::UNIX_EPOCH + off };
        let output = self.election.step(ElectionTime { at: self.begin + since, wall }, input);
        let change = output.change.map(|change| match change {
            LeadershipChange::Acquired { uid, epoch } => {
                assert_eq!(uid.as_str(), "u");
                format!("leads {epoch}; ")
            }
            LeadershipChange::Lost(why) => format!("lost {why:?}; ").to_lowercase(),
        });
        let due = self.election.due().map_or("ever".into(), |due| {
            let due = (due - self.begin).as_secs_f64();
            if due == due.trunc() || self.at > 900.0 { format!("{due}") } else { "later".into() }
        });
        let action = match &output.action {
            Action::AwaitResponse => "await".into(),
            Action::Sleep => format!("rest until {due}"),
            Action::Read => "read".into(),
            Action::Create(lease) => format!("create {}", describe(lease)),
            Action::Update(lease) => format!("write over {}: {}", lease.version().unwrap(), describe(lease)),
            Action::Stop => "end".into(),
        };
        if let Action::Create(lease) | Action::Update(lease) = output.action {
            self.wrote = Some(lease);
        }
        assert_eq!(change.unwrap_or_default() + &action, expected, "at {}", self.at);
    }

    #[track_caller]
    fn at(&mut self, at: f64, input: Input, expected: &str) {
        self.at = at;
        self.step(input, expected);
    }

    /// Acknowledges the last write with this version.
    #[track_caller]
    fn stored(&mut self, version: u32, expected: &str) {
        let lease = stored(self.wrote.as_ref().unwrap(), version);
        self.step(Input::Wrote(Ok(lease)), expected);
    }

    /// Delivers a read of its own last write, at this version.
    #[track_caller]
    fn finds_own(&mut self, version: u32, expected: &str) {
        let lease = stored(self.wrote.as_ref().unwrap(), version);
        self.step(found(lease), expected);
    }

    /// Advances to the next due time, expects a read, and delivers this Lease.
    #[track_caller]
    fn reads_when_due(&mut self, lease: Lease, expected: &str) {
        let due = self.election.due().unwrap() - self.begin;
        self.at(due.as_secs_f64().max(self.at), Input::Tick, "read");
        self.step(found(lease), expected);
    }
}

fn describe(lease: &Lease) -> String {
    let record = lease.record();
    let seconds = |text: &str| {
        let (minutes, seconds) = (text[14..16].parse::<u32>().unwrap(), text[17..19].parse::<u32>().unwrap());
        minutes * 60 + seconds
    };
    let [acquired, renewed] = [record.acquired(), record.renewed_at()].map(|text| seconds(text.unwrap()));
    let duration = if record.holder().is_none() { 1 } else { 15 };
    assert_eq!(record.duration(), Some(Duration::from_secs(duration)));
    let holder = record.holder().unwrap_or("nobody");
    format!("{holder} {}, acquired {acquired}, renewed {renewed}", record.epoch().unwrap())
}

fn stored(lease: &Lease, version: u32) -> Lease {
    let mut value = serde_json::to_value(lease).unwrap();
    value["metadata"]["resourceVersion"] = version.to_string().into();
    value["metadata"]["uid"] = "u".into();
    serde_json::from_value(value).unwrap()
}

fn of(version: u32, spec: Value) -> Lease {
    let metadata = json!({"name": "x", "namespace": "n", "uid": "u", "resourceVersion": version.to_string()});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

/// A Lease held by `other` with six transitions; its clock is years off.
fn others(version: u32, renewal: u32) -> Lease {
    held("other", version, renewal)
}

fn held(by: &str, version: u32, renewal: u32) -> Lease {
    let renewed = format!("2001-01-01T00:00:00.{renewal:06}Z");
    let spec = json!({
        "holderIdentity": by, "leaseDurationSeconds": 15, "leaseTransitions": 6, "acquireTime": "2001-01-01T00:00:00.000000Z",
        "renewTime": renewed,
    });
    of(version, spec)
}

fn with(lease: &Lease, pointer: &str, value: Value) -> Lease {
    let mut whole = serde_json::to_value(lease).unwrap();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    whole.pointer_mut(parent).unwrap()[field] = value;
    serde_json::from_value(whole).unwrap()
}

fn found(lease: Lease) -> Input {
    Input::Read(Ok(Some(Arc::new(lease))))
}

fn refused() -> Input {
    Input::Wrote(Err(WriteError::Conflict(Conflict::Version { found: None })))
}

fn lost() -> Input {
    Input::Wrote(Err(WriteError::UnknownOutcome { reason: "reset".into() }))
}

fn no_answer() -> Input {
    Input::Read(Err(ListError::Source(SourceError::TimedOut)))
}

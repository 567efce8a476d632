//! Type-erased view of a controller, for metrics and diagnostics.

use std::sync::{Arc, Weak};
use std::time::Duration;

use machinery_objects::{WriteOutcome, WriteToken};
use machinery_workqueue::{Causes, KeyState};
use serde_json::{Value, json};

use super::handle::{Controller, Inner};
use super::{Counts, Explanation, Phase};
use crate::{Request, WriteFight};

/// A controller without type parameters, for diagnostics. It holds a weak reference.
#[derive(Clone)]
pub struct ControllerDiagnostics(Weak<dyn ObservedController>);

/// Type-erased access to a controller.
pub(crate) trait ObservedController: Send + Sync {
    #[cfg(feature = "prometheus")]
    fn sample(&self, queues: &machinery_workqueue::Metrics) -> ControllerSample;
    fn name(&self) -> &str;
    fn overview(self: Arc<Self>) -> Value;
    fn sources(&self) -> Vec<String>;
    fn keys(&self, limit: usize) -> Vec<String>;
    fn explain(self: Arc<Self>, key: &str) -> Option<Value>;
}

/// Sample of the values that metrics export.
#[cfg(feature = "prometheus")]
pub(crate) struct ControllerSample {
    pub(crate) phase: Phase,
    pub(crate) counts: Counts,
    pub(crate) workers: usize,
    pub(crate) running: usize,
    pub(crate) stuck: usize,
    pub(crate) fights_began: u64,
    pub(crate) fights: Vec<WriteFight>,
}

impl<K: Request, S: Send + Sync + 'static> Controller<K, S> {
    /// Returns a type-erased handle for diagnostics.
    #[must_use]
    pub fn diagnostics(&self) -> ControllerDiagnostics {
        ControllerDiagnostics(self.observe())
    }

    pub(crate) fn observe(&self) -> Weak<dyn ObservedController> {
        let inner: Arc<dyn ObservedController> = self.0.clone();
        Arc::downgrade(&inner)
    }
}

impl ControllerDiagnostics {
    /// Returns the name of the controller; `None` once the controller was dropped.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        Some(self.0.upgrade()?.name().to_owned())
    }

    /// Returns the state as JSON: phase, counts, active runs, queue. `None` once the controller was
    /// dropped.
    #[must_use]
    pub fn overview(&self) -> Option<Value> {
        Some(self.0.upgrade()?.overview())
    }

    /// Returns the names of the sources; none once the controller was dropped.
    #[must_use]
    pub fn sources(&self) -> Vec<String> {
        self.0.upgrade().map(|controller| controller.sources()).unwrap_or_default()
    }

    /// Returns the keys that ran last as text, at most `limit`; none once the controller was
    /// dropped.
    #[must_use]
    pub fn keys(&self, limit: usize) -> Vec<String> {
        self.0.upgrade().map(|controller| controller.keys(limit)).unwrap_or_default()
    }

    /// Returns the JSON explanation of a key given as text: last run with causes and outcome,
    /// pending writes, next run. `None` if the key is unknown or the controller was dropped.
    #[must_use]
    pub fn explain(&self, key: &str) -> Option<Value> {
        self.0.upgrade()?.explain(key)
    }
}

impl<K: Request, S: Send + Sync + 'static> ObservedController for Inner<K, S> {
    #[cfg(feature = "prometheus")]
    fn sample(&self, queues: &machinery_workqueue::Metrics) -> ControllerSample {
        let (phase, queue) = {
            let now = self.lifecycle.lock();
            (now.phase, now.queue.clone())
        };
        if let Some(queue) = queue {
            // A duplicate name was rejected when the controller was registered.
            let _ = queues.watch(&*self.spec.name, &queue);
        }
        let busy = || self.workers.iter().map(|worker| worker.lock().first().map(|busy| busy.is_stuck));
        ControllerSample {
            phase,
            counts: self.counters.counts(),
            workers: self.workers.len(),
            running: busy().flatten().count(),
            stuck: busy().flatten().filter(|is_stuck| *is_stuck).count(),
            fights_began: self.fights.began(),
            fights: self.fights.going_on().into_iter().map(|(_, fight)| fight).collect(),
        }
    }

    fn name(&self) -> &str {
        &self.spec.name
    }

    fn sources(&self) -> Vec<String> {
        self.spec.sources.iter().map(|source| source.name().to_string()).collect()
    }

    fn keys(&self, limit: usize) -> Vec<String> {
        // Formatted outside of the lock that workers take.
        let keys = self.records.lock().recent(limit);
        keys.into_iter().map(|key| key.to_string()).collect()
    }

    fn overview(self: Arc<Self>) -> Value {
        let workers = self.workers.len();
        let fights: Vec<_> = self.fights.going_on().iter().map(|(_, of)| fight(of)).collect();
        let state = Controller(self).state();
        let Counts { done, after, absent, failed, panicked, timed_out, dropped, .. } = state.counts;
        let running = state.running.iter().map(|running| {
            json!({ "object": running.key.to_string(), "seconds": seconds(running.time), "stuck": running.is_stuck })
        });
        json!({
            "phase": phase(state.phase),
            "workers": workers,
            "waitsFor": state.waits_for,
            "running": running.collect::<Vec<_>>(),
            "runs": {
                "done": done, "after": after, "absent": absent, "failed": failed, "panicked": panicked,
                "timedOut": timed_out, "dropped": dropped,
            },
            "stuck": state.counts.stuck,
            "impatient": state.counts.cache_timeouts,
            "sourcePanics": state.counts.source_panics,
            "untraced": state.counts.untraced,
            "ownEvents": state.counts.own_events,
            "writeFights": fights,
            "queue": state.queue.map(|queue| json!({
                "ready": queue.ready, "delayed": queue.delayed, "out": queue.in_flight, "held": queue.held,
                "retries": queue.retries,
            })),
        })
    }

    fn explain(self: Arc<Self>, text: &str) -> Option<Value> {
        let key = match self.spec.parse_key {
            Some(parse_key) => parse_key(text)?,
            None => self.find(text)?,
        };
        let Explanation { last, queued, running, held, fights } = Controller(self).explain(&key);
        if last.is_none() && queued.is_none() && running.is_none() && held.is_none() {
            return None;
        }
        let last = last.map(|last| {
            json!({
                "secondsAgo": seconds(last.began.elapsed()),
                "took": seconds(last.took),
                "attempt": last.attempts,
                "causes": causes(&last.causes),
                "result": last.outcome.name(),
                "says": last.outcome.to_string(),
                "runs": last.runs,
            })
        });
        let (next, causes_of_next) = match queued.as_ref().map(|seen| (seen.state, &seen.causes)) {
            Some((KeyState::Ready, why)) => (Some(0.0), causes(why)),
            Some((KeyState::Delayed { next }, why)) => (Some(seconds(next)), causes(why)),
            Some((KeyState::InFlight { rerun }, _)) => (rerun.map(seconds), Vec::new()),
            None => (None, Vec::new()),
        };
        Some(json!({
            "object": text,
            "last": last,
            "runningSeconds": running.map(seconds),
            "held": held.map(|held| json!({
                "seconds": seconds(held.time),
                "writes": held.writes.iter().map(write).collect::<Vec<_>>(),
            })),
            "writeFights": fights.iter().map(fight).collect::<Vec<_>>(),
            "failuresInARow": queued.map_or(0, |seen| seen.attempts),
            "nextInSeconds": next,
            "nextCauses": causes_of_next,
        }))
    }
}

impl<K: Request, S> Inner<K, S> {
    /// Returns the known key with this textual form.
    fn find(&self, text: &str) -> Option<K> {
        // Keys are formatted outside of the locks that workers take.
        let known = self.records.lock().keys();
        let held = self.held.lock().keys().cloned().collect::<Vec<_>>();
        let key = known.into_iter().chain(held).find(|key| key.to_string() == text);
        let queue = self.lifecycle.lock().queue.clone();
        key.or_else(|| queue?.list().into_iter().map(|seen| seen.key).find(|key| key.to_string() == text))
    }
}

fn write(token: &WriteToken) -> String {
    match &token.wrote {
        WriteOutcome::Stored(version) | WriteOutcome::Observed(version) => {
            format!("{} at {version}", token.key)
        }
        WriteOutcome::Removed(_) => format!("that {} is gone", token.key),
    }
}

fn fight(fight: &WriteFight) -> Value {
    json!({
        "object": fight.object.as_str(),
        "field": fight.field,
        "manager": fight.manager,
        "perSecond": (fight.per_second * 1e3).round() / 1e3,
        "delaySeconds": seconds(fight.delay),
    })
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

fn causes(causes: &Causes) -> Vec<String> {
    causes.iter().map(|(cause, times)| format!("{} {} (×{times})", cause.name(), cause.detail())).collect()
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Syncing => "syncing",
        Phase::Working => "working",
        Phase::Draining => "draining",
    }
}

impl std::fmt::Debug for ControllerDiagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ControllerDiagnostics").field(&self.name()).finish()
    }
}

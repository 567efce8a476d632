//! Diagnostics of each component as JSON. Field names are API.

use std::time::Duration;

use machinery_controllers::{
    ElectionPhase, Elector, LockKey, NameLocks, Owner, Recorder, SilenceCounts, SilenceDetector,
};
use machinery_informers::deliver::Lag;
use machinery_informers::{Informer, KeyedInformers, SelectorKey};
use machinery_objects::{Object, Unreadable};
use serde_json::{Value, json};

pub(super) fn informer<T: Object>(informer: &Informer<T>) -> Value {
    let state = informer.state();
    with_lag(
        json!({
            "synced": state.synced,
            "closed": state.closed,
            "objects": state.objects,
            "trouble": state.trouble.map(|trouble| trouble.to_string()),
            "silentSeconds": state.silent_for.as_secs_f64(),
            "unreadable": texts(&state.unreadable),
            "handlers": state.handlers,
            "lists": state.counts.lists,
            "watches": state.counts.watches,
            "events": state.counts.events,
        }),
        &state.lag,
    )
}

pub(super) fn keyed<F: SelectorKey, T: Object>(informers: &KeyedInformers<F, T>) -> Value {
    let state = informers.state();
    with_lag(
        json!({
            "keys": state.keys,
            "complete": state.complete,
            "interests": state.interests,
            "objects": state.names,
            "streams": state.streams,
            "troubled": state.troubled,
            "trouble": state.trouble.map(|trouble| trouble.to_string()),
            "silentSeconds": state.silent_for.map(|time| time.as_secs_f64()),
            "unreadable": texts(&state.unreadable),
            "handlers": state.handlers,
        }),
        &state.lag,
    )
}

fn with_lag(mut value: Value, lag: &Lag) -> Value {
    value["handlerDue"] = lag.due.into();
    value["handlerLagSeconds"] = lag.waiting.as_secs_f64().into();
    value
}

fn texts(unreadable: &[Unreadable]) -> Vec<String> {
    unreadable.iter().map(ToString::to_string).collect()
}

pub(super) fn elector(elector: &Elector) -> Value {
    let state = elector.state();
    let phase = match state.phase {
        ElectionPhase::Candidate => "standing",
        ElectionPhase::Leading => "leading",
        ElectionPhase::Stopping => "ending",
        _ => "idle",
    };
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    json!({
        "identity": elector.config().identity,
        "phase": phase,
        "leads": state.phase == ElectionPhase::Leading,
        "holder": state.holder,
        "acquired": state.acquired,
        "epoch": state.epoch,
        "unchangedSeconds": seconds(state.unchanged),
        "renewedSeconds": seconds(state.renewed),
        "trouble": state.problem,
        "terms": state.counts.terms,
        "lost": state.counts.lost,
        "written": state.counts.written,
        "failed": state.counts.failed,
    })
}

pub(super) fn locks<N: LockKey, L: Object>(locks: &NameLocks<N, L>) -> Value {
    let (informer, counts) = (locks.informer().state(), locks.counts());
    json!({
        "synced": informer.synced,
        "trouble": informer.trouble.map(|trouble| trouble.to_string()),
        "held": informer.objects,
        "waiters": locks.waiters().len(),
        "notifiesWaiters": locks.notifies_waiters(),
        "claims": { "held": counts.held, "taken": counts.taken, "failed": counts.failed },
        "released": counts.released,
        "wakes": counts.wakes,
    })
}

pub(super) fn recorder(recorder: &Recorder) -> Value {
    let counts = recorder.counts();
    json!({
        "written": counts.written,
        "aggregated": counts.aggregated,
        "spared": counts.rate_limited,
        "noRoom": counts.queue_full,
        "failed": counts.failed,
    })
}

pub(super) fn silence<T: Object, O: Owner>(detector: &SilenceDetector<T, O>) -> Value {
    let SilenceCounts { awaited, overdue, detected, .. } = detector.counts();
    let silent: Vec<Value> = detector
        .silent()
        .into_iter()
        .map(|(owner, overdue)| json!({ "owner": owner.to_string(), "overdue": overdue }))
        .collect();
    json!({ "awaited": awaited, "overdue": overdue, "detected": detected, "silent": silent })
}

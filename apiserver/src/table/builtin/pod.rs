//! Columns of Pods. The status summarizes the states of the containers in one word.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{BuiltIn, Head, count, each, or, size};
use crate::table::age::elapsed;
use crate::table::age::timestamp;
use crate::table::column::name_and_age;

pub(super) static POD: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Ready", "How many containers are ready, of how many there are."),
        Head::text("Status", "What the containers say, in one word."),
        Head::text("Restarts", "How often containers were restarted, and when last."),
        Head::AGE,
        Head::wide("IP", "The first address of the pod."),
        Head::wide("Node", "The node that it runs on."),
        Head::wide("Nominated Node", "The node that is cleared for it."),
        Head::wide("Readiness Gates", "How many gates are passed, of how many there are."),
    ],
    cells: pod,
    conditions: over,
};

/// The condition of a finished pod, for its row.
fn over(pod: &Value) -> Option<Value> {
    let phase = pod["status"]["phase"].as_str().filter(|phase| matches!(*phase, "Succeeded" | "Failed"))?;
    Some(json!([{"type": "Completed", "status": "True", "reason": phase}]))
}

fn pod(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (name, age) = name_and_age(pod, now);
    let summary = Summary::of(pod);
    let restarts = match summary.restarts.last {
        Some(last) if summary.restarts.count != 0 => {
            format!("{} ({} ago)", summary.restarts.count, elapsed(last, now))
        }
        _ => summary.restarts.count.to_string(),
    };
    vec![
        name,
        format!("{}/{}", summary.ready, summary.containers).into(),
        summary.reason.into(),
        restarts.into(),
        age,
        or(&pod["status"]["podIPs"][0]["ip"], "<none>"),
        or(&pod["spec"]["nodeName"], "<none>"),
        or(&pod["status"]["nominatedNodeName"], "<none>"),
        gates(pod).into(),
    ]
}

fn gates(pod: &Value) -> String {
    let gates = &pod["spec"]["readinessGates"];
    let passed = each(gates)
        .filter(|gate| {
            let condition = condition(pod, gate["conditionType"].as_str().unwrap_or_default());
            condition.is_some_and(|condition| condition["status"] == "True")
        })
        .count();
    match size(gates) {
        0 => "<none>".into(),
        all => format!("{passed}/{all}"),
    }
}

#[derive(Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count += count(&container["restartCount"]);
        let ended = container["lastState"]["terminated"]["finishedAt"].as_str().and_then(timestamp);
        self.last = self.last.max(ended);
    }
}

#[derive(Default)]
struct Summary {
    reason: String,
    ready: usize,
    containers: usize,
    restarts: Restarts,
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let mut summary =
            Self { reason: phase(pod), containers: size(&pod["spec"]["containers"]), ..Self::default() };
        summary.containers +=
            each(&pod["spec"]["initContainers"]).filter(|container| is_sidecar(container)).count();
        let (initializing, of_sidecars) = summary.initialize(pod);
        if !initializing || is_true(pod, "Initialized") {
            summary.restarts = of_sidecars;
            summary.run(pod);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            let phase = pod["status"]["phase"].as_str().unwrap_or_default();
            if pod["status"]["reason"] == "NodeLost" {
                summary.reason = "Unknown".into();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                summary.reason = "Terminating".into();
            }
        }
        summary
    }

    /// Returns whether the pod still initializes, up to the first unfinished container; and the
    /// restarts of sidecars.
    fn initialize(&mut self, pod: &Value) -> (bool, Restarts) {
        let mut of_sidecars = Restarts::default();
        let declared = &pod["spec"]["initContainers"];
        for (index, container) in each(&pod["status"]["initContainerStatuses"]).enumerate() {
            self.restarts.add(container);
            let sidecar = each(declared).any(|one| one["name"] == container["name"] && is_sidecar(one));
            if sidecar {
                of_sidecars.add(container);
            }
            let (ended, waiting) =
                (&container["state"]["terminated"], &container["state"]["waiting"]["reason"]);
            if ended.is_object() && count(&ended["exitCode"]) == 0 {
                continue;
            }
            if sidecar && container["started"] == true {
                self.ready += usize::from(container["ready"] == true);
                continue;
            }
            self.reason = match waiting.as_str() {
                _ if ended.is_object() => format!("Init:{}", end(ended)),
                Some(reason) if !reason.is_empty() && reason != "PodInitializing" => format!("Init:{reason}"),
                _ => format!("Init:{index}/{}", size(declared)),
            };
            return (true, of_sidecars);
        }
        (false, of_sidecars)
    }

    fn run(&mut self, pod: &Value) {
        let mut running = false;
        for container in each(&pod["status"]["containerStatuses"]).rev() {
            self.restarts.add(container);
            let (ended, waiting) =
                (&container["state"]["terminated"], &container["state"]["waiting"]["reason"]);
            match waiting.as_str() {
                Some(reason) if !reason.is_empty() => self.reason = reason.into(),
                _ if ended.is_object() => self.reason = end(ended),
                _ if container["ready"] == true && container["state"]["running"].is_object() => {
                    running = true;
                    self.ready += 1;
                }
                _ => {}
            }
        }
        // Some are done while others still run.
        if self.reason == "Completed" && running {
            self.reason = if is_true(pod, "Ready") { "Running" } else { "NotReady" }.into();
        }
    }
}

/// The phase, or a better reason.
fn phase(pod: &Value) -> String {
    let status = &pod["status"];
    let gated =
        condition(pod, "PodScheduled").is_some_and(|condition| condition["reason"] == "SchedulingGated");
    match status["reason"].as_str() {
        _ if gated => "SchedulingGated".into(),
        Some(reason) if !reason.is_empty() => reason.into(),
        _ => status["phase"].as_str().unwrap_or_default().into(),
    }
}

/// Returns the reason of a terminated container, or else its signal or exit code.
fn end(ended: &Value) -> String {
    match (ended["reason"].as_str().unwrap_or_default(), count(&ended["signal"])) {
        ("", 0) => format!("ExitCode:{}", count(&ended["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.into(),
    }
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    each(&pod["status"]["conditions"]).find(|condition| condition["type"] == kind)
}

fn is_true(pod: &Value, kind: &str) -> bool {
    condition(pod, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Returns whether an init container is a sidecar: it starts with them, and continues.
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

//! Columns of Jobs and CronJobs.

use jiff::Timestamp;
use serde_json::Value;

use super::workload::{containers, selector};
use super::{BuiltIn, Head, count, each, nothing_more, or, size};
use crate::table::age::{age, elapsed, timestamp};
use crate::table::column::name_and_age;

const CONTAINERS: Head = Head::wide("Containers", "The names of the containers.");
const IMAGES: Head = Head::wide("Images", "The images of the containers.");
const SELECTOR: Head = Head::wide("Selector", "The labels of its pods.");

pub(super) static JOB: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Status", "Whether it is running, complete or failed."),
        Head::text("Completions", "How many pods have succeeded, of how many wanted."),
        Head::text("Duration", "How long it has run."),
        Head::AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |job, now| {
        let ((name, age), spec) = (name_and_age(job, now), &job["spec"]);
        let [names, images] = containers(&spec["template"]);
        let selector = shown(selector(&spec["selector"]));
        vec![
            name,
            state(job).into(),
            completions(job).into(),
            duration(job, now).into(),
            age,
            names,
            images,
            selector,
        ]
    },
    conditions: nothing_more,
};

pub(super) static CRON_JOB: BuiltIn = BuiltIn {
    heads: &[
        Head::NAME,
        Head::text("Schedule", "When it runs."),
        Head::text("Timezone", "The time zone of the schedule."),
        Head::of("Suspend", "boolean", "Whether it is suspended."),
        Head::of("Active", "integer", "How many of its jobs are running."),
        Head::text("Last Schedule", "When it was last due."),
        Head::AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |job, now| {
        let ((name, created), spec, status) = (name_and_age(job, now), &job["spec"], &job["status"]);
        let last = status["lastScheduleTime"].as_str();
        let last = last.map_or_else(|| "<none>".to_owned(), |last| age(Some(last), now));
        let suspended = match spec["suspend"].as_bool() {
            Some(true) => "True",
            Some(false) => "False",
            None => "<unset>",
        };
        let template = &spec["jobTemplate"]["spec"];
        let [names, images] = containers(&template["template"]);
        vec![
            name,
            or(&spec["schedule"], ""),
            or(&spec["timeZone"], "<none>"),
            suspended.into(),
            size(&status["active"]).into(),
            last.into(),
            created,
            names,
            images,
            shown(selector(&template["selector"])),
        ]
    },
    conditions: nothing_more,
};

fn shown(selector: String) -> Value {
    if selector.is_empty() { "<none>".into() } else { selector.into() }
}

fn state(job: &Value) -> &'static str {
    let has = |kind: &str| {
        each(&job["status"]["conditions"])
            .any(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if job["metadata"]["deletionTimestamp"].is_string() {
        "Terminating"
    } else {
        let later = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
        later.into_iter().find(|kind| has(kind)).unwrap_or("Running")
    }
}

fn completions(job: &Value) -> String {
    let (spec, succeeded) = (&job["spec"], count(&job["status"]["succeeded"]));
    match (spec["completions"].as_i64(), count(&spec["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn duration(job: &Value, now: Timestamp) -> String {
    let time = |field: &str| job["status"][field].as_str().and_then(timestamp);
    time("startTime").map_or_else(String::new, |begin| elapsed(begin, time("completionTime").unwrap_or(now)))
}

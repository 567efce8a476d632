//! Requests to the handlers of the original with their answers, replayed on the CNF. Each
//! deliberate difference is listed with its reason.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::*;

#[derive(Deserialize)]
struct Recording {
    nics: Vec<String>,
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
struct Scenario {
    title: String,
    requests: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    request: String,
    code: u16,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    answer: Value,
}

/// An answer that differs.
struct Different<'a> {
    recorded: &'a Recorded,
    code: u16,
    answer: &'a Value,
}

impl Different<'_> {
    fn message(&self) -> &str {
        self.answer["message"].as_str().unwrap_or_default()
    }

    fn original_message(&self) -> String {
        self.recorded.answer["message"].as_str().unwrap_or_default().replace("[428:", "[")
    }

    fn codes(&self) -> (u16, u16) {
        (self.recorded.code, self.code)
    }

    fn was_accepted(&self) -> bool {
        matches!(self.recorded.code, 200 | 201)
    }
}

/// Returns whether a reason explains an answer.
type Explains = fn(&Different<'_>) -> bool;

/// The deliberate differences: a reason, and the answers that it explains.
const DIFFERENCES: &[(&str, Explains)] = &[
    ("a missing reference is 428 in every field", |one| {
        one.codes() == (400, 428) && one.message() == one.original_message()
    }),
    ("an object in use is 409", |one| one.codes() == (400, 409) && one.message() == one.original_message()),
    ("names are unique in every collection", |one| one.was_accepted() && one.code == 409),
    ("required fields are required", |one| one.code == 400 && one.message().ends_with(": required")),
    ("a rule of the routing policy needs a source or destination", |one| {
        one.was_accepted() && one.message() == "src or dst are required for rule"
    }),
    ("a request that makes the original fail is refused", |one| {
        one.recorded.code == 500 && (400..500).contains(&one.code)
    }),
    ("the recording has no addresses of NICs", |one| {
        one.recorded.code == 500 && one.code == 201 && one.recorded.request.starts_with("POST nat/")
    }),
    ("a rule needs a policy, and not any section of its file", |one| {
        one.was_accepted() && one.code == 428 && one.message().contains("invalid policy")
    }),
    ("a mark is hexadecimal", |one| one.was_accepted() && one.message().contains("[not a number]")),
    ("a failed check without a message has one", |one| {
        one.codes() == (400, 400) && one.original_message().trim_end_matches(']').ends_with("failed: ")
    }),
    ("a list that is none is 400", |one| {
        one.codes() == (428, 400) && one.message().ends_with("[Not an array]")
    }),
    ("if_id is kept", |one| one.codes() == (201, 201) && one.answer.to_string().contains("if_id")),
    ("a refused replacement leaves the old object", |one| {
        one.codes() == (404, 200) && one.recorded.request.starts_with("GET ")
    }),
];

#[machinery::tokio::test]
async fn recorded_requests_have_the_answers_of_the_original() {
    let recording: Recording = serde_json::from_str(include_str!("../../../recorded/rest.json")).unwrap();
    let (mut compared, mut skipped, mut explained) = (0, 0, BTreeMap::<&str, usize>::new());
    let mut unexplained = Vec::new();
    for scenario in &recording.scenarios {
        let cnf = TestCnf::new().await;
        cnf.server.set_facts(DeviceFacts::of_nics(&recording.nics));
        let mut is_same = true;
        for recorded in &scenario.requests {
            if !is_same {
                // The states differ from here.
                skipped += 1;
                continue;
            }
            compared += 1;
            let (method, path) = recorded.request.split_once(' ').unwrap();
            let body = recorded.body.as_ref().map(ToString::to_string).unwrap_or_default();
            let answer = cnf.send(method.parse().unwrap(), path, body).await;
            let (code, shown) = (answer.status.as_u16(), answer.json());
            if code == recorded.code && shown == recorded.answer {
                continue;
            }
            is_same = false;
            let different = Different { recorded, code, answer: &shown };
            match DIFFERENCES.iter().find(|(_, explains)| explains(&different)) {
                Some((reason, _)) => *explained.entry(reason).or_default() += 1,
                None => unexplained.push(format!(
                    "{}: {} {:?}\n  original {} {}\n  here     {code} {shown}",
                    scenario.title, recorded.request, recorded.body, recorded.code, recorded.answer
                )),
            }
        }
    }
    println!("{compared} answers compared, {skipped} behind a difference; {explained:#?}");
    let shown: Vec<_> = unexplained.iter().take(60).cloned().collect();
    assert!(unexplained.is_empty(), "{} unexplained differences:\n{}", unexplained.len(), shown.join("\n"));
    assert!(compared >= 1500, "{compared}");
    for (reason, _) in DIFFERENCES {
        assert!(explained.contains_key(reason), "no recorded answer differs because {reason}");
    }
}

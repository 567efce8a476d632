//! Requests that compute for long: others are answered meanwhile, and the work is limited.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::process::Process;
use super::row::{ALL, BAD, CONFIG, CRDS, INVALID, JSON, REFUSED, Row};

/// Time for the work up to its limit, without optimization and beside other tests.
const LIMITED: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 6 });

/// Requests of another client during the work, at least.
const OTHERS: usize = 3;

/// Sends a row, and short requests of another client until it is answered. Returns its code and
/// message.
async fn beside_others(server: &Process, row: &Row) -> (u16, String) {
    let begun = Instant::now();
    let mut work = std::pin::pin!(server.answer(row));
    let mut times = Vec::new();
    let (code, body) = loop {
        let other = Row::get(CONFIG, REFUSED);
        let short = async {
            let begun = Instant::now();
            assert_eq!(server.send(&other).await, Some(200));
            begun.elapsed()
        };
        tokio::select! {
            biased;
            answer = &mut work => break answer.expect("an answer"),
            time = short => times.push(time),
        }
    };
    let took = begun.elapsed();
    assert!(took < LIMITED, "{took:?}: {row:?}");
    // Work that occupied a thread of the server would leave others waiting until its end.
    if took > Duration::from_secs(1) {
        times.sort();
        assert!(times.len() >= OTHERS, "{} others in {took:?}: {row:?}", times.len());
        let median = times[times.len() / 2];
        assert!(median < took / 4, "others waited {median:?} of {took:?}: {row:?}");
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    (code, message["message"].as_str().unwrap_or_default().to_owned())
}

/// Returns the definition of another kind with this schema of its spec.
fn definition(schema: &Value) -> Row {
    let mut definition = crate::client::definition();
    definition["metadata"]["name"] = "others.example.com".into();
    definition["spec"]["names"] = json!({"plural": "others", "kind": "Other"});
    definition["spec"]["versions"][0]["selectableFields"] = json!([]);
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "properties": {"spec": schema}});
    Row::post(CRDS, JSON, definition.to_string(), INVALID)
}

/// Story: a label selector of 60 KB occupied the server for seconds.
#[tokio::test]
async fn a_selector_of_60_kb_is_refused_with_the_remedy() {
    let server = Process::start().await;
    let selector = (0..6000).map(|at| format!("k{at}!%3Dv")).collect::<Vec<_>>().join(",");
    let (code, message) =
        beside_others(&server, &Row::get(format!("{ALL}?labelSelector={selector}"), BAD)).await;
    assert_eq!(code, 400);
    assert!(message.contains("6000 requirements") && message.contains("key in (a,b)"), "{message}");
}

/// Story: 300 regular expressions in a definition occupied the server for 16 s.
#[tokio::test]
async fn many_regular_expressions_in_a_definition_are_refused_with_the_remedy() {
    let server = Process::start().await;
    let patterns = |one: &dyn Fn(usize) -> Value| {
        let properties = (0..300).map(|at| (format!("p{at}"), one(at))).collect::<serde_json::Map<_, _>>();
        definition(&json!({"type": "object", "properties": properties}))
    };
    let large = |at: usize| format!("^(a{at}[b-x]{{1,30}}){{1,30}}$");
    let of_schemas = patterns(&|at| json!({"type": "string", "pattern": large(at)}));
    let of_rules = patterns(&|at| {
        let rule = format!("self.matches('{}')", large(at));
        json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": rule}]})
    });
    for row in [of_schemas, of_rules] {
        let (code, message) = beside_others(&server, &row).await;
        assert_eq!(code, 422);
        assert!(message.contains("states") && message.contains("use fewer of them"), "{message:.2000}");
    }
    let usual = patterns(&|_| json!({"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}));
    let (code, message) = beside_others(&server, &usual).await;
    assert_eq!((code, message.as_str()), (201, ""));
}

/// Story: an enum of a definition, and an object with many values of it, occupied the server for
/// 42 s.
#[tokio::test]
async fn a_long_enum_is_limited_by_the_cost_of_validation() {
    let server = Process::start().await;
    let allowed: Vec<String> = (0..40_000).map(|at| format!("value-{at}")).collect();
    let items = json!({"type": "string", "enum": allowed});
    let (code, message) =
        beside_others(&server, &definition(&json!({"type": "array", "items": items}))).await;
    assert_eq!((code, message.as_str()), (201, ""));
    let object = |values: usize, value: &str| {
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "n"}, "spec": vec![value; values],
        });
        Row::post("/apis/example.com/v1/namespaces/default/others", JSON, object.to_string(), INVALID)
    };
    let (code, message) = beside_others(&server, &object(40_000, "value-39999")).await;
    assert_eq!(code, 422);
    assert!(
        message.contains("more than 4000000 steps") && message.contains("shorter enums"),
        "{message:.500}"
    );
    // Errors end validation before its limit.
    for values in [200, 40_000] {
        let (code, message) = beside_others(&server, &object(values, "none")).await;
        assert!(code == 422 && message.contains("supported values: \"value-0\", "), "{message:.500}");
    }
    assert_eq!(beside_others(&server, &object(200, "value-39999")).await.0, 201);
}

//! The text of `machinery explain`.

use serde_json::Value;

/// Error of [`explain`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The text is not a diagnostics page.
    #[error("that is no page of a plane: {0}")]
    NoPage(String),
    /// No controller handles that kind.
    #[error(
        "no controller reconciles or watches `{0}`: /debug/machinery.json lists the controllers, and a controller of \
         requests is explained by its name and the key of a request"
    )]
    NoController(String),
}

/// Renders the page `/debug/machinery.json?kind=…&object=…` as text: last run with causes and
/// outcome, and the next run.
///
/// # Errors
/// The text is not such a page, or no controller handles the kind.
pub fn explain(kind: &str, page: &str) -> Result<String, ExplainError> {
    let all: Vec<Value> =
        serde_json::from_str(page).map_err(|error| ExplainError::NoPage(error.to_string()))?;
    if all.is_empty() {
        return Err(ExplainError::NoController(kind.to_owned()));
    }
    Ok(all.iter().map(explain_one).collect())
}

fn explain_one(one: &Value) -> String {
    if !one["watches"].is_null() {
        return explain_watcher(one);
    }
    let mut text = format!(
        "{} {}, by the controller {}\n",
        word(&one["kind"]),
        word(&one["object"]),
        word(&one["controller"])
    );
    let known = &one["known"];
    if !one["unreadable"].is_null() {
        text.push_str(&format!(
            "  cannot be decoded, and is not reconciled until it is corrected: {}\n",
            word(&one["unreadable"])
        ));
    }
    if known.is_null() {
        return text + "  it has not run here, and is not queued\n";
    }
    let mut line = |name: &str, what: String| text.push_str(&format!("  {name:<10} {what}\n"));
    let last = &known["last"];
    if last.is_null() {
        line("last run", "none that is remembered".into());
    } else {
        line("last run", format!("{} ago, took {}", time(&last["secondsAgo"]), time(&last["took"])));
        line("because", list(&last["causes"]));
        line("result", word(&last["says"]));
        line("runs", format!("{}, this one after {} failures in a row", last["runs"], last["attempt"]));
    }
    if !known["held"].is_null() {
        let (since, writes) = (time(&known["held"]["seconds"]), list(&known["held"]["writes"]));
        line("now", format!("it waits, since {since}, until what it wrote can be read: {writes}"));
    } else if !known["runningSeconds"].is_null() {
        line("now", format!("it runs, since {}", time(&known["runningSeconds"])));
    }
    for fight in known["writeFights"].as_array().into_iter().flatten() {
        let (field, manager) = (word(&fight["field"]), fight["manager"].as_str().unwrap_or("another writer"));
        let (rate, delay) = (fight["perSecond"].as_f64().unwrap_or_default(), time(&fight["delaySeconds"]));
        let object = word(&fight["object"]);
        line(
            "fight",
            format!("{manager} undoes {field} of {object}, {rate:.1} times a second; runs are {delay} apart"),
        );
    }
    let next = &known["nextInSeconds"];
    match (next.is_null(), known["failuresInARow"].as_u64().unwrap_or_default()) {
        (false, _) if !known["held"].is_null() => line("next run", "when it can be read".into()),
        (true, _) => line("next run", "when something changes".into()),
        (false, 0) => line("next run", format!("in {}: {}", time(next), list(&known["nextCauses"]))),
        (false, failures) => {
            line(
                "next run",
                format!(
                    "in {}, after {failures} failures in a row: {}",
                    time(next),
                    list(&known["nextCauses"])
                ),
            );
        }
    }
    text
}

/// Explains a controller of requests that watches the kind.
fn explain_watcher(one: &Value) -> String {
    let (name, keys) = (word(&one["controller"]), &one["keys"]);
    let keys = match keys.as_array() {
        Some(keys) if !keys.is_empty() => keys.iter().map(word).collect::<Vec<_>>().join(", "),
        _ => "none so far".into(),
    };
    format!(
        "the controller {name} watches {} and reconciles requests\n  requests   {keys}\n  next       machinery explain \
         {name} REQUEST\n",
        word(&one["watches"])
    )
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn list(value: &Value) -> String {
    let all: Vec<String> = value.as_array().into_iter().flatten().map(word).collect();
    if all.is_empty() { "nobody gave a reason".into() } else { all.join(", ") }
}

fn time(value: &Value) -> String {
    match value.as_f64() {
        None => "some time".into(),
        Some(seconds) if seconds < 0.001 => format!("{:.0} µs", seconds * 1e6),
        Some(seconds) if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        Some(seconds) if seconds < 120.0 => format!("{seconds:.1} s"),
        Some(seconds) => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_failure_is_explained_in_words() {
        let page = json!([{
            "controller": "hosts", "kind": "hosts.example.com", "object": "default/db-0",
            "known": {
                "object": "default/db-0", "runningSeconds": null, "failuresInARow": 3, "nextInSeconds": 12.34,
                "nextCauses": ["retry 3 (×1)"],
                "last": {
                    "secondsAgo": 8.0, "took": 0.0021, "attempt": 2, "causes": ["hosts updated 41 (×2)", "retry 2 (×1)"],
                    "result": "failed", "says": "no port is free", "runs": 7,
                },
            },
        }]);
        let expected = "hosts.example.com default/db-0, by the controller hosts\n\
            \x20 last run   8.0 s ago, took 2 ms\n\
            \x20 because    hosts updated 41 (×2), retry 2 (×1)\n\
            \x20 result     no port is free\n\
            \x20 runs       7, this one after 2 failures in a row\n\
            \x20 next run   in 12.3 s, after 3 failures in a row: retry 3 (×1)\n";
        assert_eq!(explain("hosts", &page.to_string()).unwrap(), expected);
    }

    #[test]
    fn a_held_key_explains_its_pending_writes() {
        let page = json!([{
            "controller": "hosts", "kind": "hosts.example.com", "object": "default/db-0",
            "known": {
                "object": "default/db-0", "runningSeconds": null, "failuresInARow": 0, "nextInSeconds": 0.0, "nextCauses": [],
                "held": { "seconds": 2.0, "writes": ["default/db-0 at 41", "that default/a is gone"] },
                "last": {
                    "secondsAgo": 2.5, "took": 0.5, "attempt": 0, "causes": ["hosts added 40 (×1)"], "result": "done", "says": "done",
                    "runs": 1,
                },
            },
        }]);
        let text = explain("hosts", &page.to_string()).unwrap();
        let end = "now        it waits, since 2.0 s, until what it wrote can be read: default/db-0 at 41, that default/a is gone\n\
            \x20 next run   when it can be read\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_write_fight_is_explained_with_field_manager_and_rate() {
        let fight = json!({
            "object": "default/db-0", "field": "status.address", "manager": "kubectl", "perSecond": 12.34, "delaySeconds": 0.8,
        });
        let page = json!([{
            "controller": "hosts", "kind": "hosts.example.com", "object": "default/db-0",
            "known": {
                "object": "default/db-0", "runningSeconds": null, "held": null, "failuresInARow": 0, "nextInSeconds": null,
                "nextCauses": [], "last": null, "writeFights": [fight],
            },
        }]);
        let text = explain("hosts", &page.to_string()).unwrap();
        let line = "  fight      kubectl undoes status.address of default/db-0, 12.3 times a second; runs are 800 ms apart\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn an_object_that_cannot_be_decoded_is_explained() {
        let page = json!([{
            "controller": "hosts", "kind": "hosts.example.com", "object": "a/b", "known": null,
            "unreadable": "spec.rack is no number",
        }]);
        let text = explain("hosts", &page.to_string()).unwrap();
        assert!(text.contains("is not reconciled until it is corrected: spec.rack is no number\n"), "{text}");
    }

    #[test]
    fn a_controller_of_requests_that_watches_the_kind_is_named() {
        let page = |keys: Value| json!([{ "controller": "racks", "kind": "requests", "watches": "hosts", "keys": keys }]);
        let text = explain("hosts", &page(json!(["17", "18"])).to_string()).unwrap();
        let expected = "the controller racks watches hosts and reconciles requests\n\
            \x20 requests   17, 18\n\
            \x20 next       machinery explain racks REQUEST\n";
        assert_eq!(text, expected);
        assert!(explain("hosts", &page(json!([])).to_string()).unwrap().contains("none so far"));
    }

    #[test]
    fn an_unknown_object_is_reported() {
        let page =
            json!([{ "controller": "hosts", "kind": "hosts.example.com", "object": "a/b", "known": null }]);
        let text = explain("hosts", &page.to_string()).unwrap();
        assert!(text.ends_with("it has not run here, and is not queued\n"), "{text}");
        assert_eq!(explain("hosts", "[]"), Err(ExplainError::NoController("hosts".into())));
        assert!(matches!(explain("hosts", "<html>"), Err(ExplainError::NoPage(_))));
    }
}

//! Compares answers with the expected ones, and reports the differences.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::case::{Case, CaseStep};
use super::order;

/// A place where an answer is not as expected.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    /// The number of the step, from one.
    pub(crate) step: usize,
    /// The request.
    pub(crate) to: String,
    /// The place in the answer, as a JSON pointer.
    pub(crate) place: String,
    /// None: nothing should be there.
    pub(crate) expected: Option<Value>,
    /// `None` for a missing value.
    pub(crate) found: Option<Value>,
    /// The reason for an expected answer that differs from the recorded one.
    pub(crate) why: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".into(), Value::to_string);
        writeln!(f, "  step {}: {}", self.step, self.to)?;
        writeln!(f, "    at       {}", self.place)?;
        writeln!(f, "    expected {}", shown(&self.expected))?;
        write!(f, "    found    {}", shown(&self.found))?;
        self.why.as_ref().map_or(Ok(()), |why| write!(f, "\n    because  {why}"))
    }
}

/// The server under comparison with the recorded answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The genuine machinery's, once more: all of them must be the same.
    Theirs,
    /// Ours: a step's own expectation has priority over the record.
    Ours,
}

/// Returns the differences between the answers to a case and the recorded ones. A missing answer is
/// a difference.
pub(crate) fn differences(case: &Case, whose: Whose, recorded: &[Value], found: &[Value]) -> Vec<Difference> {
    let compared =
        case.steps.iter().enumerate().filter(|(_, step)| step.request.is_some() || step.events.is_some());
    let mut all = Vec::new();
    for (at, (number, step)) in compared.enumerate() {
        let [recorded, found] = [recorded, found].map(|answers| {
            let mut answer = answers.get(at).cloned();
            answer.iter_mut().for_each(order::put_entries);
            answer
        });
        let (recorded, found) = (recorded.as_ref(), found.as_ref());
        let to = line(step);
        let differs = step.differs.as_ref().filter(|_| whose == Whose::Ours);
        let free = differs.map_or(&[][..], |it| &it.at);
        let mut add = |place: &str, expected: Option<&Value>, found: Option<&Value>| {
            if free.iter().any(|end| place.ends_with(end)) {
                return;
            }
            let (expected, found) = (expected.cloned(), found.cloned());
            let why = differs.map(|it| it.why.clone());
            all.push(Difference {
                step: number + 1,
                to: to.clone(),
                place: place.into(),
                expected,
                found,
                why,
            });
        };
        match differs {
            Some(differs) if free.is_empty() => walk("", Some(&differs.answer), found, true, &mut add),
            _ => walk("", recorded, found, false, &mut add),
        }
    }
    all
}

fn line(step: &CaseStep) -> String {
    let events = || step.events.as_ref().map(|name| format!("events of {name}"));
    step.request.clone().or_else(events).unwrap_or_default()
}

/// A value in only one of the two is one difference, of any size. `partly`: unexpected fields are
/// allowed.
fn walk(
    place: &str,
    expected: Option<&Value>,
    found: Option<&Value>,
    partly: bool,
    add: &mut impl FnMut(&str, Option<&Value>, Option<&Value>),
) {
    match (expected, found) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            for key in keys(one, other).filter(|key| !partly || one.contains_key(*key)) {
                let place = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
                walk(&place, one.get(key), other.get(key), partly, add);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for at in 0..one.len().max(other.len()) {
                walk(&format!("{place}/{at}"), one.get(at), other.get(at), partly, add);
            }
        }
        (expected, found) if expected == found => {}
        (Some(Value::Number(one)), Some(Value::Number(other))) if same(one, other) => {}
        (expected, found) => add(place, expected, found),
    }
}

/// Returns whether two numbers that are no whole ones of 64 bits are the same: there is more than
/// one way to write them.
fn same(one: &Number, other: &Number) -> bool {
    !one.is_i64() && !other.is_i64() && one.as_f64() == other.as_f64()
}

fn keys<'a>(one: &'a Map<String, Value>, other: &'a Map<String, Value>) -> impl Iterator<Item = &'a String> {
    one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(partly: bool, expected: Value, found: Value, places: &[&str]) {
        let mut all = Vec::new();
        walk("", Some(&expected), Some(&found), partly, &mut |place, _, _| all.push(place.to_owned()));
        assert_eq!(all, places);
    }

    #[test]
    fn a_difference_is_named_by_its_place() {
        check(false, json!({"a": [1, 2], "b/c": {"d": 1}}), json!({"a": [1, 2], "b/c": {"d": 1}}), &[]);
        check(
            false,
            json!({"a": [1, 2], "b/c": {"d": 1}}),
            json!({"a": [1], "b/c": {"e": 1}}),
            &["/a/1", "/b~1c/d", "/b~1c/e"],
        );
        check(false, json!({"a": null}), json!({}), &["/a"]);
        check(false, json!("a"), json!({"a": 1}), &[""]);
        check(false, json!([9_223_372_036_854_776_000_u64]), json!([9_223_372_036_854_776_000.0]), &[]);
        check(false, json!([1, 1.5, 1e30]), json!([1.0, 1.25, 2e30]), &["/0", "/1", "/2"]);
    }

    #[test]
    fn declared_differences_may_have_more_fields() {
        check(
            true,
            json!({"status": 400, "body": {"reason": "BadRequest"}}),
            json!({"status": 400, "body": {"reason": "BadRequest", "code": 400}}),
            &[],
        );
        check(true, json!({"status": 400}), json!({"status": 500}), &["/status"]);
    }
}

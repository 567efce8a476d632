//! What is noted of a request besides its answer: for its client, and for an audit log.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use machinery_sync::Mutex;
use serde_json::Value;

use crate::server::Asked;

/// Warnings longer than this are cut, where all together are too long.
const MOST_OF_ONE: usize = 256;
/// So many characters of warnings a client is sent.
const MOST: usize = 4096;

/// What is noted of one request.
#[derive(Default)]
pub(crate) struct Notes<'a> {
    /// The request, where it came over the wire.
    pub(super) asked: Option<&'a Asked>,
    /// The options of a deletion, as they were read.
    pub(crate) options: OnceLock<Value>,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    warnings: Vec<String>,
    annotations: BTreeMap<String, String>,
}

impl<'a> Notes<'a> {
    pub(crate) fn of(asked: &'a Asked) -> Self {
        Self { asked: Some(asked), ..Self::default() }
    }

    /// Those of a webhook, under its name.
    pub(super) fn add(&self, name: &str, warnings: Vec<String>, annotations: BTreeMap<String, String>) {
        let mut said = self.said.lock();
        for warning in warnings {
            if !warning.is_empty() && !said.warnings.contains(&warning) {
                said.warnings.push(warning);
            }
        }
        said.annotations.extend(annotations.into_iter().map(|(key, value)| (format!("{name}/{key}"), value)));
    }

    pub(super) fn warn(&self, warning: &str) {
        self.add("", vec![warning.to_owned()], BTreeMap::new());
    }

    /// What the client should know, as much as it is sent.
    pub(crate) fn warnings(&self) -> Vec<String> {
        limited(self.said.lock().warnings.clone())
    }

    /// What an audit log says of the request: `WEBHOOK/KEY`.
    #[allow(dead_code, reason = "this is where an audit log finds them")]
    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        self.said.lock().annotations.clone()
    }
}

fn limited(mut warnings: Vec<String>) -> Vec<String> {
    let length = |warnings: &[String]| warnings.iter().map(|one| one.chars().count()).sum::<usize>();
    if length(&warnings) <= MOST {
        return warnings;
    }
    for warning in &mut warnings {
        *warning = warning.chars().take(MOST_OF_ONE).collect();
    }
    while length(&warnings) > MOST {
        warnings.pop();
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_limited_together() {
        let long = "ä".repeat(MOST);
        assert_eq!(limited(vec![long.clone()]).concat(), long);
        let cut = "ä".repeat(MOST_OF_ONE);
        assert_eq!(limited(vec![long.clone(), "b".into()]), [cut.clone(), "b".into()]);
        assert_eq!(limited(vec![long; 100]), vec![cut; MOST / MOST_OF_ONE]);
    }

    #[test]
    fn what_is_noted_is_under_its_webhook() {
        let notes = Notes::default();
        let annotations = || BTreeMap::from([("why".to_owned(), "so".to_owned())]);
        notes.add("a.example.com", vec!["once".into(), "once".into()], annotations());
        notes.add("b.example.com", vec!["once".into()], annotations());
        assert_eq!(notes.warnings(), ["once"]);
        let keys: Vec<String> = notes.annotations().into_keys().collect();
        assert_eq!(keys, ["a.example.com/why", "b.example.com/why"]);
    }
}

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
    warnings: Mutex<Vec<String>>,
}

impl<'a> Notes<'a> {
    pub(crate) fn of(asked: &'a Asked) -> Self {
        Self { asked: Some(asked), ..Self::default() }
    }

    /// What a webhook says to the client, and to the log if there is one.
    pub(super) fn add(&self, name: &str, warnings: Vec<String>, annotations: BTreeMap<String, String>) {
        let mut all = self.warnings.lock();
        for warning in warnings {
            if !warning.is_empty() && !all.contains(&warning) {
                all.push(warning);
            }
        }
        if let Some(log) = self.asked.and_then(|asked| asked.annotations.as_deref()) {
            log.add(name, annotations);
        }
    }

    /// What the server says of a webhook to the log, under a key of Kubernetes.
    pub(super) fn note(&self, webhook: &str, key: String, value: String, has_content: bool) {
        if let Some(log) = self.asked.and_then(|asked| asked.annotations.as_deref()) {
            log.note(webhook, key, value, has_content);
        }
    }

    pub(super) fn warn(&self, warning: &str) {
        self.add("", vec![warning.to_owned()], BTreeMap::new());
    }

    /// What the client should know, as much as it is sent.
    pub(crate) fn warnings(&self) -> Vec<String> {
        limited(self.warnings.lock().clone())
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
    fn what_several_say_is_told_once() {
        let notes = Notes::default();
        notes.add("a.example.com", vec!["once".into(), "once".into()], BTreeMap::new());
        notes.add("b.example.com", vec!["once".into()], BTreeMap::new());
        assert_eq!(notes.warnings(), ["once"]);
    }
}

//! Warnings and audit annotations that admission adds to a request.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use machinery_sync::Mutex;
use serde_json::Value;

use crate::server::WireRequest;

/// Length to which warnings are cut if all together are too long.
const MOST_OF_ONE: usize = 256;
/// Limit of all warnings of a response, in characters.
const MOST: usize = 4096;

/// Warnings and audit annotations of one request.
#[derive(Default)]
pub(crate) struct AdmissionNotes<'a> {
    /// The request, if it came over the wire.
    pub(super) wire: Option<&'a WireRequest>,
    /// The parsed options of a deletion.
    pub(crate) options: OnceLock<Value>,
    warnings: Mutex<Vec<String>>,
}

impl<'a> AdmissionNotes<'a> {
    pub(crate) fn of(wire: &'a WireRequest) -> Self {
        Self { wire: Some(wire), ..Self::default() }
    }

    /// Adds warnings and audit annotations of a webhook.
    pub(super) fn add(&self, name: &str, warnings: Vec<String>, annotations: BTreeMap<String, String>) {
        let mut all = self.warnings.lock();
        for warning in warnings {
            if !warning.is_empty() && !all.contains(&warning) {
                all.push(warning);
            }
        }
        if let Some(log) = self.wire.and_then(|wire| wire.annotations.as_deref()) {
            log.add(name, annotations);
        }
    }

    /// Adds an audit annotation about a webhook.
    pub(super) fn note(&self, webhook: &str, key: String, value: String, has_content: bool) {
        if let Some(log) = self.wire.and_then(|wire| wire.annotations.as_deref()) {
            log.note(webhook, key, value, has_content);
        }
    }

    pub(super) fn warn(&self, warning: &str) {
        self.add("", vec![warning.to_owned()], BTreeMap::new());
    }

    /// Returns the warnings, cut to the limit.
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
    fn repeated_warnings_are_sent_once() {
        let notes = AdmissionNotes::default();
        notes.add("a.example.com", vec!["once".into(), "once".into()], BTreeMap::new());
        notes.add("b.example.com", vec!["once".into()], BTreeMap::new());
        assert_eq!(notes.warnings(), ["once"]);
    }
}

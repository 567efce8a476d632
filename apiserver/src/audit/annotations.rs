//! Audit annotations that admission adds to a request.

use std::collections::BTreeMap;

use machinery_sync::Mutex;

use crate::meta::names::label_key;

/// Maximum size of a request's annotations in bytes, including keys.
const BYTES: usize = 64 << 10;

/// The audit annotations of one request, collected while it is processed.
#[derive(Default)]
pub(crate) struct Annotations {
    collected: Mutex<CollectedAnnotations>,
}

/// The annotations collected so far.
#[derive(Default)]
pub(super) struct CollectedAnnotations {
    pub(super) from_webhooks: BTreeMap<String, String>,
    pub(super) from_server: BTreeMap<String, ServerAnnotation>,
    bytes: usize,
    /// Webhooks with omitted annotations, and the reason.
    pub(super) left_out: BTreeMap<String, &'static str>,
}

/// An annotation that the server adds about a webhook.
pub(super) struct ServerAnnotation {
    pub(super) value: String,
    /// Whether the value includes content of the object; such values are logged from level
    /// `Request` on.
    pub(super) has_content: bool,
}

impl Annotations {
    /// Adds the server's annotation about a webhook, under a key of Kubernetes.
    pub(crate) fn note(&self, webhook: &str, key: String, value: String, has_content: bool) {
        let mut collected = self.collected.lock();
        let bytes = collected.bytes + key.len() + value.len();
        if bytes > BYTES {
            collected.left_out.insert(webhook.to_owned(), "they are too long");
        } else {
            collected.bytes = bytes;
            collected.from_server.insert(key, ServerAnnotation { value, has_content });
        }
    }

    /// Adds a webhook's annotations, prefixed with its name. As in Kubernetes, the first value of a
    /// key is kept.
    pub(crate) fn add(&self, webhook: &str, annotations: BTreeMap<String, String>) {
        let mut collected = self.collected.lock();
        for (key, value) in annotations {
            let key = format!("{webhook}/{key}");
            if !label_key(&key).is_empty() {
                collected.left_out.insert(webhook.to_owned(), "a key is no name");
                continue;
            }
            if collected.from_webhooks.contains_key(&key) {
                continue;
            }
            let bytes = collected.bytes + key.len() + value.len();
            if bytes > BYTES {
                collected.left_out.insert(webhook.to_owned(), "they are too long");
            } else {
                collected.bytes = bytes;
                collected.from_webhooks.insert(key, value);
            }
        }
    }

    /// Takes the collected annotations.
    pub(super) fn take(&self) -> CollectedAnnotations {
        std::mem::take(&mut *self.collected.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &[(&str, &str, &str)], kept: &[(&str, &str)], left_out: &[(&str, &str)]) {
        let annotations = Annotations::default();
        for (webhook, key, value) in said {
            annotations.add(webhook, BTreeMap::from([((*key).to_owned(), (*value).to_owned())]));
        }
        let CollectedAnnotations { from_webhooks: all, left_out: without, .. } = annotations.take();
        assert_eq!(all.iter().map(|(key, value)| (&**key, &**value)).collect::<Vec<_>>(), kept);
        assert_eq!(without.iter().map(|(name, why)| (&**name, *why)).collect::<Vec<_>>(), left_out);
    }

    #[test]
    fn annotations_are_prefixed_by_webhook_and_the_first_value_is_kept() {
        let said = [("a.b.c", "k", "1"), ("a.b.d", "k", "2"), ("a.b.c", "k", "3")];
        check(&said, &[("a.b.c/k", "1"), ("a.b.d/k", "2")], &[]);
    }

    #[test]
    fn invalid_annotation_keys_are_omitted() {
        for key in ["", "x/y", "a b", &"x".repeat(64)] {
            check(
                &[("a.b.c", key, "1"), ("a.b.c", "k", "2")],
                &[("a.b.c/k", "2")],
                &[("a.b.c", "a key is no name")],
            );
        }
    }

    #[test]
    fn annotations_beyond_the_size_limit_are_omitted() {
        let long = "x".repeat(BYTES - "a.b.c/k".len());
        check(
            &[("a.b.c", "k", &long), ("a.b.d", "k", "")],
            &[("a.b.c/k", &long)],
            &[("a.b.d", "they are too long")],
        );
        check(&[("a.b.c", "k", &format!("{long}x"))], &[], &[("a.b.c", "they are too long")]);
    }
}

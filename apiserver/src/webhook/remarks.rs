//! Warnings and audit annotations of the hooks of one review.

use std::collections::BTreeMap;

use machinery_sync::Mutex;

use crate::admission::Remarks;

/// Limits of the warnings and annotations of one review, in number and bytes.
const MAX_REMARKS: (usize, usize) = (64, 16 << 10);

/// Collects warnings and annotations for the response.
#[derive(Default)]
pub(super) struct ReviewRemarks {
    collected: Mutex<CollectedRemarks>,
}

/// The warnings and annotations of a review.
#[derive(Default)]
pub(super) struct CollectedRemarks {
    pub(super) warnings: Vec<String>,
    pub(super) annotations: BTreeMap<String, String>,
    bytes: usize,
}

impl ReviewRemarks {
    /// Takes the collected remarks.
    pub(super) fn take(&self) -> CollectedRemarks {
        std::mem::take(&mut *self.collected.lock())
    }
}

impl CollectedRemarks {
    /// Takes a place for a remark; false, if there is none: the API server has such limits, too.
    fn take(&mut self, bytes: usize) -> bool {
        let (count, most) = MAX_REMARKS;
        let fits = self.warnings.len() + self.annotations.len() < count && self.bytes + bytes <= most;
        if fits {
            self.bytes += bytes;
        } else {
            tracing::warn!("a review has more warnings or annotations than are sent");
        }
        fits
    }
}

impl Remarks for ReviewRemarks {
    fn warn(&self, _: &str, warning: String) {
        let mut collected = self.collected.lock();
        if !collected.warnings.contains(&warning) && collected.take(warning.len()) {
            collected.warnings.push(warning);
        }
    }

    /// The API server adds the name of the webhook to the key.
    fn annotate(&self, _: &str, key: &str, value: String) {
        let mut collected = self.collected.lock();
        if !collected.annotations.contains_key(key) && collected.take(key.len() + value.len()) {
            collected.annotations.insert(key.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_limited_and_sent_once() {
        let remarks = ReviewRemarks::default();
        for _ in 0..2 {
            remarks.warn("a", "once".into());
            remarks.annotate("a", "k", "first".into());
            remarks.annotate("b", "k", "second".into());
        }
        for number in 0..100 {
            remarks.warn("a", format!("{number}"));
        }
        remarks.annotate("a", "late", "x".into());
        let CollectedRemarks { warnings, annotations, .. } = remarks.take();
        assert_eq!((warnings.len(), &warnings[..2]), (63, &["once".to_owned(), "0".into()][..]));
        assert_eq!(annotations.into_iter().collect::<Vec<_>>(), [("k".to_owned(), "first".to_owned())]);
        remarks.warn("a", "x".repeat(MAX_REMARKS.1 + 1));
        assert!(remarks.take().warnings.is_empty());
    }
}

//! Reinvocation: the second call of mutating webhooks after later webhooks changed the object.

use std::collections::BTreeSet;

/// Records the first round of calls.
#[derive(Debug, Default)]
pub(super) struct Reinvocation {
    /// Webhooks with `reinvocationPolicy: IfNeeded` called since the last change.
    seen: Vec<usize>,
    again: BTreeSet<usize>,
}

impl Reinvocation {
    /// Records the call of the webhook at this index.
    pub(super) fn called(&mut self, at: usize, changed: bool, if_needed: bool) {
        if changed {
            self.again.extend(self.seen.drain(..));
        }
        if if_needed {
            self.seen.push(at);
        }
    }

    /// Returns the webhooks to call again, in order. Their changes cause no further calls.
    pub(super) const fn again(&self) -> &BTreeSet<usize> {
        &self.again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `!` changes the object, `?` has `reinvocationPolicy: IfNeeded`.
    #[track_caller]
    fn check(webhooks: &[&str], again: &[usize]) {
        let mut reinvocation = Reinvocation::default();
        for (at, webhook) in webhooks.iter().enumerate() {
            reinvocation.called(at, webhook.contains('!'), webhook.contains('?'));
        }
        assert_eq!(reinvocation.again().iter().copied().collect::<Vec<_>>(), again, "{webhooks:?}");
    }

    #[test]
    fn webhooks_are_reinvoked_after_later_changes() {
        check(&["?", ""], &[]);
        check(&["?", "!"], &[0]);
        check(&["", "!"], &[]);
        check(&["!?"], &[]);
        check(&["!?", "!?"], &[0]);
        check(&["?", "!", "?", "!", "?"], &[0, 2]);
    }
}

//! Which mutating webhooks are asked once more, because a later one changed the object.

use std::collections::BTreeSet;

/// What is known of a first round.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Those that want to see changes, and were asked since the last one.
    seen: Vec<usize>,
    again: BTreeSet<usize>,
}

impl Rounds {
    /// The webhook at this place was asked, and changed the object or did not.
    pub(super) fn asked(&mut self, at: usize, changed: bool, if_needed: bool) {
        if changed {
            self.again.extend(self.seen.drain(..));
        }
        if if_needed {
            self.seen.push(at);
        }
    }

    /// Whom to ask once more, in the same order. What they change is seen by nobody else.
    pub(super) const fn again(&self) -> &BTreeSet<usize> {
        &self.again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `!` changes, `?` wants to see changes.
    #[track_caller]
    fn check(webhooks: &[&str], again: &[usize]) {
        let mut rounds = Rounds::default();
        for (at, webhook) in webhooks.iter().enumerate() {
            rounds.asked(at, webhook.contains('!'), webhook.contains('?'));
        }
        assert_eq!(rounds.again().iter().copied().collect::<Vec<_>>(), again, "{webhooks:?}");
    }

    #[test]
    fn who_wants_to_sees_what_later_ones_change() {
        check(&["?", ""], &[]);
        check(&["?", "!"], &[0]);
        check(&["", "!"], &[]);
        check(&["!?"], &[]);
        check(&["!?", "!?"], &[0]);
        check(&["?", "!", "?", "!", "?"], &[0, 2]);
    }
}

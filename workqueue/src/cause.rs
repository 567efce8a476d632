//! Causes: the reasons for a run, in a bounded list that survives merging.

use std::fmt;

/// One reason for a run: a static name and a number (a revision, a port, a trace).
///
/// The name is a reference to a literal, `Cause::new(&"link down", 7)`, which makes a cause 16
/// bytes.
#[derive(Clone, Copy)]
pub struct Cause {
    name: &'static &'static str,
    detail: u64,
}

/// The causes of one run, merged by name, at most [`Causes::LIMIT`].
#[derive(Clone, Copy)]
pub struct Causes {
    pub(crate) items: Items,
    pub(crate) marks: Marks,
}

/// A ring of causes; its [`Marks`] hold the used positions.
pub(crate) type Items = [Cause; Causes::LIMIT];

/// Fill state of a ring of causes. Kept apart so that an entry can hold the marks beside its state
/// and the ring in its last cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// Number of adds per cause; 255 means "at least".
    counts: [u8; Causes::LIMIT],
    /// Number of causes in the low three bits; number of overwritten causes in the others.
    fill: u8,
}

/// The cause of a run that [`crate::Work::after`] scheduled.
pub(crate) const AFTER: Cause = Cause::new(&"after", 0);

/// Returns the cause of a retry; its detail is the number of failures in a row.
pub(crate) fn retry(attempts: u16) -> Cause {
    Cause::new(&"retry", u64::from(attempts))
}

/// Returns the cause of a retry after a [`crate::Work`] was dropped without completion.
pub(crate) fn abandoned(attempts: u16) -> Cause {
    Cause::new(&"abandoned", u64::from(attempts))
}

impl Cause {
    /// Creates a cause of this name and number.
    pub const fn new(name: &'static &'static str, detail: u64) -> Self {
        Self { name, detail }
    }

    /// Returns the name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number; of several merged causes, the latest.
    pub const fn detail(&self) -> u64 {
        self.detail
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.detail == other.detail && self.same_name(other)
    }
}

impl Eq for Cause {}

impl Cause {
    fn same_name(&self, other: &Self) -> bool {
        std::ptr::eq(self.name, other.name) || self.name == other.name
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.detail)
    }
}

impl Causes {
    /// Maximum number of different causes of one run. A further cause replaces the oldest.
    pub const LIMIT: usize = 4;

    /// Returns the causes, oldest first, each with the number of adds that gave it (saturating at
    /// 255).
    pub fn iter(&self) -> impl Iterator<Item = (Cause, u8)> + '_ {
        let (len, start) = (self.marks.len(), usize::from(self.marks.lost()) % Self::LIMIT);
        (0..len).map(move |i| {
            let i = (start + i) % Self::LIMIT;
            (self.items[i], self.marks.counts[i])
        })
    }

    /// Returns the number of causes that newer ones replaced (saturating at 28).
    pub fn lost(&self) -> u8 {
        self.marks.lost().min(Marks::MANY_LOST)
    }

    /// Returns whether no add gave a cause.
    pub fn is_empty(&self) -> bool {
        self.marks.len() == 0
    }

    pub(crate) const NONE: Self = Self { items: [Cause::new(&"", 0); Self::LIMIT], marks: Marks::NONE };

    #[inline]
    pub(crate) fn merge(&mut self, cause: Cause, count: u8) {
        self.marks.merge(&mut self.items, cause, count);
    }
}

impl Marks {
    pub(crate) const NONE: Self = Self { counts: [0; Causes::LIMIT], fill: 0 };

    /// From here on the count wraps in steps of a whole ring, so that the ring's start stays
    /// correct.
    const MANY_LOST: u8 = 28;

    fn len(self) -> usize {
        usize::from(self.fill & 7)
    }

    fn lost(self) -> u8 {
        self.fill >> 3
    }

    #[inline]
    pub(crate) fn merge(&mut self, items: &mut Items, cause: Cause, count: u8) {
        let len = self.len();
        for (known, counted) in items.iter_mut().zip(&mut self.counts).take(len) {
            if known.same_name(&cause) {
                known.detail = cause.detail;
                *counted = counted.saturating_add(count);
                return;
            }
        }
        let place = if len < Causes::LIMIT {
            self.fill += 1;
            len
        } else {
            let lost = self.lost();
            let next = if lost == 31 { Self::MANY_LOST } else { lost + 1 };
            self.fill = next << 3 | self.fill & 7;
            usize::from(lost) % Causes::LIMIT
        };
        items[place] = cause;
        self.counts[place] = count;
    }
}

/// No causes.
impl Default for Causes {
    fn default() -> Self {
        Self::NONE
    }
}

impl PartialEq for Causes {
    fn eq(&self, other: &Self) -> bool {
        self.lost() == other.lost() && self.iter().eq(other.iter())
    }
}

impl Eq for Causes {}

impl fmt::Debug for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(
                self.iter().map(|(cause, count)| format!("{} {} (×{count})", cause.name(), cause.detail)),
            )
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&&str; 6] = [&"a", &"b", &"c", &"d", &"e", &"f"];

    fn merged(names: &[usize]) -> Vec<(&'static str, u64, u8)> {
        let mut causes = Causes::NONE;
        for (detail, &name) in names.iter().enumerate() {
            causes.merge(Cause::new(NAMES[name], detail as u64), 1);
        }
        causes.iter().map(|(cause, count)| (cause.name(), cause.detail(), count)).collect()
    }

    #[test]
    fn merges_by_name_and_keeps_the_newest_four() {
        assert_eq!(merged(&[]), []);
        assert_eq!(merged(&[0, 1, 0]), [("a", 2, 2), ("b", 1, 1)]);
        assert_eq!(merged(&[0, 1, 2, 3, 4, 5, 4]), [("c", 2, 1), ("d", 3, 1), ("e", 6, 2), ("f", 5, 1)]);
    }

    #[test]
    fn counts_and_losses_saturate() {
        let mut causes = Causes::NONE;
        for i in 0..1000_u64 {
            causes.merge(Cause::new(NAMES[i as usize % 6], i), 200);
        }
        assert_eq!(causes.iter().map(|(cause, _)| cause.detail()).collect::<Vec<_>>(), [996, 997, 998, 999]);
        assert_eq!(causes.lost(), 28);
        causes.merge(Cause::new(NAMES[3], 0), 200);
        assert!(causes.iter().any(|(_, count)| count == 255));
    }
}

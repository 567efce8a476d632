//! Priorities of keys.

use std::fmt;

/// The priority of a key: -32 (least urgent) to 31, by default 0.
///
/// A priority orders keys and starves none: a level is worth a fixed waiting time,
/// [`crate::Config::aging`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(i8);

impl Priority {
    /// The least urgent.
    pub const MIN: Self = Self(-32);
    /// For keys without a waiting client: an initial list, a resync.
    pub const LOW: Self = Self(-10);
    /// The default.
    pub const NORMAL: Self = Self(0);
    /// For keys with a waiting client.
    pub const HIGH: Self = Self(10);
    /// The most urgent.
    pub const MAX: Self = Self(31);

    pub(crate) const LEVELS: usize = 64;

    /// Creates a priority from `value`, clamped to [`Priority::MIN`] to [`Priority::MAX`].
    pub const fn new(value: i32) -> Self {
        match value {
            ..-32 => Self::MIN,
            32.. => Self::MAX,
            #[expect(clippy::cast_possible_truncation, reason = "the arms above leave -32..=31")]
            within => Self(within as i8),
        }
    }

    /// Returns the number, -32 to 31.
    pub const fn value(self) -> i8 {
        self.0
    }

    pub(crate) fn level(self) -> u8 {
        self.0.wrapping_add(32).unsigned_abs()
    }

    pub(crate) fn from_level(level: u8) -> Self {
        Self::new(i32::from(level) - 32)
    }
}

impl fmt::Debug for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Priority({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_is_clamped_and_levels_round_trip() {
        assert_eq!(Priority::new(-100), Priority::MIN);
        assert_eq!(Priority::new(i32::MAX), Priority::MAX);
        for value in -32..=31 {
            let priority = Priority::new(value);
            assert!(usize::from(priority.level()) < Priority::LEVELS);
            assert_eq!(Priority::from_level(priority.level()), priority);
        }
    }
}

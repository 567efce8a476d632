//! The points of a scenario at which a component can crash.

use std::fmt;

/// A point at which a component crashes: before or after one of its effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CrashPoint {
    /// The number of the effect, from 1.
    pub effect: usize,
    /// The side of the effect.
    pub side: CrashSide,
}

/// The side of an effect on which a component crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CrashSide {
    /// The effect does not take place.
    Before,
    /// The effect takes place, and its response is lost.
    After,
}

impl CrashPoint {
    /// Returns the point before an effect, numbered from 1.
    #[must_use]
    pub const fn before(effect: usize) -> Self {
        Self { effect, side: CrashSide::Before }
    }

    /// Returns the point after an effect, numbered from 1.
    #[must_use]
    pub const fn after(effect: usize) -> Self {
        Self { effect, side: CrashSide::After }
    }
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            CrashSide::Before => "before",
            CrashSide::After => "after",
        };
        write!(f, "{side} effect {}", self.effect)
    }
}

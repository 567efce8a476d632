//! Ranges of sizes and costs, with saturating arithmetic.

/// A range of sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

/// A range of costs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Cost {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

/// Sizes of the keys and values of a map, or of the items of a list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entries {
    pub(crate) list: bool,
    pub(crate) key: Size,
    pub(crate) value: Size,
}

/// Returns `size * factor`, rounded up and saturating.
fn part(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

impl Size {
    pub(crate) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(crate) fn fixed(size: u64) -> Self {
        Self { min: size, max: size }
    }

    /// Returns the neutral element of `union`; 0 if there is nothing to unite.
    pub(crate) fn none(empty: bool) -> Self {
        Self { min: if empty { 0 } else { u64::MAX }, max: 0 }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Returns the cost of `each` per element.
    pub(crate) fn cost(self, each: f64) -> Cost {
        Cost { min: part(self.min, each), max: part(self.max, each) }
    }
}

impl Cost {
    pub(crate) fn fixed(cost: u64) -> Self {
        Self { min: cost, max: cost }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self { min: part(self.min, factor), max: part(self.max, factor) }
    }
}

impl Entries {
    pub(crate) fn union(self, other: Self) -> Self {
        Self { list: self.list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

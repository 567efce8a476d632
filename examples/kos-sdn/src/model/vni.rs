//! Virtual network identifiers.

use std::fmt;

/// The VNI of a network: 21 bits, as many as fit into a MAC address, and not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vni(u32);

/// The number is not a valid VNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be in [1,{}]", Vni::MAX)]
pub struct VniError(pub u32);

impl Vni {
    /// The highest VNI.
    pub const MAX: u32 = (1 << 21) - 1;

    /// Creates a VNI.
    ///
    /// # Errors
    /// The number is zero or has more than 21 bits.
    pub const fn new(number: u32) -> Result<Self, VniError> {
        if 1 <= number && number <= Self::MAX { Ok(Self(number)) } else { Err(VniError(number)) }
    }

    /// Returns the number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Vni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vni_has_21_bits() {
        let check = |number: u32, good: bool| assert_eq!(Vni::new(number).is_ok(), good, "{number}");
        check(0, false);
        check(1, true);
        check(2_097_151, true);
        check(2_097_152, false);
        assert_eq!(VniError(0).to_string(), "must be in [1,2097151]");
    }
}

//! Members of pools.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::LockKey;

/// A key that an [`Allocator`](super::Allocator) can choose: an address, a port, a VNI.
///
/// Members are numbered within a space. Implemented for unsigned numbers, IP addresses, and pairs
/// of any key and a member: `(vni, address)`, whose space is the VNI.
pub trait Member: LockKey + Ord {
    /// The space; members of different spaces have nothing in common. `()` if there is only one.
    type Space: Clone + Ord + fmt::Debug + Send + Sync + 'static;

    /// Returns the space.
    fn space(&self) -> Self::Space;

    /// Returns the number within the space. Its order is that of the members.
    fn number(&self) -> u128;

    /// Returns the member with this number; `None` if the type has none.
    fn at(space: &Self::Space, number: u128) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Member for $number {
            type Space = ();

            fn space(&self) {}

            fn number(&self) -> u128 {
                u128::from(*self)
            }

            fn at((): &(), number: u128) -> Option<Self> {
                number.try_into().ok()
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, u128);

impl Member for Ipv4Addr {
    type Space = ();

    fn space(&self) {}

    fn number(&self) -> u128 {
        self.to_bits().into()
    }

    fn at((): &(), number: u128) -> Option<Self> {
        number.try_into().ok().map(Self::from_bits)
    }
}

impl Member for Ipv6Addr {
    type Space = ();

    fn space(&self) {}

    fn number(&self) -> u128 {
        self.to_bits()
    }

    fn at((): &(), number: u128) -> Option<Self> {
        Some(Self::from_bits(number))
    }
}

impl<S: LockKey + Ord, M: Member> Member for (S, M) {
    type Space = (S, M::Space);

    fn space(&self) -> Self::Space {
        (self.0.clone(), self.1.space())
    }

    fn number(&self) -> u128 {
        self.1.number()
    }

    fn at((outer, inner): &Self::Space, number: u128) -> Option<Self> {
        Some((outer.clone(), M::at(inner, number)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<M: Member>(member: &M, number: u128) {
        assert_eq!(member.number(), number);
        assert_eq!(M::at(&member.space(), number).as_ref(), Some(member));
    }

    #[test]
    fn members_are_found_by_their_numbers() {
        check(&7_u16, 7);
        check(&Ipv4Addr::new(10, 0, 0, 1), 0x0a00_0001);
        check(&Ipv6Addr::LOCALHOST, 1);
        check(&("eth0".to_owned(), 4789_u16), 4789);
        check(&(7_u32, ("a".to_owned(), Ipv4Addr::UNSPECIFIED)), 0);
        assert_eq!(u16::at(&(), 65_536), None);
        assert_eq!(Ipv4Addr::at(&(), 1 << 32), None);
    }
}

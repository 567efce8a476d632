//! Pools: named ranges or sets of members.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use machinery_objects::ObjectKey;

use super::Member;
use super::ranges::Ranges;

/// Members of which each owner gets any one. Cheap to clone.
///
/// The name identifies the wait queue: if the members of a pool change, its waiters keep their
/// order. It is the key of the object that defines the pool, such as a subnet, or any constant key.
/// Two pools may have members in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool<M: Member> {
    pub(super) name: ObjectKey,
    pub(super) space: M::Space,
    pub(super) ranges: Arc<Ranges>,
}

/// Error of the members of a pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// The pool has no members: no owner would ever get one.
    #[error("the pool {name} is empty: give it at least one member")]
    Empty {
        /// Name of the pool.
        name: ObjectKey,
    },
    /// A range ends before it begins.
    #[error("the pool {name} has the range {first} to {last}, which ends before it begins: swap both")]
    Reversed {
        /// Name of the pool.
        name: ObjectKey,
        /// The first member.
        first: String,
        /// The last member.
        last: String,
    },
    /// Two ranges of the pool overlap.
    #[error("the pool {name} contains {member} twice: remove the overlap of its ranges")]
    Overlap {
        /// Name of the pool.
        name: ObjectKey,
        /// The first member in both.
        member: String,
    },
    /// The members are of several spaces.
    #[error("the pool {name} has members of the spaces {one} and {other}: make a pool for each")]
    Spaces {
        /// Name of the pool.
        name: ObjectKey,
        /// One of the spaces.
        one: String,
        /// Another one.
        other: String,
    },
}

impl<M: Member> Pool<M> {
    /// Creates a pool of one range.
    ///
    /// # Errors
    /// The range is reversed, or its ends are of different spaces.
    pub fn range(name: ObjectKey, range: RangeInclusive<M>) -> Result<Self, PoolError> {
        Self::ranges(name, [range])
    }

    /// Creates a pool of a set of members.
    ///
    /// # Errors
    /// The set is empty, or its members are of several spaces.
    pub fn set(name: ObjectKey, members: BTreeSet<M>) -> Result<Self, PoolError> {
        Self::ranges(name, members.into_iter().map(|member| member.clone()..=member))
    }

    /// Creates a pool of several ranges.
    ///
    /// # Errors
    /// A range is reversed, two overlap, there is none, or they are of several spaces.
    pub fn ranges(
        name: ObjectKey,
        ranges: impl IntoIterator<Item = RangeInclusive<M>>,
    ) -> Result<Self, PoolError> {
        let (mut space, mut pairs) = (None::<M::Space>, Vec::new());
        for range in ranges {
            for of in [range.start().space(), range.end().space()] {
                let one = space.get_or_insert_with(|| of.clone());
                if *one != of {
                    let (one, other) = (format!("{one:?}"), format!("{of:?}"));
                    return Err(PoolError::Spaces { name, one, other });
                }
            }
            let (first, last) = (range.start().number(), range.end().number());
            if last < first {
                let [first, last] = [range.start(), range.end()].map(|member| format!("{member:?}"));
                return Err(PoolError::Reversed { name, first, last });
            }
            pairs.push((first, last));
        }
        let Some(space) = space else { return Err(PoolError::Empty { name }) };
        match Ranges::new(pairs) {
            Ok(ranges) => Ok(Self { name, space, ranges: Arc::new(ranges) }),
            Err(number) => {
                let member =
                    M::at(&space, number).map_or_else(|| number.to_string(), |member| format!("{member:?}"));
                Err(PoolError::Overlap { name, member })
            }
        }
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(&self) -> &ObjectKey {
        &self.name
    }

    /// Returns the number of members; saturates.
    #[must_use]
    pub fn size(&self) -> u128 {
        self.ranges.len()
    }

    /// Returns whether the pool contains a member.
    #[must_use]
    pub fn contains(&self, member: &M) -> bool {
        member.space() == self.space && self.ranges.contains(member.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn name() -> ObjectKey {
        "n/pool".parse().unwrap()
    }

    fn check(ranges: impl IntoIterator<Item = RangeInclusive<(u32, u16)>>, expected: &str) {
        match Pool::ranges(name(), ranges) {
            Ok(pool) => assert_eq!(format!("{} members", pool.size()), expected),
            Err(error) => assert!(error.to_string().contains(expected), "{error}"),
        }
    }

    #[test]
    fn p33_malformed_pools_are_typed_errors_with_a_remedy() {
        check([(1, 10)..=(1, 19), (1, 30)..=(1, 30)], "11 members");
        check([], "give it at least one member");
        check([(1, 9)..=(1, 8)], "ends before it begins: swap both");
        check([(1, 1)..=(1, 5), (1, 5)..=(1, 9)], "contains (1, 5) twice");
        check([(1, 1)..=(2, 5)], "of the spaces (1, ()) and (2, ())");
        check([(1, 1)..=(1, 5), (2, 1)..=(2, 5)], "make a pool for each");
        assert_eq!(Pool::<u16>::set(name(), BTreeSet::new()), Err(PoolError::Empty { name: name() }));
    }

    #[test]
    fn a_pool_contains_its_members_of_its_space() {
        let block = Ipv4Addr::new(10, 0, 0, 2)..=Ipv4Addr::new(10, 0, 0, 9);
        let pool = Pool::range(name(), (7_u32, *block.start())..=(7, *block.end())).unwrap();
        assert!(pool.contains(&(7, Ipv4Addr::new(10, 0, 0, 9))));
        assert!(!pool.contains(&(8, Ipv4Addr::new(10, 0, 0, 9))));
        assert!(!pool.contains(&(7, Ipv4Addr::new(10, 0, 0, 10))));
        let set = Pool::set(name(), BTreeSet::from([3_u16, 5])).unwrap();
        assert_eq!([3, 4, 5].map(|port| set.contains(&port)), [true, false, true]);
    }
}

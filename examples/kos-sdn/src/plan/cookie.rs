//! Cookies of flows: the mark of this program, and the interface that a flow belongs to.

use super::Mac;

/// The upper 15 bits of each cookie: flows without them belong to other programs.
pub const COOKIE_MARK: u64 = 0x4b4e << 48;
/// The bits of [`COOKIE_MARK`], as the cookie mask of OpenFlow messages.
pub const COOKIE_MARK_MASK: u64 = 0xfffe << 48;

const LOCAL: u64 = 1 << 48;
const MAC: u64 = LOCAL - 1;

/// The owner of a flow, decoded from its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CookieOwner {
    /// The switch itself: its default drop flows.
    Switch,
    /// An interface on this node.
    Local(Mac),
    /// An interface on another node.
    Remote(Mac),
}

impl CookieOwner {
    /// Decodes a cookie; `None` for a cookie of another program.
    #[must_use]
    pub const fn of(cookie: u64) -> Option<Self> {
        if cookie & COOKIE_MARK_MASK != COOKIE_MARK {
            return None;
        }
        let mac = Mac::from_number(cookie & MAC);
        Some(match (cookie & LOCAL != 0, mac.number()) {
            (true, _) => Self::Local(mac),
            (false, 0) => Self::Switch,
            (false, _) => Self::Remote(mac),
        })
    }

    /// Returns the cookie of the owner's flows.
    #[must_use]
    pub const fn cookie(self) -> u64 {
        match self {
            Self::Switch => COOKIE_MARK,
            Self::Local(mac) => local_cookie(mac),
            Self::Remote(mac) => remote_cookie(mac),
        }
    }
}

/// Returns the cookie of a local interface's flows: the mark, bit 48 and the MAC address.
#[must_use]
pub const fn local_cookie(mac: Mac) -> u64 {
    // By its cookie the flows of an interface are removed without knowledge of the desired ones.
    COOKIE_MARK | LOCAL | mac.number()
}

/// Returns the cookie of a remote interface's flows: the mark and the MAC address.
#[must_use]
pub const fn remote_cookie(mac: Mac) -> u64 {
    COOKIE_MARK | mac.number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_round_trip() {
        let mac = Mac([6, 0x18, 0, 2, 0, 1]);
        for owner in [CookieOwner::Switch, CookieOwner::Local(mac), CookieOwner::Remote(mac)] {
            assert_eq!(CookieOwner::of(owner.cookie()), Some(owner));
        }
        assert_eq!(local_cookie(mac), 0x4b4f_0618_0002_0001);
        assert_eq!(remote_cookie(mac), 0x4b4e_0618_0002_0001);
    }

    #[test]
    fn cookies_of_other_programs_have_no_owner() {
        for cookie in [0, 1, u64::MAX, 0x4b4d << 48, 0x1_0618_0002_0001] {
            assert_eq!(CookieOwner::of(cookie), None);
        }
    }
}

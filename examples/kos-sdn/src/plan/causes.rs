//! What a client did last without which something would not have come about: so a wait is counted from there.

use std::time::Duration;

use jiff::Timestamp;

/// The last write of a client that something waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// When, by the server's clock.
    pub at: Timestamp,
    /// What it was.
    pub by: Cause,
}

/// What a client wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The attachment.
    Attachment,
    /// Its subnet.
    Subnet,
    /// The first attachment on this node that is in the network.
    FirstHere,
    /// The subnet of that one.
    SubnetOfFirstHere,
}

impl Cause {
    /// As labels of metrics say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attachment => "na",
            Self::Subnet => "subnet",
            Self::FirstHere => "1st_local_na",
            Self::SubnetOfFirstHere => "1st_local_na_subnet",
        }
    }

    /// Whether it was about the thing itself, and not about who wants to know of it.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Attachment | Self::Subnet)
    }
}

impl LastWrite {
    /// Of an attachment and its subnet: whichever came later.
    #[must_use]
    pub fn of(attachment: Option<Timestamp>, subnet: Option<Timestamp>) -> Option<Self> {
        let attachment = Self { at: attachment?, by: Cause::Attachment };
        Some(match subnet {
            Some(at) if at > attachment.at => Self { at, by: Cause::Subnet },
            _ => attachment,
        })
    }

    /// What a node waits for to know of one elsewhere: that, or the first that made it want to know.
    #[must_use]
    pub fn or_first_here(self, first: Option<Self>) -> Self {
        match first {
            Some(Self { at, by }) if at > self.at => {
                let by = if by == Cause::Subnet { Cause::SubnetOfFirstHere } else { Cause::FirstHere };
                Self { at, by }
            }
            _ => self,
        }
    }

    /// How long after it something was, in seconds; less than none, if clocks differ.
    #[must_use]
    pub fn until(self, then: Timestamp) -> f64 {
        seconds(self.at, then)
    }
}

/// How long after a moment another was, in seconds; less than none, if it was before.
#[must_use]
pub fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    let apart = Duration::from_micros(from.as_microsecond().abs_diff(to.as_microsecond())).as_secs_f64();
    if to < from { -apart } else { apart }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Option<Timestamp> {
        Some(Timestamp::from_second(second).unwrap())
    }

    fn said(write: Option<LastWrite>) -> Option<(i64, &'static str)> {
        write.map(|write| (write.at.as_second(), write.by.name()))
    }

    #[test]
    fn what_came_last_is_what_was_waited_for() {
        assert_eq!(said(LastWrite::of(at(2), at(1))), Some((2, "na")));
        assert_eq!(said(LastWrite::of(at(2), None)), Some((2, "na")));
        assert_eq!(said(LastWrite::of(at(2), at(3))), Some((3, "subnet")));
        assert_eq!(said(LastWrite::of(None, at(3))), None, "nobody noted when it was written");
        let elsewhere = LastWrite::of(at(5), at(1)).unwrap();
        let first =
            |attachment, subnet| said(Some(elsewhere.or_first_here(LastWrite::of(attachment, subnet))));
        assert_eq!(first(at(4), at(3)), Some((5, "na")));
        assert_eq!(first(at(6), at(3)), Some((6, "1st_local_na")));
        assert_eq!(first(at(6), at(7)), Some((7, "1st_local_na_subnet")));
        assert_eq!(said(Some(elsewhere.or_first_here(None))), Some((5, "na")));
    }

    #[test]
    fn clocks_that_differ_show() {
        let write = LastWrite::of(at(5), None).unwrap();
        assert_eq!([write.until(at(7).unwrap()), write.until(at(4).unwrap())], [2.0, -1.0]);
    }
}

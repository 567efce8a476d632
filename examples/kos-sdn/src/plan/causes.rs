//! Client writes as causes: latencies are counted from the last client write that a step depends
//! on.

use std::time::Duration;

use jiff::Timestamp;

/// The last client write that a step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWrite {
    /// Time of the write, by the server's clock.
    pub at: Timestamp,
    /// The object written.
    pub by: WriteCause,
}

/// The object that a client wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteCause {
    /// The attachment.
    Attachment,
    /// The subnet of the attachment.
    Subnet,
    /// The first attachment in the network on this node.
    FirstLocal,
    /// The subnet of that attachment.
    SubnetOfFirstLocal,
}

impl WriteCause {
    /// Returns the value of the metric label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attachment => "na",
            Self::Subnet => "subnet",
            Self::FirstLocal => "1st_local_na",
            Self::SubnetOfFirstLocal => "1st_local_na_subnet",
        }
    }

    /// Returns true for the attachment and its subnet, false for attachments of the observing node.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Attachment | Self::Subnet)
    }
}

impl LastWrite {
    /// Returns the later of the writes of an attachment and its subnet.
    #[must_use]
    pub fn of(attachment: Option<Timestamp>, subnet: Option<Timestamp>) -> Option<Self> {
        let attachment = Self { at: attachment?, by: WriteCause::Attachment };
        Some(match subnet {
            Some(at) if at > attachment.at => Self { at, by: WriteCause::Subnet },
            _ => attachment,
        })
    }

    /// Returns the later of this write and the one that made the observing node watch the network.
    #[must_use]
    pub fn or_first_local(self, first: Option<Self>) -> Self {
        match first {
            Some(Self { at, by }) if at > self.at => {
                let by = if by == WriteCause::Subnet {
                    WriteCause::SubnetOfFirstLocal
                } else {
                    WriteCause::FirstLocal
                };
                Self { at, by }
            }
            _ => self,
        }
    }

    /// Returns the seconds from the write until `then`; negative if clocks differ.
    #[must_use]
    pub fn until(self, then: Timestamp) -> f64 {
        seconds(self.at, then)
    }
}

/// Returns the seconds between two times; negative if `to` is earlier.
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

    fn shown(write: Option<LastWrite>) -> Option<(i64, &'static str)> {
        write.map(|write| (write.at.as_second(), write.by.name()))
    }

    #[test]
    fn latest_write_is_the_cause() {
        assert_eq!(shown(LastWrite::of(at(2), at(1))), Some((2, "na")));
        assert_eq!(shown(LastWrite::of(at(2), None)), Some((2, "na")));
        assert_eq!(shown(LastWrite::of(at(2), at(3))), Some((3, "subnet")));
        assert_eq!(shown(LastWrite::of(None, at(3))), None, "the write time is unknown");
        let elsewhere = LastWrite::of(at(5), at(1)).unwrap();
        let first =
            |attachment, subnet| shown(Some(elsewhere.or_first_local(LastWrite::of(attachment, subnet))));
        assert_eq!(first(at(4), at(3)), Some((5, "na")));
        assert_eq!(first(at(6), at(3)), Some((6, "1st_local_na")));
        assert_eq!(first(at(6), at(7)), Some((7, "1st_local_na_subnet")));
        assert_eq!(shown(Some(elsewhere.or_first_local(None))), Some((5, "na")));
    }

    #[test]
    fn clock_skew_gives_negative_latency() {
        let write = LastWrite::of(at(5), None).unwrap();
        assert_eq!([write.until(at(7).unwrap()), write.until(at(4).unwrap())], [2.0, -1.0]);
    }
}

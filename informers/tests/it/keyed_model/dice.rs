//! Random numbers and random faults.

use std::time::Duration;

use machinery_informers::testing::{Fault, OnEdit, OnEvent, OnList, OnWatch};
use machinery_objects::{ListError, SourceError, WatchError};

/// A random number generator (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    pub(super) fn fault(&mut self, per_key: bool) -> Fault {
        let unavailable = || SourceError::Unavailable { reason: "no".into(), retry_after: None };
        let busy = |after: Option<u64>| {
            WatchError::from(SourceError::TooManyRequests { retry_after: after.map(Duration::from_secs) })
        };
        if !per_key && self.below(3) == 0 {
            return Fault::Edit(match self.below(9) {
                0 => OnEdit::Fails(busy(None)),
                1 => OnEdit::Fails(busy(Some(self.below(20)))),
                2 => OnEdit::MadeAndFails(SourceError::TimedOut.into()),
                3 => OnEdit::NoAnswer,
                4 => OnEdit::AnsweredLast,
                5 => OnEdit::Late,
                6 | 7 => {
                    OnEdit::Fails(SourceError::Invalid { reason: "no".into(), causes: Vec::new() }.into())
                }
                _ => OnEdit::NoEcho,
            });
        }
        match self.below(if per_key { 12 } else { 8 }) {
            0 => Fault::Event(OnEvent::Fails(WatchError::Expired)),
            1 => Fault::Event(OnEvent::Ends),
            2 => Fault::Event(OnEvent::Silent),
            3 => Fault::Event(OnEvent::Twice),
            4 => Fault::Event(OnEvent::EarlierAgain),
            5 => Fault::Watch(OnWatch::Fails(unavailable().into())),
            6 => Fault::Watch(OnWatch::NoAnswer),
            7 => Fault::Watch(OnWatch::EndsAtOnce),
            8 => Fault::Watch(OnWatch::NoEnd),
            9 => Fault::List(OnList::Fails(ListError::Expired { rest: None })),
            10 => Fault::Page(OnList::Fails(ListError::Expired { rest: None })),
            _ => Fault::Watch(OnWatch::EndTwice),
        }
    }
}

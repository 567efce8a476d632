//! Random events, and the dice that choose them.

/// A generator of random numbers.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % sides
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Occurrence {
    CreatePolicy,
    CreateRule,
    ChangeRule,
    OrderRule,
    DeleteCr,
    StopPod,
    ReturnPods,
    EmptyPod,
    Disconnect,
    Duplicate,
    CrashAgent,
    SecondAgent,
    LoseAnswer,
    ServerError,
}

pub(crate) const ALL: [Occurrence; 14] = [
    Occurrence::CreatePolicy,
    Occurrence::CreateRule,
    Occurrence::ChangeRule,
    Occurrence::OrderRule,
    Occurrence::DeleteCr,
    Occurrence::StopPod,
    Occurrence::ReturnPods,
    Occurrence::EmptyPod,
    Occurrence::Disconnect,
    Occurrence::Duplicate,
    Occurrence::CrashAgent,
    Occurrence::SecondAgent,
    Occurrence::LoseAnswer,
    Occurrence::ServerError,
];

//! Decodes operations from bytes, for fuzzing: every input is valid.

use super::{Op, OpAnswer, OpWhen, Setup, check};

/// Runs the operations encoded in `bytes`; the first two bytes configure the queue.
pub fn operations(bytes: &[u8]) {
    let mut bytes = bytes.iter().copied();
    let Some(setup) = setup(&mut bytes) else { return };
    // Longer sequences find no further defects, and the model is slow.
    let ops: Vec<Op> = std::iter::from_fn(|| op(&mut bytes)).take(400).collect();
    check(&setup, &ops);
}

fn setup(bytes: &mut impl Iterator<Item = u8>) -> Option<Setup> {
    let (bits, sizes) = (bytes.next()?, bytes.next()?);
    Some(Setup {
        capacity: if bits & 1 == 0 { 1000 } else { 1 + usize::from(sizes % 8) },
        debounce_ms: (bits & 2 != 0).then_some((2, 5)),
        max_tries: (bits & 4 != 0).then_some(1 + u16::from(sizes >> 6)),
        aging_ms: [1, 2, 10, 1000][usize::from(sizes >> 3) % 4],
        tenants: bits & 8 != 0,
        bucket: bits & 16 != 0,
    })
}

fn op(bytes: &mut impl Iterator<Item = u8>) -> Option<Op> {
    let code = bytes.next()?;
    let mut next = || bytes.next().unwrap_or(0);
    Some(match code % 16 {
        0..=4 => {
            let (key, how, cause) = (next() % 12, next(), next());
            let when = match how % 4 {
                0 => OpWhen::Configured,
                1 => OpWhen::Now,
                2 => OpWhen::After(micros(how, cause)),
                _ => OpWhen::Debounced,
            };
            let priority = i8::try_from(how >> 2 & 3).unwrap_or(0) * 5 - 5;
            Op::Add { key, when, priority, cause: (cause & 1 == 0).then_some(cause >> 1 & 7) }
        }
        5..=7 => Op::TryGet,
        8 => Op::Batch(next() % 5),
        9..=11 => {
            let (which, how) = (next(), next());
            let answer = match how % 4 {
                0 => OpAnswer::Done,
                1 => OpAnswer::After(micros(how, which)),
                2 => OpAnswer::Retry,
                _ => OpAnswer::Drop,
            };
            Op::Answer(which, answer)
        }
        12 => Op::Cancel(next() % 12),
        13 => Op::Forget(next() % 12),
        14 => Op::Advance(micros(next(), next())),
        _ => match next() {
            0..=5 => Op::Close,
            6..=20 => Op::Drain(u64::from(next() % 32)),
            21..=200 => Op::Advance(1000),
            _ => Op::Hold(next()),
        },
    })
}

/// Mostly a few milliseconds, sometimes none, sometimes hours.
fn micros(scale: u8, value: u8) -> u64 {
    u64::from(value) << (scale >> 4)
}

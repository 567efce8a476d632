//! Generates inputs from a corpus. The same seed and corpus give the same inputs on every machine.

use std::hash::BuildHasher;

/// Inputs are no longer than this: bugs that need more are rare, and long inputs are slow.
pub(super) const LONGEST: usize = 4096;

/// Returns a fresh seed.
#[expect(clippy::disallowed_types, reason = "somebody has to begin; the seed is printed, and can be given")]
pub(super) fn any_seed() -> u64 {
    std::hash::RandomState::new().hash_one("a seed")
}

/// splitmix64: eight bytes of state, one multiplication chain, good enough to choose bytes.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `limit`; zero if `limit` is zero. Slightly uneven, which does no harm
    /// here.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        // The edges of the range turn up in every second byte: they are where lengths and counts go
        // wrong.
        const EDGES: [u8; 8] = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, b' '];
        let [kind, byte, ..] = self.next().to_le_bytes();
        if kind % 2 == 0 { EDGES[usize::from(byte) % EDGES.len()] } else { byte }
    }
}

/// Returns the next input: a mutated or spliced corpus entry, or random bytes.
pub(super) fn input(rng: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    if corpus.is_empty() || rng.below(16) == 0 {
        // Any order of magnitude is as likely as any other.
        let most = LONGEST >> rng.below(12);
        let length = rng.below(most + 1);
        return (0..length).map(|_| rng.byte()).collect();
    }
    let mut input = corpus[rng.below(corpus.len())].clone();
    for _ in 0..=rng.below(8) {
        change(rng, &mut input, corpus);
    }
    input.truncate(LONGEST);
    input
}

fn change(rng: &mut Rng, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let at = rng.below(input.len());
    let some = 1 + rng.below(16);
    match rng.below(7) {
        0 if !input.is_empty() => input[at] ^= 1 << rng.below(8),
        1 if !input.is_empty() => input[at] = rng.byte(),
        2 => {
            let bytes: Vec<u8> = (0..some).map(|_| rng.byte()).collect();
            input.splice(at..at, bytes);
        }
        3 => drop(input.drain(at..(at + some).min(input.len()))),
        4 => {
            let other = &corpus[rng.below(corpus.len())];
            input.truncate(at);
            input.extend(&other[rng.below(other.len())..]);
        }
        5 => input.truncate(at),
        _ => {
            // Repetition advances the state of stateful targets.
            let again = input[at..(at + some).min(input.len())].to_vec();
            input.splice(at..at, again);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_inputs(seed: u64, corpus: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut rng = Rng::new(seed);
        (0..1000).map(|_| input(&mut rng, corpus)).collect()
    }

    #[test]
    fn the_generator_is_splitmix64() {
        let mut rng = Rng::new(1234567);
        assert_eq!([rng.next(), rng.next()], [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn a_seed_repeats_its_inputs() {
        let corpus = [b"abcdefgh".to_vec(), Vec::new(), vec![0; 100]];
        assert_eq!(some_inputs(7, &corpus), some_inputs(7, &corpus));
        assert_ne!(some_inputs(7, &corpus), some_inputs(8, &corpus));
    }

    #[test]
    fn any_corpus_will_do() {
        some_inputs(1, &[]);
        some_inputs(2, &[Vec::new()]);
        assert!(some_inputs(3, &[vec![1; LONGEST]]).iter().all(|input| input.len() <= LONGEST));
    }
}

//! Bearer tokens, stored as digests: neither this process's memory nor the timing of responses
//! reveals a token.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::identity::Identity;

type Digest = [u8; 32];

/// Identities by token.
///
/// The first bytes of a digest find the candidates; their digests are compared in constant time.
/// The lookup can leak bytes of a digest only, and no token can be constructed from those.
#[derive(Clone, Default)]
pub(crate) struct TokenTable(BTreeMap<u64, Vec<(Digest, Arc<Identity>)>>);

impl TokenTable {
    /// Adds a token of `identity`. Returns `false` if the token exists already.
    #[cfg(any(test, feature = "server"))]
    #[must_use]
    pub(crate) fn add(&mut self, token: &str, identity: Identity) -> bool {
        let digest = digest(token);
        let there = self.0.entry(start(&digest)).or_default();
        if there.iter().any(|(other, _)| same(other, &digest)) {
            return false;
        }
        there.push((digest, Arc::new(identity)));
        true
    }

    /// Returns the owner of a token.
    pub(crate) fn identify(&self, token: &str) -> Option<Arc<Identity>> {
        let digest = digest(token);
        let candidates = self.0.get(&start(&digest))?;
        candidates.iter().find(|(held, _)| same(held, &digest)).map(|(_, identity)| Arc::clone(identity))
    }

    /// Returns the number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// Prints no digests, since it is logged.
impl std::fmt::Debug for TokenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tokens({})", self.len())
    }
}

/// A token of 256 random bits, as 64 hexadecimal digits.
#[cfg(feature = "server")]
pub(crate) fn token_of(random: [u8; 32]) -> String {
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest(token: &str) -> Digest {
    Sha256::digest(token.as_bytes()).into()
}

fn start(digest: &Digest) -> u64 {
    digest[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Compares every byte, in constant time. `black_box` keeps the compiler from adding an early exit.
fn same(one: &Digest, other: &Digest) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
    differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_is_accepted() {
        let mut tokens = TokenTable::default();
        assert!(tokens.add("s3cret", Identity::new("ann")));
        assert!(tokens.add("other", Identity::new("bob")));
        assert!(!tokens.add("s3cret", Identity::new("eve")), "a token has one owner");
        assert_eq!(tokens.identify("s3cret").expect("known").user, "ann");
        assert_eq!(tokens.identify("other").expect("known").user, "bob");
        for wrong in ["", "s3cre", "s3cret ", "S3CRET", "s3crets"] {
            assert_eq!(tokens.identify(wrong), None, "{wrong:?}");
        }
        assert_eq!(format!("{tokens:?}"), "Tokens(2)");
    }

    #[test]
    fn every_bit_of_a_digest_counts() {
        let one = digest("x");
        assert!(same(&one, &one));
        for bit in 0..256 {
            let mut other = one;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!same(&one, &other), "{bit}");
        }
    }

    #[test]
    fn a_generated_token_encodes_all_bits() {
        assert_eq!(token_of([0xa5; 32]), "a5".repeat(32));
        assert_eq!(token_of([0x05; 32]).len(), 64);
    }
}

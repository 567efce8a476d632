//! Shortens failing inputs, so that they are easier to read.

/// Removes pieces while the input still fails: first halves, finally single bytes. Stops when no
/// byte can be removed, or after `attempts`.
pub(super) fn shrink(input: &[u8], attempts: usize, mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let mut best = input.to_vec();
    let mut left = attempts;
    let mut piece = best.len().div_ceil(2);
    while piece > 0 {
        let before = best.len();
        let mut at = 0;
        while at < best.len() {
            if left == 0 {
                return best;
            }
            left -= 1;
            let mut shorter = best.clone();
            shorter.drain(at..(at + piece).min(best.len()));
            if fails(&shorter) {
                best = shorter;
            } else {
                at += piece;
            }
        }
        // With pieces of one byte, repeat while it helps: a byte that was needed before may now be
        // superfluous.
        if piece > 1 || best.len() == before {
            piece /= 2;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_needed_bytes_are_left() {
        let input: Vec<u8> = (0..=255).collect();
        let found = shrink(&input, 10_000, |bytes| bytes.contains(&17) && bytes.contains(&200));
        assert_eq!(found, [17, 200]);
    }

    #[test]
    fn bytes_that_become_superfluous_are_removed() {
        // The first byte can go only once the last has gone.
        let found = shrink(b"a..b", 10_000, |bytes| !bytes.starts_with(b".") || !bytes.contains(&b'b'));
        assert_eq!(found, b"");
    }

    #[test]
    fn attempts_are_limited() {
        let mut tries = 0;
        shrink(&[0; 1000], 20, |_| {
            tries += 1;
            false
        });
        assert_eq!(tries, 20);
    }
}

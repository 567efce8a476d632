//! A small sorted map of texts in one allocation.

use std::sync::Arc;

/// Keys and values, sorted by key. An empty map allocates nothing.
///
/// In the text, each key and each value is preceded by its length, so any text is allowed, and ten
/// labels are one allocation instead of twenty. A length is written in bytes of six bits, the low
/// ones first, all but the last with [`MORE`]: such bytes are ASCII characters, so the whole is
/// valid UTF-8.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pairs(Option<Arc<str>>);

const BITS: u32 = 6;
const MORE: u8 = 1 << BITS;

impl Pairs {
    /// Creates a map of pairs in any order. Of pairs with one key the last counts.
    pub(crate) fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|&(key, _)| key); // it is stable, so the last of each key is the one that came last
        // Two bytes for each length suffice for texts below 4 KiB.
        let mut text =
            String::with_capacity(pairs.iter().map(|(key, value)| key.len() + value.len() + 4).sum());
        for (at, (key, value)) in pairs.iter().enumerate() {
            if pairs.get(at + 1).is_none_or(|(next, _)| next != key) {
                push(&mut text, key);
                push(&mut text, value);
            }
        }
        Self((!text.is_empty()).then(|| text.into()))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        // Linear: lengths vary, so the middle is unknown, and objects have few labels.
        self.iter().find(|&(other, _)| other == key).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> PairsIter<'_> {
        PairsIter(self.0.as_deref().unwrap_or_default())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

fn push(text: &mut String, piece: &str) {
    let mut length = piece.len();
    while length >= usize::from(MORE) {
        // The cast keeps the low byte, of which six bits are written.
        text.push(char::from(length as u8 % MORE + MORE));
        length >>= BITS;
    }
    text.push(char::from(length as u8));
    text.push_str(piece);
}

/// The pairs, sorted by key.
#[derive(Clone)]
pub(crate) struct PairsIter<'a>(&'a str);

impl<'a> PairsIter<'a> {
    fn piece(&mut self) -> Option<&'a str> {
        let (mut length, mut at) = (0, 0);
        loop {
            let byte = *self.0.as_bytes().get(at)?;
            length += usize::from(byte % MORE) << (BITS as usize * at);
            at += 1;
            if byte < MORE {
                break;
            }
        }
        let (piece, rest) = self.0[at..].split_at(length);
        self.0 = rest;
        Some(piece)
    }
}

impl<'a> Iterator for PairsIter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.piece()?, self.piece()?))
    }
}

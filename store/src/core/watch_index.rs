//! An index from keys to the watches of spans that contain them.

use std::collections::BTreeMap;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::contract::KeySpan;

/// Watch numbers by span. Finding the watches of a key takes one lookup per distinct length of a
/// watched prefix, whatever the number of watches.
#[derive(Debug)]
pub(crate) struct WatchIndex {
    seed: FixedState,
    ones: Texts,
    prefixes: BTreeMap<usize, Texts>,
}

type Texts = HashMap<Vec<u8>, Vec<u32>, FixedState>;

impl WatchIndex {
    pub(crate) fn new(seed: u64) -> Self {
        let seed = FixedState::with_seed(seed);
        Self { ones: Texts::with_hasher(seed.clone()), seed, prefixes: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, span: &KeySpan, watch: u32) {
        let texts = match span {
            KeySpan::One(_) => &mut self.ones,
            KeySpan::Prefix(prefix) => {
                self.prefixes.entry(prefix.len()).or_insert_with(|| Texts::with_hasher(self.seed.clone()))
            }
        };
        texts.entry_ref(span.text().as_bytes()).or_default().push(watch);
    }

    pub(crate) fn remove(&mut self, span: &KeySpan, watch: u32) {
        let text = span.text().as_bytes();
        match span {
            KeySpan::One(_) => take(&mut self.ones, text, watch),
            KeySpan::Prefix(_) => {
                if let Some(texts) = self.prefixes.get_mut(&text.len()) {
                    take(texts, text, watch);
                    if texts.is_empty() {
                        self.prefixes.remove(&text.len());
                    }
                }
            }
        }
    }

    /// Returns the watches of spans that contain `key`.
    pub(crate) fn of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = u32> + 'a {
        let key = key.as_bytes();
        let prefixes =
            self.prefixes.range(..=key.len()).filter_map(|(length, texts)| texts.get(&key[..*length]));
        self.ones.get(key).into_iter().chain(prefixes).flatten().copied()
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.ones.is_empty() && self.prefixes.is_empty()
    }
}

fn take(texts: &mut Texts, text: &[u8], watch: u32) {
    if let Some(watches) = texts.get_mut(text) {
        if let Some(place) = watches.iter().position(|other| *other == watch) {
            watches.swap_remove(place);
        }
        if watches.is_empty() {
            texts.remove(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_watches_by_key_and_removes_them() {
        let spans = [
            KeySpan::all(),
            KeySpan::prefix("a/"),
            KeySpan::one("a/b"),
            KeySpan::prefix("a/b"),
            KeySpan::prefix("é"),
        ];
        let mut index = WatchIndex::new(7);
        for (watch, span) in (0..).zip(&spans) {
            index.add(span, watch);
        }
        for key in ["a/b", "a/bc", "a/", "a", "b", "é", "éa", "è"] {
            let mut found: Vec<_> = index.of(key).collect();
            found.sort_unstable();
            let wanted: Vec<_> =
                (0..).zip(&spans).filter(|(_, span)| span.contains(key)).map(|(n, _)| n).collect();
            assert_eq!(found, wanted, "{key}");
        }
        for (watch, span) in (0..).zip(&spans) {
            index.remove(span, watch);
        }
        assert!(index.is_empty());
    }
}

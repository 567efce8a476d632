//! Text from outside, as errors quote it.

/// The beginning of a text, with a mark where it was cut: an error about a megabyte is not a megabyte.
pub(crate) fn excerpt(text: &str) -> String {
    const LIMIT: usize = 64;
    match text.char_indices().nth(LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

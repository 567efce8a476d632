//! Excerpts of external text for error messages.

/// Returns the beginning of a text, with an ellipsis where it was cut, so that error messages stay
/// short.
pub(crate) fn excerpt(text: &str) -> String {
    const LIMIT: usize = 64;
    match text.char_indices().nth(LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

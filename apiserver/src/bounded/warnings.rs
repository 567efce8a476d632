//! Warnings of one response, bounded as Kubernetes bounds them.

use std::collections::BTreeSet;

/// Beyond this number of characters all warnings of a response are shortened.
const ALL_CHARACTERS: usize = 4096;

/// The number of characters of a shortened warning.
const EACH_CHARACTERS: usize = 256;

/// Returns the distinct warnings that are sent: all of them if they have 4 096 characters together;
/// otherwise the first 256 characters of each, until there are as many together.
pub(crate) fn all_warnings<'a>(warnings: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let (mut known, mut whole) = (BTreeSet::new(), 0);
    let mut distinct: Vec<&str> = Vec::new();
    for text in warnings.filter(|text| !text.is_empty()) {
        if known.insert(text) {
            whole += text.chars().take(ALL_CHARACTERS + 1).count();
            distinct.push(text);
        }
        // So many warnings are shortened to more characters than are sent.
        if distinct.len() > ALL_CHARACTERS {
            break;
        }
    }
    if whole <= ALL_CHARACTERS {
        return distinct;
    }
    let mut written = 0;
    let short = distinct.into_iter().map(first_characters).take_while(|text| {
        let has_room = written < ALL_CHARACTERS;
        written += text.chars().count();
        has_room
    });
    short.collect()
}

fn first_characters(text: &str) -> &str {
    text.char_indices().nth(EACH_CHARACTERS).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(warnings: &[&str], expected: &[&str]) {
        assert_eq!(all_warnings(warnings.iter().copied()), expected);
    }

    #[test]
    fn warnings_that_fit_are_sent_whole_and_once() {
        let long = "é".repeat(2000);
        check(&["a", "", "b", "a", &long], &["a", "b", &long]);
    }

    #[test]
    fn warnings_that_do_not_fit_are_shortened() {
        let (long, other) = ("é".repeat(4000), "x".repeat(1000));
        check(&["a", &long, &other, "b"], &["a", &"é".repeat(256), &"x".repeat(256), "b"]);
    }

    #[test]
    fn the_number_of_shortened_warnings_is_bounded_by_their_characters() {
        let many: Vec<String> = (0..100_000).map(|at| format!("{at:05}{}", "x".repeat(300))).collect();
        let sent = all_warnings(many.iter().map(String::as_str));
        assert_eq!((sent.len(), sent[15].len()), (16, 256));
    }
}

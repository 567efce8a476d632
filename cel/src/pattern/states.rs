//! The estimated number of states of a pattern, which bounds the cost of its compilation.

use regex_syntax::Parser;
use regex_syntax::hir::{Class, Hir, HirKind};

/// States of a range of characters outside of ASCII, which have several bytes.
const WIDE_RANGE: u64 = 4;

/// Estimates the states of a translated pattern; zero if it is invalid.
pub(super) fn states(translated: &str) -> u64 {
    Parser::new().parse(translated).map_or(0, |parsed| of(&parsed))
}

fn of(part: &Hir) -> u64 {
    let all = |parts: &[Hir]| parts.iter().map(of).fold(1, u64::saturating_add);
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() as u64,
        HirKind::Class(Class::Unicode(class)) => {
            class.iter().map(|range| if range.end().is_ascii() { 1 } else { WIDE_RANGE }).sum()
        }
        HirKind::Repetition(counted) => {
            let times = counted.max.unwrap_or(counted.min.max(1));
            u64::from(times).saturating_mul(of(&counted.sub).saturating_add(1))
        }
        HirKind::Capture(group) => of(&group.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_parts_have_their_states_as_often() {
        let check = |pattern: &str, expected: std::ops::RangeInclusive<u64>| {
            let found = states(pattern);
            assert!(expected.contains(&found), "{pattern}: {found}");
        };
        check("", 1..=1);
        check("abc", 3..=3);
        check("[a-z0-9]", 2..=2);
        check("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", 200..=300);
        check("a{1000}", 2000..=2000);
        check("(?:(?:a{100}){100}){100}", 2_000_000..=3_000_000);
        check("(?:.{1,1000}){1000}", 4_000_000..=9_000_000);
        check(r"\p{L}", 1000..=4000);
        check("(", 0..=0);
    }
}

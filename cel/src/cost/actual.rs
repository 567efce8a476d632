//! Run-time costs of steps. Looking up a variable costs one unit; strings cost a tenth per
//! character.

use crate::functions::opaque::Opaque;
use crate::limits::CHECK_COST;
use crate::value::{Outcome, Val};

pub(crate) const IDENT: u64 = 1;
pub(crate) const SELECT: u64 = 1;
pub(crate) const LIST: u64 = 10;
pub(crate) const MAP: u64 = 30;

/// Cost of one requirement of a selector.
const REQUIREMENT: f64 = 50.0;

/// Cost per traversed character of a string.
pub(crate) const PER_CHAR: f64 = 0.1;
/// Cost per character of a regular expression, with four characters per state.
pub(crate) const PER_REGEX_CHAR: f64 = 0.25;
/// Assumed length of the regular expressions of named formats.
pub(crate) const FORMAT_REGEX_CHARS: u64 = 128;

/// The dependence of a function's cost on its arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    One,
    Equals,
    NotEquals,
    Order,
    Plus,
    In,
    Second,
    FirstTwo,
    First,
    FirstDouble,
    ResultDouble,
    Matches,
    Contains,
    Traverse,
    Ip,
    ContainsIp,
    ContainsCidr,
    Validate,
    Sets(u64),
    Output,
    Flatten,
    Distinct,
    Sort,
    SortBy,
    Check,
    Selector,
    /// A conversion between strings and bytes, which traverses its argument.
    Convert,
}

impl Rule {
    pub(crate) fn of(function: &str) -> Self {
        match function {
            "_==_" => Self::Equals,
            "_!=_" => Self::NotEquals,
            "_<_" | "_<=_" | "_>_" | "_>=_" => Self::Order,
            "_+_" => Self::Plus,
            "@in" => Self::In,
            "startsWith" | "endsWith" => Self::Second,
            "format" | "strings.quote" => Self::FirstTwo,
            "string" | "bytes" => Self::Convert,
            "matches" | "find" | "findAll" => Self::Matches,
            "contains" => Self::Contains,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => Self::Traverse,
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
            | "quantity" | "isQuantity" | "semver" | "isSemver" => Self::First,
            "replace" | "split" | "ip.isCanonical" => Self::FirstDouble,
            "join" => Self::ResultDouble,
            "ip" => Self::Ip,
            "containsIP" => Self::ContainsIp,
            "containsCIDR" => Self::ContainsCidr,
            "validate" => Self::Validate,
            "sets.contains" | "sets.intersects" => Self::Sets(1),
            "sets.equivalent" => Self::Sets(2),
            "slice" | "lists.range" | "reverse" => Self::Output,
            "flatten" => Self::Flatten,
            "distinct" => Self::Distinct,
            "sort" => Self::Sort,
            "check" => Self::Check,
            "fieldSelector" | "labelSelector" => Self::Selector,
            "@sortByAssociatedKeys" => Self::SortBy,
            _ => Self::One,
        }
    }
}

impl Rule {
    /// Returns whether the cost is superlinear in the arguments; it then does not depend on the
    /// result.
    pub(crate) fn is_steep(self) -> bool {
        matches!(
            self,
            Self::Distinct | Self::Sort | Self::SortBy | Self::Sets(_) | Self::Matches | Self::Contains
        )
    }
}

/// Returns `size * factor`, rounded up.
pub(crate) fn part(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

#[inline(never)]
pub(crate) fn cost(rule: Rule, args: &[Val<'_>], result: &Outcome<'_>) -> u64 {
    let size = |place: usize| args.get(place).map_or(1, Val::size);
    let smaller = || part(size(0).min(size(1)), PER_CHAR);
    match (rule, args) {
        (Rule::One, _) => 1,
        (Rule::Check, _) => CHECK_COST,
        (Rule::Selector, _) => selector(size(1)),
        (Rule::Equals, [Val::Opaque(_), _]) => 1,
        (Rule::Equals | Rule::NotEquals, _) => smaller(),
        (Rule::Order, [Val::String(_) | Val::Bytes(_), _]) => smaller(),
        (Rule::Plus, [Val::String(_) | Val::Bytes(_), _]) => part(size(0) + size(1), PER_CHAR),
        (Rule::In, [_, Val::List(list)]) => list.len() as u64,
        (Rule::Second, _) => part(size(1), PER_CHAR),
        (Rule::First | Rule::FirstTwo, _) => part(size(0), PER_CHAR),
        (Rule::Convert, [Val::String(_) | Val::Bytes(_)]) => match (args, result) {
            ([Val::String(_)], Ok(Val::String(_))) | ([Val::Bytes(_)], Ok(Val::Bytes(_))) => 1,
            _ => part(size(0), PER_CHAR),
        },
        (Rule::FirstDouble, _) => part(size(0), 2.0 * PER_CHAR),
        (Rule::ResultDouble, _) => part(result.as_ref().map_or(1, Val::size), 2.0 * PER_CHAR),
        (Rule::Matches, _) => part(1 + size(0), PER_CHAR).saturating_mul(part(size(1), PER_REGEX_CHAR)),
        (Rule::Contains, _) => part(size(0), PER_CHAR).saturating_mul(part(size(1), PER_CHAR)),
        (Rule::Traverse, [first, ..]) => traversal(first),
        (Rule::Ip, [Val::Opaque(_)]) => 1,
        (Rule::Ip, _) => part(size(0), PER_CHAR),
        (Rule::ContainsIp, _) => within(args, 0),
        (Rule::ContainsCidr, _) => within(args, part(size(0), PER_CHAR) + 1),
        (Rule::Validate, [Val::Opaque(format), _]) => match &**format {
            Opaque::Format(it) => {
                part(1 + size(1), PER_CHAR).saturating_mul(part(it.regex_chars(), PER_REGEX_CHAR))
            }
            _ => 1,
        },
        (Rule::Sets(factor), _) => 1 + size(0).saturating_mul(size(1)).saturating_mul(factor),
        (Rule::Output, _) => 1 + LIST + result.as_ref().map_or(1, Val::size),
        (Rule::Flatten, [_, Val::Int(depth)]) => 1 + LIST + size(0).saturating_mul((*depth).max(1) as u64),
        (Rule::Flatten, _) => 1 + LIST + size(0),
        (Rule::Distinct | Rule::Sort, [Val::List(it), ..]) | (Rule::SortBy, [_, Val::List(it)]) => {
            let size = it.len() as u64;
            let text = matches!(it.get(0), Some(Ok(Val::String(_) | Val::Bytes(_))));
            let factor = if text { 2.0 + PER_CHAR } else { 2.0 };
            1 + LIST + (size.saturating_mul(size) as f64 * factor) as u64
        }
        _ => 1,
    }
}

/// Returns the cost of parsing a selector, with one requirement per two characters.
pub(crate) fn selector(chars: u64) -> u64 {
    let requirements = part(chars, 0.5) as f64 * REQUIREMENT;
    LIST.saturating_add(part(chars, PER_CHAR)).saturating_add(requirements.ceil() as u64)
}

fn within(args: &[Val<'_>], more: u64) -> u64 {
    let size = args.first().map_or(1, Val::size);
    let parsed = match args.get(1) {
        Some(text @ Val::String(_)) => part(text.size(), PER_CHAR),
        _ => 0,
    };
    part(size + size, PER_CHAR) + more + parsed
}

/// Returns the cost of traversing a value.
fn traversal(value: &Val<'_>) -> u64 {
    match value {
        Val::String(it) => (it.as_str().len() as f64 * PER_CHAR) as u64,
        Val::Bytes(it) => (it.len() as f64 * PER_CHAR) as u64,
        Val::List(it) => it.iter().map(|it| it.map_or(1, |it| traversal(&it))).sum(),
        Val::Map(it) => {
            let entries = it
                .entries()
                .map(|(key, value)| traversal(&key.to_val()) + value.map_or(1, |it| traversal(&it)));
            entries.sum()
        }
        _ => 1,
    }
}

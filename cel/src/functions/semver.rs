//! Semantic versions: `semver('1.2.3').isLessThan(semver('2.0.0'))`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::Function;
use super::opaque::Opaque;
use crate::value::{Outcome, Val, fail, no_overload};

/// A semantic version.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Semver {
    numbers: [u64; 3],
    pre: Vec<String>,
    build: Vec<String>,
}

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "semver" => |args| match parsed(args.values) {
            None => no_overload(),
            Some(Some(it)) => Ok(Val::Opaque(Arc::new(Opaque::Semver(it)))),
            Some(None) => fail("invalid semantic version"),
        },
        "isSemver" => |args| match parsed(args.values) {
            None => no_overload(),
            Some(it) => Ok(Val::Bool(it.is_some())),
        },
        "major" => |args| number(args.values, 0),
        "minor" => |args| number(args.values, 1),
        "patch" => |args| number(args.values, 2),
        _ => return None,
    })
}

fn parsed(values: &[Val<'_>]) -> Option<Option<Semver>> {
    match values {
        [Val::String(text)] | [Val::String(text), Val::Bool(false)] => Some(Semver::parse(text.as_str())),
        [Val::String(text), Val::Bool(true)] => Some(Semver::parse(&normal(text.as_str())?)),
        _ => None,
    }
}

fn number<'a>(values: &[Val<'a>], place: usize) -> Outcome<'a> {
    match values {
        [Val::Opaque(it)] => match &**it {
            Opaque::Semver(it) => Ok(Val::Int(it.numbers[place] as i64)),
            _ => no_overload(),
        },
        _ => no_overload(),
    }
}

/// Normalizes `v1.2` to `1.2.0`, and removes leading zeros.
fn normal(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in &mut parts {
        if part.len() > 1 {
            let trimmed = part.trim_start_matches('0');
            let bare = trimmed.is_empty() || !trimmed.starts_with(|it: char| it.is_ascii_digit());
            *part = if bare { format!("0{trimmed}") } else { trimmed.to_owned() };
        }
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|it| it.contains(['+', '-'])) {
            // Short versions have no pre-release or build.
            return Some(String::new());
        }
        parts.resize(3, "0".to_owned());
    }
    Some(parts.join("."))
}

/// Build metadata is ignored.
impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.order(other).is_eq()
    }
}

impl Semver {
    fn parse(text: &str) -> Option<Self> {
        let (rest, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, names(build, false)?),
            None => (text, Vec::new()),
        };
        let (rest, pre) = match rest.split_once('-') {
            Some((rest, pre)) => (rest, names(pre, true)?),
            None => (rest, Vec::new()),
        };
        let mut parts = rest.split('.');
        let mut number = || -> Option<u64> {
            let part = parts.next()?;
            let plain = !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
            let leading = part.len() > 1 && part.starts_with('0');
            if plain && !leading { part.parse().ok() } else { None }
        };
        let numbers = [number()?, number()?, number()?];
        parts.next().is_none().then_some(Self { numbers, pre, build })
    }

    pub(crate) fn order(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let pairs = self.pre.iter().zip(&other.pre).map(|(a, b)| name_order(a, b));
                let first = pairs.into_iter().find(|it| it.is_ne());
                first.unwrap_or_else(|| self.pre.len().cmp(&other.pre.len()))
            }
        })
    }
}

fn names(text: &str, numbers: bool) -> Option<Vec<String>> {
    let name = |it: &str| {
        let plain = !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
        let number = it.bytes().all(|it| it.is_ascii_digit());
        let leading = numbers && number && it.len() > 1 && it.starts_with('0');
        (plain && !leading).then(|| it.to_owned())
    };
    text.split('.').map(name).collect()
}

fn name_order(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (mark, names) in [('-', &self.pre), ('+', &self.build)] {
            if !names.is_empty() {
                write!(f, "{mark}{}", names.join("."))?;
            }
        }
        Ok(())
    }
}

//! Functions on strings. Indexes count characters.

use super::{Function, operators};
use crate::value::{Outcome, Val, fail, no_overload};

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "contains" => |args| two(args.values, |a, b| a.contains(b)),
        "startsWith" => |args| two(args.values, |a, b| a.starts_with(b)),
        "endsWith" => |args| two(args.values, |a, b| a.ends_with(b)),
        "charAt" => |args| match args.values {
            [Val::String(text), Val::Int(at)] => char_at(text.as_str(), *at),
            _ => no_overload(),
        },
        "lowerAscii" => |args| one(args.values, str::to_ascii_lowercase),
        "upperAscii" => |args| one(args.values, str::to_ascii_uppercase),
        "trim" => |args| one(args.values, |it| it.trim().to_owned()),
        "strings.quote" => |args| one(args.values, quote),
        "replace" => |args| replace(args.values),
        "split" => |args| split(args.values),
        "substring" => |args| substring(args.values),
        "join" => |args| join(args.values),
        "format" => |args| match args.values {
            [Val::String(text), Val::List(args)] => super::text_format::format(text.as_str(), &args.all()?),
            _ => no_overload(),
        },
        _ => return None,
    })
}

fn one<'a>(values: &[Val<'a>], change: impl Fn(&str) -> String) -> Outcome<'a> {
    match values {
        [Val::String(text)] => Ok(Val::text(change(text.as_str()))),
        _ => no_overload(),
    }
}

fn two<'a>(values: &[Val<'a>], test: impl Fn(&str, &str) -> bool) -> Outcome<'a> {
    match values {
        [Val::String(a), Val::String(b)] => Ok(Val::Bool(test(a.as_str(), b.as_str()))),
        _ => no_overload(),
    }
}

fn char_at<'a>(text: &str, at: i64) -> Outcome<'a> {
    let len = text.chars().count() as i64;
    match at {
        _ if at == len => Ok(Val::text("")),
        _ if at < 0 || at > len => fail(format!("index out of range: {at}")),
        _ => Ok(Val::text(text.chars().skip(at as usize).take(1).collect::<String>())),
    }
}

/// Finds a string, from an index or up to it.
pub(super) fn index_of<'a>(values: &[Val<'a>], last: bool) -> Outcome<'a> {
    let (text, part, from) = match values {
        [Val::String(text), Val::String(part)] => (text.as_str(), part.as_str(), None),
        [Val::String(text), Val::String(part), Val::Int(from)] => (text.as_str(), part.as_str(), Some(*from)),
        _ => return no_overload(),
    };
    let chars = text.chars().count() as i64;
    if part.is_empty() {
        return match from {
            Some(from) => Ok(Val::Int(from)),
            None => Ok(Val::Int(if last { chars } else { 0 })),
        };
    }
    if let Some(from) = from
        && (from < 0 || from >= chars)
    {
        // After the end nothing is found; before the start is an invalid index.
        return if from < 0 { fail(format!("index out of range: {from}")) } else { Ok(Val::Int(-1)) };
    }
    let byte_of = |at: i64| text.char_indices().nth(at as usize).map_or(text.len(), |it| it.0);
    let found = if last {
        let end = from.map_or(text.len(), |from| (byte_of(from) + part.len()).min(text.len()));
        // The end may fall inside a character: then there is no match.
        let end = (end..=text.len()).find(|it| text.is_char_boundary(*it)).unwrap_or(text.len());
        let limit = from.map_or(usize::MAX, byte_of);
        text[..end].rmatch_indices(part).map(|it| it.0).find(|it| *it <= limit)
    } else {
        let start = from.map_or(0, byte_of);
        text[start..].find(part).map(|it| it + start)
    };
    Ok(Val::Int(found.map_or(-1, |at| text[..at].chars().count() as i64)))
}

fn replace<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let (text, from, to, most) = match values {
        [Val::String(text), Val::String(from), Val::String(to)] => (text, from, to, -1),
        [Val::String(text), Val::String(from), Val::String(to), Val::Int(most)] => (text, from, to, *most),
        _ => return no_overload(),
    };
    let (text, from, to) = (text.as_str(), from.as_str(), to.as_str());
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let times = text.matches(from).count().min(most);
    // Before the allocation: the cost is that of the text, and the result may be far larger.
    operators::bounded(text.len() + times.saturating_mul(to.len()))?;
    Ok(Val::text(text.replacen(from, to, most)))
}

fn split<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let (text, by, most) = match values {
        [Val::String(text), Val::String(by)] => (text.as_str(), by.as_str(), -1),
        [Val::String(text), Val::String(by), Val::Int(most)] => (text.as_str(), by.as_str(), *most),
        _ => return no_overload(),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let parts: Vec<Val<'a>> = if most == 0 {
        Vec::new()
    } else if by.is_empty() {
        let cut = text.char_indices().nth(most - 1).map_or(text.len(), |it| it.0);
        let chars = text[..cut].chars().map(|it| Val::text(it.to_string()));
        let rest = Some(&text[cut..]).filter(|it| !it.is_empty());
        chars.chain(rest.map(Val::text)).collect()
    } else {
        text.splitn(most, by).map(Val::text).collect()
    };
    Ok(Val::list(parts))
}

fn substring<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let (text, from, to) = match values {
        [Val::String(text), Val::Int(from)] => (text.as_str(), *from, None),
        [Val::String(text), Val::Int(from), Val::Int(to)] => (text.as_str(), *from, Some(*to)),
        _ => return no_overload(),
    };
    let chars = text.chars().count() as i64;
    let end = to.unwrap_or(chars);
    if from < 0 || from > chars {
        return fail(format!("index out of range: {from}"));
    }
    if end < 0 || end > chars {
        return fail(format!("index out of range: {end}"));
    }
    if from > end {
        return fail(format!("invalid substring range. start: {from}, end: {end}"));
    }
    let part: String = text.chars().skip(from as usize).take((end - from) as usize).collect();
    Ok(Val::text(part))
}

fn join<'a>(values: &[Val<'a>]) -> Outcome<'a> {
    let (list, by) = match values {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(by)] => (list, by.as_str()),
        _ => return no_overload(),
    };
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        let Val::String(item) = item? else { return no_overload() };
        if index > 0 {
            joined.push_str(by);
        }
        joined.push_str(item.as_str());
        operators::bounded(joined.len())?;
    }
    Ok(Val::text(joined))
}

/// Returns the string as a CEL literal.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for it in text.chars() {
        match it {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            it => quoted.push(it),
        }
    }
    quoted.push('"');
    quoted
}

//! Named formats: `format.dns1123Label().validate('a-name')` returns none if valid, else the
//! errors.

use std::sync::Arc;

use base64::Engine;

use super::Function;
use super::opaque::Opaque;
use super::{time, url};
use crate::value::{Outcome, Val, no_overload};

/// A format of the `format` library, by its index in the table of formats.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Format(pub(crate) usize);

/// Names, and the assumed length of their regular expressions.
const FORMATS: [(&str, u64); 13] = [
    ("dns1123Label", 30),
    ("dns1123Subdomain", 60),
    ("dns1035Label", 30),
    ("qualifiedName", 60),
    ("dns1123LabelPrefix", 30),
    ("dns1123SubdomainPrefix", 60),
    ("dns1035LabelPrefix", 30),
    ("labelValue", 40),
    ("uri", 1104),
    ("uuid", 69),
    ("byte", 84),
    ("date", 69),
    ("datetime", 69),
];

impl Format {
    pub(crate) fn name(self) -> &'static str {
        FORMATS[self.0].0
    }

    pub(crate) fn regex_chars(self) -> u64 {
        FORMATS[self.0].1
    }
}

macro_rules! named {
    ($name:expr, $($place:literal)*) => {
        match $name {
            $(name if name == FORMATS[$place].0 => Some((|_| Ok(value($place))) as Function),)*
            _ => None,
        }
    };
}

pub(super) fn function(name: &str) -> Option<Function> {
    if let Some(name) = name.strip_prefix("format.").filter(|it| *it != "named") {
        return named!(name, 0 1 2 3 4 5 6 7 8 9 10 11 12);
    }
    Some(match name {
        "format.named" => |args| match args.values {
            [Val::String(name)] => {
                let place = FORMATS.iter().position(|it| it.0 == name.as_str());
                Ok(Val::Optional(place.map(|it| Arc::new(value(it)))))
            }
            _ => no_overload(),
        },
        "validate" => |args| match args.values {
            [Val::Opaque(format), Val::String(text)] => match **format {
                Opaque::Format(format) => validate(format, text.as_str()),
                _ => no_overload(),
            },
            _ => no_overload(),
        },
        _ => return None,
    })
}

fn value<'a>(place: usize) -> Val<'a> {
    Val::Opaque(Arc::new(Opaque::Format(Format(place))))
}

fn validate<'a>(format: Format, text: &str) -> Outcome<'a> {
    let wrong: Vec<&str> = match format.name() {
        "dns1123Label" => label(text, false),
        "dns1123LabelPrefix" => label(&unprefixed(text), false),
        "dns1035Label" => label(text, true),
        "dns1035LabelPrefix" => label(&unprefixed(text), true),
        "dns1123Subdomain" => subdomain(text),
        "dns1123SubdomainPrefix" => subdomain(&unprefixed(text)),
        "qualifiedName" => qualified(text),
        "labelValue" => match text.is_empty() || part(text) {
            _ if text.len() > 63 => vec!["must be no more than 63 characters"],
            true => vec![],
            false => vec![
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ],
        },
        "uri" => wrong_if(url::Url::parse(text).is_err(), "invalid URI for request"),
        "uuid" => wrong_if(!uuid(text), "does not match the UUID format"),
        "byte" => wrong_if(
            text.is_empty() || base64::engine::general_purpose::STANDARD.decode(text).is_err(),
            "invalid base64",
        ),
        "date" => wrong_if(time::date(text).is_none(), "invalid date"),
        _ => wrong_if(time::parse_timestamp(text).is_none(), "invalid datetime"),
    };
    if wrong.is_empty() {
        return Ok(Val::Optional(None));
    }
    Ok(Val::some(Val::list(wrong.into_iter().map(Val::text).collect())))
}

fn wrong_if(wrong: bool, why: &'static str) -> Vec<&'static str> {
    if wrong { vec![why] } else { vec![] }
}

/// Returns a prefix completed to a name: a final dash is allowed.
fn unprefixed(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        _ => text.to_owned(),
    }
}

fn inner(text: &str, first: impl Fn(u8) -> bool, middle: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let (Some(from), Some(to)) = (bytes.first(), bytes.last()) else { return false };
    let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    first(*from) && plain(*to) && bytes.iter().all(|it| middle(*it))
}

pub(super) fn is_label(text: &str) -> bool {
    let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    inner(text, plain, |it| plain(it) || it == b'-')
}

fn label(text: &str, letter_first: bool) -> Vec<&'static str> {
    let mut wrong = wrong_if(text.len() > 63, "must be no more than 63 characters");
    if letter_first {
        let fits = is_label(text) && text.starts_with(|it: char| it.is_ascii_lowercase());
        wrong.extend(wrong_if(
            !fits,
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        ));
    } else {
        wrong.extend(wrong_if(
            !is_label(text),
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        ));
    }
    wrong
}

pub(super) fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn subdomain(text: &str) -> Vec<&'static str> {
    let mut wrong = wrong_if(text.len() > 253, "must be no more than 253 characters");
    wrong.extend(wrong_if(
        !is_subdomain(text),
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ));
    wrong
}

fn part(text: &str) -> bool {
    let edge = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    let middle = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    edge(text.chars().next()) && edge(text.chars().last()) && text.chars().all(middle)
}

fn qualified(text: &str) -> Vec<&'static str> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let mut wrong = match prefix {
        Some("") => vec!["prefix part must be non-empty"],
        Some(prefix) => subdomain(prefix),
        None => vec![],
    };
    wrong.extend(wrong_if(name.is_empty(), "name part must be non-empty"));
    wrong.extend(wrong_if(name.len() > 63, "name part must be no more than 63 characters"));
    wrong.extend(wrong_if(
        !part(name),
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ));
    wrong
}

fn uuid(text: &str) -> bool {
    let digits: Vec<&str> = text.split('-').collect();
    let hex = |it: &str| it.bytes().all(|it| it.is_ascii_hexdigit());
    let lengths: Vec<usize> = digits.iter().map(|it| it.len()).collect();
    (lengths == [8, 4, 4, 4, 12] || lengths == [32]) && digits.iter().all(|it| hex(it))
}

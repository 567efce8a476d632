//! URLs as Go's `url.ParseRequestURI` parses them: absolute, or a path.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::Function;
use super::opaque::Opaque;
use super::uri::{is_request_uri, split_scheme};
use crate::value::{Key, Map, Outcome, Text, Val, fail, no_overload};

/// A parsed URL.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Url {
    scheme: String,
    user: Option<String>,
    host: String,
    path: String,
    query: Option<String>,
}

pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "url" => |args| match args.values {
            [Val::String(text)] => match Url::parse(text.as_str()) {
                Ok(url) => Ok(Val::Opaque(Arc::new(Opaque::Url(url)))),
                Err(why) => fail(format!("URL parse error during conversion from string: {why}")),
            },
            _ => no_overload(),
        },
        "isURL" => |args| match args.values {
            [Val::String(text)] => Ok(Val::Bool(Url::parse(text.as_str()).is_ok())),
            _ => no_overload(),
        },
        "getScheme" => |args| part(args.values, |it| Val::text(it.scheme.clone())),
        "getHost" => |args| part(args.values, |it| Val::text(it.host.clone())),
        "getHostname" => |args| part(args.values, |it| Val::text(it.split_host().0)),
        "getPort" => |args| part(args.values, |it| Val::text(it.split_host().1)),
        "getEscapedPath" => |args| part(args.values, |it| Val::text(escaped(&it.path))),
        "getQuery" => |args| part(args.values, Url::values),
        _ => return None,
    })
}

fn part<'a>(values: &[Val<'a>], of: impl Fn(&Url) -> Val<'a>) -> Outcome<'a> {
    match values {
        [Val::Opaque(it)] => match &**it {
            Opaque::Url(url) => Ok(of(url)),
            _ => no_overload(),
        },
        _ => no_overload(),
    }
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !is_request_uri(text) {
            return Err(format!("parse {text:?}: it is no URL of a request"));
        }
        let (scheme, rest) = split_scheme(text).unwrap_or(("", text));
        let scheme = scheme.to_lowercase();
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        if !rest.starts_with('/') {
            // `mailto:a@b` is opaque and has neither host nor path; `*` is a path.
            let path = if scheme.is_empty() { rest.to_owned() } else { String::new() };
            return Ok(Self { scheme, user: None, host: String::new(), path, query });
        }
        let (mut user, mut host, mut path) = (None, String::new(), rest);
        if let Some(after) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            let end = after.find('/').unwrap_or(after.len());
            let authority;
            (authority, path) = after.split_at(end);
            let named = match authority.rsplit_once('@') {
                Some((name, named)) => {
                    user = Some(name.to_owned());
                    named
                }
                None => authority,
            };
            host = unescaped(named).unwrap_or_default();
        }
        Ok(Self { scheme, user, host, path: path.to_owned(), query })
    }

    /// Returns the host without its port, and the port.
    fn split_host(&self) -> (&str, &str) {
        let colon = self.host.rfind(':').filter(|at| self.host[at + 1..].bytes().all(|c| c.is_ascii_digit()));
        let (host, port) = colon.map_or((&*self.host, ""), |at| (&self.host[..at], &self.host[at + 1..]));
        (host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host), port)
    }

    fn values<'a>(&self) -> Val<'a> {
        let mut entries: BTreeMap<String, Vec<Val<'a>>> = BTreeMap::new();
        for pair in self.query.iter().flat_map(|it| it.split('&')) {
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |it: &str| unescaped(&it.replace('+', " "));
            if let (Some(key), Some(value)) = (decoded(key), decoded(value)) {
                entries.entry(key).or_default().push(Val::text(value));
            }
        }
        let entry =
            |(key, values): (String, Vec<Val<'a>>)| (Key::String(Text::Made(key.into())), Val::list(values));
        Val::Map(Map::made(entries.into_iter().map(entry).collect()))
    }
}

/// Decodes percent escapes; `None` if one is invalid.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(it) = rest.next() {
        if it != b'%' {
            bytes.push(it);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Escapes characters that are invalid in a path.
fn escaped(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if !self.host.is_empty() {
            write!(f, "//")?;
            if let Some(user) = &self.user {
                write!(f, "{user}@")?;
            }
            write!(f, "{}", self.host)?;
        }
        write!(f, "{}", escaped(&self.path))?;
        match &self.query {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}

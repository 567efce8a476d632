//! RequestInfo: the resource, namespace, name and subresource in a path. It is parsed once:
//! authorization, audit and the handler see the same result.

use std::fmt;

use crate::refusal::Refusal;

/// Maximum length of an encoded path, in bytes.
const MAX_PATH: usize = 8 << 10;

/// The target of a path: the first half of Kubernetes' RequestInfo.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// Objects of one kind, or one, or a part of one.
    Resource(Resource),
    /// Anything else, by its segments: `/healthz`, `/apis`, `/apis/apps/v1`.
    Other(Vec<String>),
    /// No resource of any server: segments that are empty or of dots.
    Nothing,
}

/// Objects of one kind, or one of them, or a part of it.
///
/// No part is empty, `.` or `..`, and none has a slash, a `%` or a control character in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Resource {
    /// Empty for the oldest group, which is below `/api`.
    pub(crate) group: String,
    pub(crate) version: String,
    /// Whether the path itself requests a watch, by the legacy prefix.
    pub(crate) watched: bool,
    /// The namespace of the requested objects. None for `/namespaces/NAME`: a Namespace is
    /// cluster-scoped.
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The ID of an interest in these objects; then there is neither a name nor a subresource.
    pub(crate) interest: Option<String>,
    /// The segments after a subresource, which only proxies interpret.
    pub(crate) rest: Vec<String>,
}

/// Subresources of a Namespace, not kinds of objects in it.
const OF_NAMESPACES: [&str; 2] = ["status", "finalize"];

/// The segment between a collection and the ID of an interest in it.
const INTERESTS: &str = "interests";

impl Target {
    /// Parses a percent-encoded path, without scheme, host and query.
    ///
    /// A path has one form. Paths that another parser might read differently are refused or have no
    /// target: segments that are empty or of dots, encoded slashes, invalid UTF-8. One slash at the
    /// end is ignored, as generated clients write it.
    pub(crate) fn parse(path: &str) -> Result<Self, Refusal> {
        let Some(path) = path.strip_prefix('/') else {
            return Err(Refusal::bad_request("the path of the request must begin with a slash"));
        };
        if path.len() > MAX_PATH {
            return Err(Refusal::bad_request(format!(
                "the path of the request is longer than {MAX_PATH} bytes"
            )));
        }
        if path.is_empty() {
            return Ok(Self::Other(Vec::new()));
        }
        let parts = path.strip_suffix('/').unwrap_or(path).split('/');
        let parts = parts.map(segment).collect::<Result<Vec<_>, _>>()?;
        let odd = parts.iter().filter(|part| is_odd(part)).count();
        match resource(&parts) {
            Some(Resource { name: Some(name), .. }) if odd == 1 && is_odd(&name) && !name.is_empty() => {
                Err(Refusal::bad_request(format!("Name parameter invalid: {name:?}: may not be '{name}'")))
            }
            _ if odd > 0 => Ok(Self::Nothing),
            Some(resource) => Ok(Self::Resource(resource)),
            None => Ok(Self::Other(parts)),
        }
    }
}

impl Resource {
    /// The namespace in which the request is authorized: a Namespace is in itself there.
    pub(crate) fn authorized_in(&self) -> Option<&str> {
        match &self.namespace {
            Some(namespace) => Some(namespace),
            None if self.plural == "namespaces" => self.name.as_deref(),
            None => None,
        }
    }
}

/// Decodes one segment.
fn segment(raw: &str) -> Result<String, Refusal> {
    let decoded = decode(raw).ok_or_else(|| {
        Refusal::bad_request(format!("the path of the request has a malformed part: {raw:?}"))
    })?;
    let outside = |char: char| char == '/' || char == '%' || char == '\\' || char.is_control();
    if decoded.contains(outside) {
        return Err(Refusal::bad_request(format!(
            "the path of the request has a part that names nothing: {raw:?}"
        )));
    }
    Ok(decoded)
}

/// A path with such a segment would be the same as one without it to some, and another one to
/// others.
fn is_odd(segment: &str) -> bool {
    matches!(segment, "" | "." | "..")
}

/// Decodes percent-encoding; `None` if the digits are invalid, or the bytes not UTF-8.
pub(crate) fn decode(raw: &str) -> Option<String> {
    if !raw.contains('%') {
        return Some(raw.to_owned());
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            bytes.push(16 * digit(digits[0])? + digit(digits[1])?);
            rest = after;
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn resource(parts: &[String]) -> Option<Resource> {
    let (group, version, rest) = match parts {
        [api, version, rest @ ..] if api == "api" && !rest.is_empty() => ("", version, rest),
        [apis, group, version, rest @ ..] if apis == "apis" && !rest.is_empty() => {
            (group.as_str(), version, rest)
        }
        _ => return None,
    };
    let (watched, rest) = match rest {
        [watch, rest @ ..] if watch == "watch" && !rest.is_empty() => (true, rest),
        _ => (false, rest),
    };
    let (namespace, rest) = match rest {
        [plural, interests, id] if group.is_empty() && is_of_namespaces(plural, interests, id) => {
            (None, rest)
        }
        [plural, namespace, below, ..]
            if plural == "namespaces" && !OF_NAMESPACES.contains(&below.as_str()) =>
        {
            (Some(namespace.clone()), &rest[2..])
        }
        _ => (None, rest),
    };
    if let [plural, interests, id] = rest
        && interests == INTERESTS
        && !watched
        && is_interest(id)
    {
        let (group, version, plural) = (group.to_owned(), version.clone(), plural.clone());
        let interest = Some(id.clone());
        return Some(Resource { group, version, namespace, plural, interest, ..Resource::default() });
    }
    Some(Resource {
        group: group.to_owned(),
        version: version.clone(),
        watched,
        namespace,
        plural: rest.first()?.clone(),
        name: rest.get(1).cloned(),
        subresource: rest.get(2).cloned(),
        interest: None,
        rest: rest.get(3..).unwrap_or_default().to_vec(),
    })
}

/// Returns whether the path is an interest in Namespaces, and not a collection in the namespace
/// called
/// `interests`.
fn is_of_namespaces(plural: &str, interests: &str, id: &str) -> bool {
    plural == "namespaces" && interests == INTERESTS && is_interest(id)
}

/// Returns whether an interest may have this ID. No subresource and no kind that is in namespaces
/// of Kubernetes is called so.
pub(crate) fn is_interest(id: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (16..=64).contains(&id.len()) && id.bytes().all(fine) && id.bytes().any(|byte| byte.is_ascii_digit())
}

/// The path that parses to this, encoded where it must be.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(resource) => resource.fmt(f),
            Self::Other(parts) if parts.is_empty() => f.write_str("/"),
            Self::Nothing => f.write_str("//"),
            Self::Other(parts) => parts.iter().try_for_each(|part| write_segment(f, part)),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.group.is_empty() { "/api" } else { "/apis" })?;
        if !self.group.is_empty() {
            write_segment(f, &self.group)?;
        }
        write_segment(f, &self.version)?;
        if self.watched {
            f.write_str("/watch")?;
        }
        if let Some(namespace) = &self.namespace {
            f.write_str("/namespaces")?;
            write_segment(f, namespace)?;
        }
        write_segment(f, &self.plural)?;
        if let Some(interest) = &self.interest {
            write_segment(f, INTERESTS)?;
            write_segment(f, interest)?;
        }
        for part in self.name.iter().chain(&self.subresource).chain(&self.rest) {
            write_segment(f, part)?;
        }
        Ok(())
    }
}

fn write_segment(f: &mut fmt::Formatter<'_>, segment: &str) -> fmt::Result {
    f.write_str("/")?;
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b':'
            | b'@'
            | b'='
            | b'+' => {
                write!(f, "{}", char::from(byte))?;
            }
            _ => write!(f, "%{byte:02X}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! JSON pointers, RFC 6901.

use serde_json::Value;

use super::limits::DEEPEST;
use crate::patch::refused::rejected;
use crate::refusal::Refusal;

/// A parsed JSON pointer: the path of a value in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    text: String,
    tokens: Vec<String>,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let Some(rest) = text.strip_prefix('/') else {
            if text.is_empty() {
                return Ok(Self { text: String::new(), tokens: Vec::new() });
            }
            return Err(rejected(format!("path {text:?} does not begin with a slash")));
        };
        // `~01` is `~1`: the order of the two matters.
        let tokens: Vec<_> = rest
            .split('/')
            .take(DEEPEST + 1)
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect();
        if tokens.len() > DEEPEST {
            return Err(rejected("a path is longer than a document can be deep"));
        }
        Ok(Self { text: text.into(), tokens })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Number of containers that enclose the value.
    pub(super) fn depth(&self) -> usize {
        self.tokens.len()
    }

    /// The path of the container and the last token; none for the whole document.
    pub(super) fn split(&self) -> Option<(&[String], &str)> {
        self.tokens.split_last().map(|(last, parents)| (parents, last.as_str()))
    }

    pub(super) fn get<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        get(document, &self.tokens)
    }

    /// Returns whether the pointer addresses a field of an existing object. The field may be
    /// missing.
    pub(super) fn in_object(&self, document: &Value) -> bool {
        self.split().is_some_and(|(parents, _)| get(document, parents).is_some_and(Value::is_object))
    }
}

fn get<'a>(document: &'a Value, tokens: &[String]) -> Option<&'a Value> {
    tokens.iter().try_fold(document, |at, token| match at {
        Value::Object(fields) => fields.get(token),
        Value::Array(items) => items.get(index(token, items.len())?),
        _ => None,
    })
}

/// Returns the value at a path.
pub(super) fn find<'a>(document: &'a mut Value, tokens: &[String]) -> Option<&'a mut Value> {
    tokens.iter().try_fold(document, |at, token| match at {
        Value::Object(fields) => fields.get_mut(token),
        Value::Array(items) => {
            let at = index(token, items.len())?;
            items.get_mut(at)
        }
        _ => None,
    })
}

/// Parses a token as an index into a list of length `of`: digits without a leading zero. A negative
/// one counts from the end, as in Kubernetes.
pub(super) fn index(token: &str, of: usize) -> Option<usize> {
    let digits = token.strip_prefix('-').unwrap_or(token);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: usize =
        digits.parse().ok().filter(|_| plain && (digits == "0" || !digits.starts_with('0')))?;
    if digits.len() == token.len() { Some(number) } else { of.checked_sub(number) }
}

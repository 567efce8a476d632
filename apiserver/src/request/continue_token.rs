//! Continue tokens of paginated lists.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::json::type_name;
use crate::refusal::Refusal;

/// The only version of the token's contents.
const VERSION: &str = "meta.k8s.io/v1";

/// Maximum length of an encoded token: several times the longest key of a store with default
/// limits, 1024 bytes, each of which is six in JSON.
const MAX_TOKEN: usize = 32 << 10;

/// The position of the next page, and the revision of the list.
///
/// Clients can forge tokens. Therefore the start is always below the prefix of the list: one or two
/// names of a key, none of them empty or of dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    pub(crate) at: ContinueAt,
    start: String,
}

/// The revision of the rest of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContinueAt {
    /// The revision of the first page.
    Revision(u64),
    /// The newest revision: for clients that accept inconsistent pages.
    Newest,
}

/// The contents of a token, as JSON.
#[derive(Default)]
struct Inside {
    v: String,
    rv: i64,
    start: String,
}

impl ContinueToken {
    /// Creates a token of a list that continues with this key, or the first one after it, below the
    /// prefix of the list. `None` if it could not be parsed back.
    pub(crate) fn new(at: ContinueAt, start: impl Into<String>) -> Option<Self> {
        let start = start.into();
        let revision = match at {
            ContinueAt::Revision(revision) => revision != 0 && i64::try_from(revision).is_ok(),
            ContinueAt::Newest => true,
        };
        (revision && well_formed(&start)).then_some(Self { at, start })
    }

    /// The first key of the next page, below the prefix of the list: `NAMESPACE/NAME` in a list of
    /// all namespaces, else `NAME`, with a suffix that makes it the first text after that.
    pub(crate) fn start(&self) -> &str {
        &self.start
    }

    /// Encodes the token for clients.
    pub(crate) fn encode(&self) -> String {
        let rv = match self.at {
            ContinueAt::Revision(revision) => i64::try_from(revision).unwrap_or(i64::MAX),
            ContinueAt::Newest => -1,
        };
        URL_SAFE_NO_PAD.encode(json!({"v": VERSION, "rv": rv, "start": self.start}).to_string())
    }

    /// Decodes a token from a client, or fails with 400.
    pub(crate) fn decode(token: &str) -> Result<Self, Refusal> {
        if token.len() > MAX_TOKEN {
            return Err(wrong(&format!("longer than {MAX_TOKEN} bytes")));
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| wrong(&not_base64(&error)))?;
        let inside = Inside::read(&bytes).map_err(|why| wrong(&why))?;
        let at = match &inside {
            Inside { v, .. } if v != VERSION => {
                return Err(wrong(&format!("server does not recognize this encoded version {v}")));
            }
            Inside { rv: -1, .. } => ContinueAt::Newest,
            Inside { rv: 1.., .. } => ContinueAt::Revision(inside.rv.unsigned_abs()),
            _ => return Err(wrong(&format!("incorrect encoded start resourceVersion (version {VERSION})"))),
        };
        if inside.start.is_empty() {
            return Err(wrong(&format!("encoded start key empty (version {VERSION})")));
        }
        Self::new(at, inside.start.as_str()).ok_or_else(|| wrong(&inside.start))
    }
}

/// Returns whether the start is one or two names, the last optionally with the suffix that makes it
/// the next text.
fn well_formed(start: &str) -> bool {
    let keys = start.strip_suffix('\0').unwrap_or(start);
    keys.split('/').count() <= 2
        && keys.split('/').all(|name| !matches!(name, "" | "." | "..") && !name.contains('\0'))
}

impl Inside {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let wrong = |value: &Value, place: &str| {
            format!("json: cannot unmarshal {} into Go {place}", type_name(value))
        };
        let map = match crate::json::read(bytes).map_err(|why| why.to_string())?.value {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => map,
            other => return Err(wrong(&other, "value of type storage.continueToken")),
        };
        let text = |key: &str| match map.get(key) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(wrong(other, &format!("struct field continueToken.{key} of type string"))),
        };
        let rv = match map.get("rv") {
            None | Some(Value::Null) => 0,
            Some(value) => {
                value.as_i64().ok_or_else(|| wrong(value, "struct field continueToken.rv of type int64"))?
            }
        };
        Ok(Self { v: text("v")?, rv, start: text("start")? })
    }
}

fn wrong(why: &str) -> Refusal {
    Refusal::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
}

fn not_base64(error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(length) => *length,
        base64::DecodeError::InvalidPadding => 0,
    };
    format!("illegal base64 data at input byte {at}")
}

#[cfg(test)]
mod tests {
    use machinery_objects::NameRule;
    use proptest::prelude::*;

    use super::*;

    fn token(inside: &str) -> String {
        URL_SAFE_NO_PAD.encode(inside)
    }

    fn check(inside: &str, at: ContinueAt, start: &str) {
        let decoded = ContinueToken::decode(&token(inside)).unwrap();
        assert_eq!((decoded.at, decoded.start()), (at, start));
        assert_eq!(ContinueToken::decode(&decoded.encode()), Ok(decoded));
    }

    fn rejected(token: &str, why: &str) {
        let refusal = ContinueToken::decode(token).unwrap_err();
        assert_eq!(refusal.code, 400);
        assert_eq!(refusal.message, format!("invalid continue token: continue key is not valid: {why}"));
    }

    #[test]
    fn tokens() {
        check(r#"{"v":"meta.k8s.io/v1","rv":7,"start":"a/b\u0000"}"#, ContinueAt::Revision(7), "a/b\0");
        check(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"b\u0000"}"#, ContinueAt::Newest, "b\0");
        check(r#"{"v":"meta.k8s.io/v1","rv":7,"start":"b","x":[]}"#, ContinueAt::Revision(7), "b");
    }

    #[test]
    fn forged_ones() {
        rejected("!", "illegal base64 data at input byte 0");
        rejected(
            &token(r#"{"v":"v2","rv":1,"start":"a"}"#),
            "server does not recognize this encoded version v2",
        );
        rejected(&token("{}"), "server does not recognize this encoded version ");
        let key = |rv: i64, start: &str| {
            token(&serde_json::json!({"v": VERSION, "rv": rv, "start": start}).to_string())
        };
        for rv in [0, -2, i64::MIN] {
            rejected(&key(rv, "a"), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
        }
        rejected(&key(1, ""), "encoded start key empty (version meta.k8s.io/v1)");
        for start in ["../b", "a/..", "a/../b", "./a", "/a", "a/", "a//b", "a/b/c", "a\0/b", "a\0\0", "\0"] {
            rejected(&key(1, start), start);
        }
        rejected(&token("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken");
        rejected(
            &token(r#"{"v":1}"#),
            "json: cannot unmarshal number into Go struct field continueToken.v of type string",
        );
        rejected(&token("{"), "unexpected end of JSON input");
        assert!(ContinueToken::decode(&token("{\"rv\":1e99}")).is_err());
        assert!(ContinueToken::decode(&token(&format!("{{\"v\":\"{}\"}}", "x".repeat(MAX_TOKEN)))).is_err());
        assert_eq!(ContinueToken::new(ContinueAt::Revision(0), "a"), None);
        assert_eq!(ContinueToken::new(ContinueAt::Revision(u64::MAX), "a"), None);
        assert_eq!(ContinueToken::new(ContinueAt::Newest, "../a"), None);
    }

    proptest! {
        #[test]
        fn tokens_survive_a_round_trip(revision in 1..=i64::MAX as u64, start in "[a-z]{1,9}(/[a-z.]{0,3}[a-z])?\0?") {
            let token = ContinueToken::new(ContinueAt::Revision(revision), start).unwrap();
            prop_assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
        }

        /// A control character ended a list as if it was all, and a long name made a token that was
        /// refused.
        #[test]
        fn every_object_name_has_a_token(
            namespace in prop::option::of("[a-z]{1,63}"),
            name in prop_oneof!["[^/%\0]{1,40}", "[\x01-\x1f]{1000,1024}", "[^/%\0]{250}", "[\"\\\\.]{1,1024}"],
        ) {
            prop_assume!(NameRule::PathSegment.check(&name).is_ok());
            let start = namespace.map_or(format!("{name}\0"), |namespace| format!("{namespace}/{name}\0"));
            for at in [ContinueAt::Revision(i64::MAX as u64), ContinueAt::Newest] {
                let token = ContinueToken::new(at, start.as_str()).unwrap();
                prop_assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
            }
        }

        #[test]
        fn no_token_panics_or_leaves_its_prefix(text in "\\PC{0,40}", inside in "\\PC{0,40}", start in "[./a\0]{0,8}") {
            let _ = ContinueToken::decode(&text);
            let _ = ContinueToken::decode(&token(&inside));
            let made = token(&serde_json::json!({"v": VERSION, "rv": 1, "start": start}).to_string());
            if let Ok(token) = ContinueToken::decode(&made) {
                prop_assert!(token.start().split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
        }
    }
}

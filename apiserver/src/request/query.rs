//! Query parameters of a request.

use super::path::decode;
use crate::refusal::Refusal;

/// Maximum length of an encoded query, in bytes.
const MAX_QUERY: usize = 64 << 10;

/// The query parameters, in order. Of a repeated one the first counts, and unknown ones are
/// ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the text after the `?`.
    ///
    /// Where Kubernetes drops a pair that is malformed, and so might list everything, it is
    /// refused.
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, Refusal> {
        let query = query.unwrap_or_default();
        if query.len() > MAX_QUERY {
            return Err(Refusal::bad_request(format!(
                "the query of the request is longer than {MAX_QUERY} bytes"
            )));
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            word(key).zip(word(value)).ok_or(pair)
        });
        pairs.collect::<Result<_, _>>().map(Self).map_err(malformed)
    }

    /// Returns the number of bytes of all parameters.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(key, value)| key.len() + value.len()).sum()
    }

    /// The first value of a parameter.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns all values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, or nothing: for most an empty value is as none.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.first(name).filter(|value| !value.is_empty())
    }

    /// Returns a boolean parameter: true if present, unless it is `0` or `false`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.choice(name).unwrap_or(false)
    }

    /// Returns a boolean parameter, if it is present.
    pub(super) fn choice(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Parses an integer parameter, if present.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, Refusal> {
        self.first(name).map(number).transpose()
    }

    /// Returns whether the response is indented: by parameter, or else by the User-Agent.
    pub(crate) fn pretty(&self, user_agent: Option<&str>) -> bool {
        match self.text("pretty") {
            Some(value) => matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True"),
            None => user_agent.is_some_and(|agent| {
                ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known))
            }),
        }
    }
}

fn number(text: &str) -> Result<i64, Refusal> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    text.parse().map_err(|error: std::num::ParseIntError| {
        let why = match error.kind() {
            NegOverflow | PosOverflow => "value out of range",
            _ => "invalid syntax",
        };
        Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
    })
}

fn word(raw: &str) -> Option<String> {
    if raw.contains('+') { decode(&raw.replace('+', " ")) } else { decode(raw) }
}

fn malformed(pair: &str) -> Refusal {
    let shown: String = pair.chars().take(64).collect();
    Refusal::bad_request(format!("the query of the request has a malformed parameter: {shown:?}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Query;

    fn check(query: &str, name: &str, expected: &[&str]) {
        assert_eq!(Query::parse(Some(query)).unwrap().all(name).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn parameters() {
        check("a=1&b=2&a=3", "a", &["1", "3"]);
        check("a", "a", &[""]);
        check("a=b=c&&", "a", &["b=c"]);
        check("x=a+b%2Bc%26%3d", "x", &["a b+c&="]);
        check("%61=1", "a", &["1"]);
        check("a=1;b=2", "a", &["1;b=2"]);
        assert_eq!(Query::parse(None).unwrap(), Query::default());
        for query in ["a=%", "a=%2", "%zz=1", "a=%ff", &"a".repeat(100_000)] {
            assert_eq!(Query::parse(Some(query)).unwrap_err().code, 400);
        }
    }

    #[test]
    fn flags_and_numbers() {
        let query = Query::parse(Some("a=0&b=FALSE&c=no&d&n=-3&x=1e3&y=99999999999999999999&z=")).unwrap();
        assert_eq!(["a", "b", "c", "d", "e"].map(|name| query.flag(name)), [false, false, true, true, false]);
        assert_eq!(query.number("n"), Ok(Some(-3)));
        assert_eq!(query.number("none"), Ok(None));
        let refused = |name| query.number(name).unwrap_err().message;
        assert_eq!(refused("x"), "strconv.ParseInt: parsing \"1e3\": invalid syntax");
        assert_eq!(refused("y"), "strconv.ParseInt: parsing \"99999999999999999999\": value out of range");
        assert_eq!(refused("z"), "strconv.ParseInt: parsing \"\": invalid syntax");
    }

    #[test]
    fn pretty() {
        let pretty = |query, agent| Query::parse(Some(query)).unwrap().pretty(agent);
        assert!(pretty("pretty=true", None));
        assert!(!pretty("pretty=0", Some("curl/8")));
        assert!(!pretty("pretty=maybe", Some("curl/8")));
        assert!(pretty("", Some("curl/8")));
        assert!(!pretty("", Some("kubectl")));
        assert!(!pretty("", None));
    }

    proptest! {
        #[test]
        fn no_query_panics(query in "[a-z=&%+0-9;]{0,20}|\\PC{0,20}") {
            let _ = Query::parse(Some(&query));
        }
    }
}

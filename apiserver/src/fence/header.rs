//! The `Machinery-Fence` header: `GROUP/VERSION/PLURAL[/NAMESPACE]/NAME; uid=UID[; epoch=N]`,
//! repeated for further fences.

use std::fmt;

use http::HeaderMap;
use machinery_objects::NameRule;

use super::Fence;
use super::hold::{MOST, too_many};
use crate::refusal::Refusal;

/// The header name in lower case, as the `http` crate requires.
const HEADER: &str = "machinery-fence";
/// The name of the core group in the header. No other group can have it: it has no dot, and
/// Kubernetes does not use it.
const CORE: &str = "core";
/// Maximum length of a UID in bytes. This server's UIDs have 36.
const UID_BYTES: usize = 128;

impl Fence {
    /// Parses the fences of a request.
    ///
    /// # Errors
    /// 400 if a header is malformed or there are too many.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        let all: Vec<_> = headers.get_all(HEADER).iter().collect();
        if all.len() > MOST {
            return Err(malformed(&too_many(all.len())));
        }
        let mut fence = None;
        for value in all.into_iter().rev() {
            let text = value.to_str().map_err(|_| malformed("it is not plain ASCII"))?;
            let one = read(text).map_err(|why| malformed(&why))?;
            fence = Some(Self { besides: fence.map(Box::new), ..one });
        }
        Ok(fence)
    }
}

/// The header value.
impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = if self.group.is_empty() { CORE } else { &self.group };
        write!(f, "{group}/{}/{}/", self.version, self.plural)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{}; uid={}", self.name, self.uid)?;
        self.epoch.map_or(Ok(()), |epoch| write!(f, "; epoch={epoch}"))
    }
}

/// 400: to write without the fence would defeat its purpose.
fn malformed(why: &str) -> Refusal {
    let form = "GROUP/VERSION/PLURAL[/NAMESPACE]/NAME; uid=UID[; epoch=N]";
    Refusal::bad_request(format!("the Machinery-Fence header cannot be read: {why}; it has the form {form}"))
}

fn read(text: &str) -> Result<Fence, String> {
    let mut parts = text.split(';').map(|part| part.trim_matches(' '));
    let object = parts.next().unwrap_or_default();
    let uid = parts.next().and_then(|part| part.strip_prefix("uid="));
    let uid = uid.ok_or("after the object comes its uid")?;
    if uid.is_empty()
        || uid.len() > UID_BYTES
        || !uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return Err("the uid is none".into());
    }
    let epoch =
        parts.next().map(|part| number(part.strip_prefix("epoch=").ok_or("after the uid comes an epoch")?));
    let epoch = epoch.transpose()?;
    if parts.next().is_some() {
        return Err("there is something behind the epoch".into());
    }
    let (place, namespace, name) = match *object.split('/').collect::<Vec<_>>() {
        [group, version, plural, name] => ([group, version, plural], None, name),
        [group, version, plural, namespace, name] => ([group, version, plural], Some(namespace), name),
        _ => return Err("the object has four parts, or five if it is in a namespace".into()),
    };
    let [group, version, plural] = place;
    held(NameRule::DnsSubdomain, "group", group)?;
    held(NameRule::DnsLabel, "version", version)?;
    held(NameRule::DnsLabel, "plural", plural)?;
    for (what, text) in namespace.map(|text| ("namespace", text)).into_iter().chain([("name", name)]) {
        held(NameRule::PathSegment, what, text)?;
        // No encoding of other names: one fence would have two texts.
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(format!("the {what} has characters that cannot be in it"));
        }
    }
    Ok(Fence {
        group: if group == CORE { String::new() } else { group.into() },
        version: version.into(),
        plural: plural.into(),
        namespace: namespace.map(Into::into),
        name: name.into(),
        uid: uid.into(),
        epoch,
        besides: None,
    })
}

fn held(rule: NameRule, what: &str, text: &str) -> Result<(), String> {
    rule.check(text).map_err(|error| format!("the {what} is none: {error}"))
}

/// A decimal number without leading zeros.
fn number(text: &str) -> Result<u64, &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| digits).ok_or("the epoch is not a number")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(values: &[&[u8]]) -> Result<Option<Fence>, Refusal> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("Machinery-Fence", HeaderValue::from_bytes(value).expect("a value"));
        }
        Fence::of_headers(&headers)
    }

    #[test]
    fn the_header_of_a_fence_round_trips() {
        for text in [
            "coordination.k8s.io/v1/leases/kube-system/hosts; uid=8a2c-0; epoch=7",
            "example.com/v1/names/www.example.com; uid=u",
            "core/v1/configmaps/default/a:b; uid=u; epoch=0",
        ] {
            let fence = of(&[text.as_bytes()]).expect("read").expect("there");
            assert_eq!(fence.to_string(), text);
        }
        let fence = of(&[b"core/v1/nodes/a;uid=u;epoch=18446744073709551615"]).expect("read").expect("there");
        assert_eq!((fence.group.as_str(), fence.namespace, fence.epoch), ("", None, Some(u64::MAX)));
        assert_eq!(of(&[]), Ok(None));
        let both = of(&[b"core/v1/nodes/a; uid=u", b"core/v1/nodes/b; uid=v; epoch=1"])
            .expect("read")
            .expect("there");
        let besides = both.besides.as_ref().map(ToString::to_string);
        assert_eq!(
            (both.to_string().as_str(), besides.as_deref()),
            ("core/v1/nodes/a; uid=u", Some("core/v1/nodes/b; uid=v; epoch=1"))
        );
    }

    #[test]
    fn malformed_headers_are_refused_with_the_syntax() {
        let check = |values: &[&[u8]], why: &str| {
            let refusal = of(values).expect_err("refused");
            assert_eq!(refusal.code, 400);
            assert!(
                refusal.message.contains(why) && refusal.message.contains("GROUP/VERSION"),
                "{}",
                refusal.message
            );
        };
        let whole = b"g/v1/ps/n; uid=u";
        check(&[whole.as_slice(); 5], "there are 5, and a write rests on 4 at the most");
        check(&[whole, b"n"], "uid");
        check(&["g/v1/ps/\u{e4}; uid=u".as_bytes()], "ASCII");
        for (text, why) in [
            ("", "uid"),
            ("leases/a/1", "uid"),
            ("g/v1/ps/n; epoch=1", "uid"),
            ("g/v1/ps/n; epoch=1; uid=u", "uid"),
            ("g/v1/ps/n; uid=", "the uid is none"),
            ("g/v1/ps/n; uid=a b", "the uid is none"),
            ("g/v1/ps/n; uid=u; epoch=", "not a number"),
            ("g/v1/ps/n; uid=u; epoch=+1", "not a number"),
            ("g/v1/ps/n; uid=u; epoch=01", "not a number"),
            ("g/v1/ps/n; uid=u; epoch=18446744073709551616", "not a number"),
            ("g/v1/ps/n; uid=u; uid=u", "comes an epoch"),
            ("g/v1/ps/n; uid=u; epoch=1; epoch=1", "behind the epoch"),
            ("g/v1/ps/n; uid=u;", "comes an epoch"),
            ("v1/ps/n; uid=u", "four parts"),
            ("g/v1/ps/a/b/c; uid=u", "four parts"),
            ("/g/v1/ps/n; uid=u", "the group is none"),
            ("G/v1/ps/n; uid=u", "the group is none"),
            ("g/v1.1/ps/n; uid=u", "the version is none"),
            ("g/v1/p s/n; uid=u", "the plural is none"),
            ("g/v1/ps/; uid=u", "the name is none"),
            ("g/v1/ps/..; uid=u", "the name is none"),
            ("g/v1/ps/a%2fb; uid=u", "the name is none"),
            ("g/v1/ps/a b; uid=u", "the name has characters"),
            ("g/v1/ps/a\\b/n; uid=u", "the namespace has characters"),
        ] {
            check(&[text.as_bytes()], why);
        }
        check(&[format!("g/v1/ps/n; uid={}", "u".repeat(129)).as_bytes()], "the uid is none");
        check(&[b"g/v1/ps/n\t; uid=u"], "the name has characters");
    }
}

//! Parses the `Authorization` header.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::refusal::Refusal;

/// Returns the bearer token of a request; `None` without the header.
///
/// The scheme is case-insensitive. A repeated header, another scheme, a missing token, more than
/// two words, or bytes that are not printable ASCII are 401: a proxy and this server must not read
/// one request as two different users.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(unauthorized());
    }
    let text = value.to_str().map_err(|_| unauthorized())?.trim_matches([' ', '\t']);
    let (scheme, token) = text.split_once(' ').ok_or_else(unauthorized)?;
    let token = token.trim_start_matches(' ');
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() || token.contains([' ', '\t']) {
        return Err(unauthorized());
    }
    Ok(Some(token))
}

/// 401 in the only words that Kubernetes has for it, so that a client learns nothing about the
/// credential.
pub(crate) fn unauthorized() -> Refusal {
    Refusal::new(401, "Unauthorized", "Unauthorized")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn check(values: &[&[u8]], expected: Result<Option<&str>, u16>) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).expect("a header's bytes"));
        }
        assert_eq!(bearer(&headers).map_err(|refusal| refusal.code), expected, "{values:?}");
    }

    #[test]
    fn the_bearer_scheme_is_case_insensitive() {
        check(&[], Ok(None));
        check(&[b"Bearer abc"], Ok(Some("abc")));
        check(&[b"bearer abc"], Ok(Some("abc")));
        check(&[b"BEARER   a.b-c_d=="], Ok(Some("a.b-c_d==")));
        check(&[b"  Bearer abc  "], Ok(Some("abc")));
    }

    #[test]
    fn malformed_authorization_headers_are_401() {
        for value in [
            &b""[..],
            b"Bearer",
            b"Bearer ",
            b"abc",
            b"Basic YTpi",
            b"Bearer a b",
            b"Bearer a\tb",
            b"Bearer\tabc",
            b"Bearer, abc",
            b"BearerX abc",
            b"Bearer \xff",
            b"Bearer \xc3\xa9",
        ] {
            check(&[value], Err(401));
        }
        check(&[b"Bearer a", b"Bearer a"], Err(401));
        check(&[b"Bearer a", b"Bearer b"], Err(401));
        check(&[b"", b"Bearer b"], Err(401));
    }
}

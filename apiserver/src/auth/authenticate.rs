//! Authentication: from a request's credentials to an identity.

use std::sync::Arc;

use http::HeaderMap;

use super::bearer::{bearer, unauthorized};
use super::identity::Identity;
use super::token::TokenTable;

use crate::refusal::Refusal;

/// The accepted credentials.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authenticator {
    pub(crate) tokens: Arc<TokenTable>,
}

impl Authenticator {
    /// Returns the user of a request; `certificate` is the verified identity of the connection.
    ///
    /// A certificate takes precedence, as in Kubernetes. Otherwise a token must be valid: a bad one
    /// never makes the request anonymous.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        certificate: Option<&Arc<Identity>>,
    ) -> Result<Arc<Identity>, Refusal> {
        if let Some(identity) = certificate {
            return Ok(Arc::clone(identity));
        }
        match bearer(headers)? {
            Some(token) => self.tokens.identify(token).ok_or_else(unauthorized),
            None => Err(unauthorized()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use http::header::AUTHORIZATION;

    fn check(header: Option<&'static str>, certificate: Option<&str>, expected: Result<&str, u16>) {
        let mut tokens = TokenTable::default();
        assert!(tokens.add("good", Identity::new("ann")));
        let authenticator = Authenticator { tokens: Arc::new(tokens) };
        let headers = header.map(|it| (AUTHORIZATION, HeaderValue::from_static(it))).into_iter().collect();
        let certificate = certificate.map(|user| Arc::new(Identity::new(user)));
        let found = authenticator.identify(&headers, certificate.as_ref());
        assert_eq!(found.as_ref().map(|it| it.user.as_str()).map_err(|it| it.code), expected, "{header:?}");
    }

    #[test]
    fn a_bad_credential_and_none_are_401() {
        check(Some("Bearer good"), None, Ok("ann"));
        check(Some("Bearer bad"), None, Err(401));
        check(Some("Basic Z29vZA=="), None, Err(401));
        check(Some(""), None, Err(401));
        check(None, Some("eve"), Ok("eve"));
        check(Some("Bearer good"), Some("eve"), Ok("eve"));
        check(None, None, Err(401));
    }
}

//! Impersonation: the user, groups, UID and extras of the `Impersonate-*` headers (`kubectl --as`).

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use machinery_objects::NameRule;

use super::identity::{ANONYMOUS, AUTHENTICATED, Identity, UNAUTHENTICATED};
use super::rbac::{RequestAttributes, ResourceAttributes};
use crate::refusal::Refusal;
use crate::request::decode;

const PREFIX: &str = "impersonate-";
const EXTRA: &str = "impersonate-extra-";
/// The group of UIDs and extras in authorization requests.
const GROUP: &str = "authentication.k8s.io";

/// The impersonated attributes of a request.
///
/// Impersonation requires RBAC permission for each of them; the request then has exactly that
/// user's rights.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Impersonated {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl Impersonated {
    /// Parses the impersonation headers; `None` if there are none. An unknown or malformed one is
    /// 400, and never ignored.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        let mut names = headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).peekable();
        if names.peek().is_none() {
            return Ok(None);
        }
        let mut requested = Self::default();
        for name in names {
            let all = headers.get_all(name).iter().map(|value| text(name, value));
            let all: Vec<String> = all.collect::<Result<_, _>>()?;
            match name.as_str() {
                "impersonate-user" => requested.user = only(name, all)?,
                "impersonate-uid" => requested.uid = only(name, all)?,
                "impersonate-group" => requested.groups = all,
                other => {
                    let key = other.strip_prefix(EXTRA).and_then(decode).filter(|key| !key.is_empty());
                    // Kubernetes ignores unknown ones; here the identity is never guessed.
                    let key = key.ok_or_else(|| wrong(name, "is none that this server knows"))?;
                    // Header names are lower case, but percent-decoding can yield upper case.
                    requested.extra.entry(key.to_lowercase()).or_default().extend(all);
                }
            }
        }
        if requested.user.is_empty() {
            let message = "groups, UIDs and extras are those of a user: say which, in Impersonate-User";
            return Err(Refusal::bad_request(message));
        }
        Ok(Some(requested))
    }

    /// The permissions that the caller needs, all of them.
    pub(crate) fn required_permissions(&self) -> Vec<RequestAttributes<'_>> {
        let named = |resource, name| ResourceAttributes { resource, name, ..ResourceAttributes::default() };
        let user = match account(&self.user) {
            Some((namespace, name)) => ResourceAttributes { namespace, ..named("serviceaccounts", name) },
            None => named("users", &self.user),
        };
        let groups = self.groups.iter().map(|group| named("groups", group));
        let uid =
            (!self.uid.is_empty()).then(|| ResourceAttributes { group: GROUP, ..named("uids", &self.uid) });
        let extra = self.extra.iter().flat_map(|(key, values)| {
            let of = move |value| ResourceAttributes {
                group: GROUP,
                subresource: key,
                ..named("userextras", value)
            };
            values.iter().map(move |value| of(value.as_str()))
        });
        let all = [user].into_iter().chain(groups).chain(uid).chain(extra);
        all.map(|on| RequestAttributes::of("impersonate", on)).collect()
    }

    /// The impersonated user, in the requested groups and the implicit groups of its kind.
    pub(crate) fn identity(self) -> Identity {
        let Self { user, uid, mut groups, extra } = self;
        if let (Some((namespace, name)), true) = (account(&user), groups.is_empty()) {
            groups = Identity::service_account(namespace, name).groups;
        }
        let everybody = if user == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        let is_explicit = groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
        let identity = Identity { user, uid, groups: Vec::new(), extra };
        let all = groups.into_iter().chain((!is_explicit).then(|| everybody.to_owned()));
        all.fold(identity, Identity::in_group)
    }
}

/// The namespace and name, if `user` is a ServiceAccount.
fn account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_one = NameRule::DnsLabel.check(namespace).is_ok() && NameRule::DnsSubdomain.check(name).is_ok();
    is_one.then_some((namespace, name))
}

fn text(name: &HeaderName, value: &HeaderValue) -> Result<String, Refusal> {
    let text = std::str::from_utf8(value.as_bytes()).ok().filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| wrong(name, "must be a text, and not empty"))
}

fn only(name: &HeaderName, mut all: Vec<String>) -> Result<String, Refusal> {
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        // Kubernetes takes the first one, which may not be the intended one.
        _ => Err(wrong(name, "must be there once")),
    }
}

fn wrong(name: &HeaderName, what: &str) -> Refusal {
    Refusal::bad_request(format!("the header {name} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(headers: &[(&'static str, &str)]) -> Result<Option<Impersonated>, String> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Impersonated::of(&all).map_err(|refusal| refusal.message)
    }

    fn identity(headers: &[(&'static str, &str)]) -> Identity {
        requested(headers).unwrap().unwrap().identity()
    }

    #[test]
    fn requests_without_impersonation_headers_impersonate_nobody() {
        assert_eq!(requested(&[("accept", "*/*"), ("x-impersonate-user", "ann")]), Ok(None));
    }

    #[test]
    fn impersonated_groups_include_the_implicit_ones() {
        let groups = |headers: &[(&'static str, &str)]| identity(headers).groups;
        assert_eq!(groups(&[("impersonate-user", "ann")]), [AUTHENTICATED]);
        let said = [("impersonate-user", "ann"), ("impersonate-group", "dev"), ("impersonate-group", "ops")];
        assert_eq!(groups(&said), ["dev", "ops", AUTHENTICATED]);
        assert_eq!(groups(&[("impersonate-user", ANONYMOUS)]), [UNAUTHENTICATED]);
        let contrary = [("impersonate-user", "ann"), ("impersonate-group", UNAUTHENTICATED)];
        assert_eq!(groups(&contrary), [UNAUTHENTICATED]);
        let robot = "system:serviceaccount:n:robot";
        assert_eq!(identity(&[("impersonate-user", robot)]), Identity::service_account("n", "robot"));
        let other = [("impersonate-user", robot), ("impersonate-group", "dev")];
        assert_eq!(groups(&other), ["dev", AUTHENTICATED]);
    }

    #[test]
    fn each_impersonated_attribute_requires_permission() {
        let headers = [
            ("impersonate-user", "ann"),
            ("impersonate-uid", "7"),
            ("impersonate-group", "dev"),
            ("impersonate-extra-example.com%2fScope", "read"),
            ("impersonate-extra-example.com%2fScope", "write"),
        ]
        .map(|(name, value)| (HeaderName::from_bytes(name.as_bytes()).unwrap(), value));
        let headers: HeaderMap = headers.into_iter().fold(HeaderMap::new(), |mut all, (name, value)| {
            all.append(name, HeaderValue::from_static(value));
            all
        });
        let requested = Impersonated::of(&headers).unwrap().unwrap();
        let of = |resource, name| ResourceAttributes { resource, name, ..ResourceAttributes::default() };
        let scope = |value| ResourceAttributes {
            group: GROUP,
            subresource: "example.com/scope",
            ..of("userextras", value)
        };
        let uid = ResourceAttributes { group: GROUP, ..of("uids", "7") };
        let expected = [of("users", "ann"), of("groups", "dev"), uid, scope("read"), scope("write")];
        assert_eq!(
            requested.required_permissions(),
            expected.map(|on| RequestAttributes::of("impersonate", on))
        );
        let robot = Impersonated { user: "system:serviceaccount:n:robot".into(), ..Impersonated::default() };
        let account = ResourceAttributes { namespace: "n", ..of("serviceaccounts", "robot") };
        assert_eq!(robot.required_permissions(), [RequestAttributes::of("impersonate", account)]);
        // A malformed ServiceAccount name is a plain user name.
        let odd = Impersonated { user: "system:serviceaccount:n:a:b".into(), ..Impersonated::default() };
        assert_eq!(
            odd.required_permissions()[0],
            RequestAttributes::of("impersonate", of("users", "system:serviceaccount:n:a:b"))
        );
    }

    #[test]
    fn malformed_impersonation_headers_are_refused() {
        let user = ("impersonate-user", "ann");
        for (headers, why) in [
            (vec![("impersonate-group", "system:masters")], "those of a user"),
            (vec![("impersonate-uid", "7")], "those of a user"),
            (vec![user, ("impersonate-user", "bob")], "must be there once"),
            (vec![user, ("impersonate-uid", "7"), ("impersonate-uid", "8")], "must be there once"),
            (vec![("impersonate-user", "")], "not empty"),
            (vec![user, ("impersonate-group", "")], "not empty"),
            (vec![user, ("impersonate-role", "x")], "none that this server knows"),
            (vec![user, ("impersonate-extra-", "x")], "none that this server knows"),
            (vec![user, ("impersonate-extra-a%2", "x")], "none that this server knows"),
            (vec![user, ("impersonate-extra-a%ff", "x")], "none that this server knows"),
        ] {
            let refused = requested(&headers).unwrap_err();
            assert!(refused.contains(why), "{headers:?}: {refused}");
        }
    }
}

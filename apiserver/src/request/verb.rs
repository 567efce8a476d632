//! The verb of a request, in the terms of authorization: the second half of RequestInfo.

use std::fmt;

use http::Method;

use super::{Query, Resource};
use crate::refusal::{About, Refusal};

/// A verb on objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// Opens an interest in objects, or edits it: that is a part of watching them.
    Interest,
}

impl Verb {
    /// Returns the verb of a method on this resource. `HEAD` has the verb of `GET`.
    ///
    /// `POST` to an object is invalid, but allowed to a subresource. Watches are of collections:
    /// for one object, the parameter `watch` is ignored, unless the path has the prefix.
    pub(crate) fn of(method: &Method, resource: &Resource, query: &Query) -> Result<Self, Refusal> {
        let named = resource.name.is_some();
        match *method {
            Method::POST if resource.interest.is_some() => Ok(Self::Interest),
            _ if resource.interest.is_some() => Err(not_allowed(resource, "")),
            Method::GET | Method::HEAD if resource.watched => Ok(Self::Watch),
            _ if resource.watched => Err(not_allowed(resource, "")),
            Method::GET | Method::HEAD if named => Ok(Self::Get),
            Method::GET | Method::HEAD if query.flag("watch") => Ok(Self::Watch),
            Method::GET | Method::HEAD => Ok(Self::List),
            Method::POST if !named || resource.subresource.is_some() => Ok(Self::Create),
            Method::PUT if named => Ok(Self::Update),
            Method::PATCH if named => Ok(Self::Patch),
            Method::PUT | Method::PATCH => Err(Refusal::bad_request("name must be provided")),
            Method::DELETE if named => Ok(Self::Delete),
            Method::DELETE => Ok(Self::DeleteCollection),
            Method::POST => Err(not_allowed(resource, Self::Create.name())),
            _ => Err(not_allowed(resource, "")),
        }
    }

    /// Returns the name in RBAC rules and audit events.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch | Self::Interest => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Returns whether the verb is read-only.
    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch | Self::Interest)
    }
}

/// 405: this cannot be done there. A method that is no verb has no name.
pub(crate) fn not_allowed(resource: &Resource, verb: &str) -> Refusal {
    let Resource { group, plural, .. } = resource;
    let qualified = if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") };
    let about = About { group: group.clone(), kind: plural.clone(), ..About::default() };
    let message = format!("{verb} is not supported on resources of kind {qualified:?}");
    Refusal { about, ..Refusal::new(405, "MethodNotAllowed", message) }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::{Query, Verb};
    use crate::request::Target;

    fn check(method: &str, path: &str, query: &str, expected: Result<&str, u16>) {
        let Target::Resource(resource) = Target::parse(path).unwrap() else { panic!("{path}") };
        let query = Query::parse(Some(query)).unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let found = Verb::of(&method, &resource, &query);
        assert_eq!(
            found.map(Verb::name).map_err(|refusal| refusal.code),
            expected,
            "{method} {path}?{query:?}"
        );
    }

    #[test]
    fn verbs() {
        let (all, one, part) =
            ("/api/v1/pods", "/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/b/status");
        check("GET", all, "", Ok("list"));
        check("HEAD", all, "", Ok("list"));
        check("GET", all, "watch=1", Ok("watch"));
        check("GET", all, "watch=true", Ok("watch"));
        check("GET", all, "watch", Ok("watch"));
        check("GET", all, "watch=0", Ok("list"));
        check("GET", all, "watch=False&watch=1", Ok("list"));
        check("GET", one, "watch=1", Ok("get"));
        check("HEAD", part, "", Ok("get"));
        check("GET", "/api/v1/watch/pods", "watch=0", Ok("watch"));
        check("GET", "/api/v1/watch/namespaces/a/pods/b", "", Ok("watch"));
        check("DELETE", "/api/v1/watch/pods", "", Err(405));
        check("POST", all, "", Ok("create"));
        check("POST", one, "", Err(405));
        check("POST", part, "", Ok("create"));
        check("PUT", one, "", Ok("update"));
        check("PUT", all, "", Err(400));
        check("PATCH", part, "", Ok("patch"));
        check("PATCH", all, "", Err(400));
        check("DELETE", one, "", Ok("delete"));
        check("DELETE", all, "", Ok("deletecollection"));
        check("POST", "/api/v1/pods/interests/a-23456789-12345", "", Ok("watch"));
        check("GET", "/api/v1/pods/interests/a-23456789-12345", "", Err(405));
        check("OPTIONS", all, "", Err(405));
        check("TRACE", one, "", Err(405));
        check("get", one, "", Err(405));
    }
}

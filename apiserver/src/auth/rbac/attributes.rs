//! The attributes of a request for authorization, and its refusal.

use machinery_objects::{FieldSelector, NAME, NameRule};

use crate::auth::identity::Identity;
use crate::go_format::quote;
use crate::refusal::{About, Refusal};

/// The attributes of a request, as an authorizer sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestAttributes<'a> {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`… For a
    /// non-resource path, the HTTP method in lower case.
    pub(crate) verb: &'a str,
    pub(crate) on: RequestTarget<'a>,
}

/// The resource or path that a request addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestTarget<'a> {
    Resource(ResourceAttributes<'a>),
    /// A non-resource path such as `/healthz`.
    Path(&'a str),
}

/// The attributes of a resource request. Fields that do not apply are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceAttributes<'a> {
    pub(crate) group: &'a str,
    /// The plural name.
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    /// For a request for a Namespace object, the namespace itself.
    pub(crate) namespace: &'a str,
    /// For a list or watch by `metadata.name`, the selected name: see
    /// [`RequestAttributes::selecting`].
    pub(crate) name: &'a str,
}

impl<'a> RequestAttributes<'a> {
    pub(crate) const fn of(verb: &'a str, resource: ResourceAttributes<'a>) -> Self {
        Self { verb, on: RequestTarget::Resource(resource) }
    }

    /// Adds the request's field selector. A list or watch with `metadata.name=NAME` is allowed by a
    /// rule for that name, since it returns no other object.
    #[must_use]
    pub(crate) fn selecting(mut self, fields: &'a FieldSelector) -> Self {
        if let RequestTarget::Resource(resource) = &mut self.on
            && matches!(self.verb, "list" | "watch")
            && resource.name.is_empty()
            && let Some(name) = fields.exactly(NAME)
            && NameRule::PathSegment.check(name).is_ok()
        {
            resource.name = name;
        }
        self
    }

    /// The namespace of the role bindings that apply; empty for the whole cluster.
    pub(super) const fn namespace(&self) -> &'a str {
        match self.on {
            RequestTarget::Resource(resource) => resource.namespace,
            RequestTarget::Path(_) => "",
        }
    }

    /// The 403 refusal of `identity`. `reason` is the authorizer's, and mostly empty.
    pub(crate) fn refusal(&self, identity: &Identity, reason: &str) -> Refusal {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let text = format!("{}{reason}", without_markup(&self.cannot(identity)));
        match self.on {
            RequestTarget::Resource(ResourceAttributes { group, resource, name, .. }) => {
                forbidden(group, resource, name, &text)
            }
            RequestTarget::Path(_) => forbidden("", "", "", &text),
        }
    }

    fn cannot(&self, identity: &Identity) -> String {
        let (user, verb) = (quote(&identity.user), self.verb);
        let ResourceAttributes { group, resource, subresource, namespace, .. } = match &self.on {
            RequestTarget::Path(path) => return format!("User {user} cannot {verb} path {}", quote(path)),
            RequestTarget::Resource(resource) => resource,
        };
        let slash = if subresource.is_empty() { "" } else { "/" };
        let resource = quote(&format!("{resource}{slash}{subresource}"));
        let scope = match namespace.is_empty() {
            true => "at the cluster scope".to_owned(),
            false => format!("in the namespace {}", quote(namespace)),
        };
        format!("User {user} cannot {verb} resource {resource} in API group {} {scope}", quote(group))
    }
}

/// A 403 refusal about an object; without `resource`, about no object.
pub(crate) fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Refusal {
    let qualified = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
    let head = match (qualified.is_empty(), name.is_empty()) {
        (true, _) => "forbidden".to_owned(),
        (false, true) => format!("{qualified} is forbidden"),
        (false, false) => format!("{qualified} {} is forbidden", quote(name)),
    };
    let about = About { group: group.into(), kind: resource.into(), name: name.into(), uid: String::new() };
    Refusal { about, ..Refusal::new(403, "Forbidden", format!("{head}: {why}")) }
}

/// Escapes HTML, in case a browser displays the message.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(attributes: RequestAttributes<'_>, reason: &str, expected: &str) {
        let refusal = attributes.refusal(&Identity::new("x"), reason);
        assert_eq!((refusal.code, refusal.reason, refusal.message.as_str()), (403, "Forbidden", expected));
    }

    #[test]
    fn refusals_have_the_text_of_kubernetes() {
        let widgets = ResourceAttributes {
            group: "example.com",
            resource: "widgets",
            namespace: "y",
            ..ResourceAttributes::default()
        };
        let head = "widgets.example.com is forbidden: User \"x\" cannot list resource \"widgets\" in API group \
                    \"example.com\" in the namespace \"y\"";
        check(RequestAttributes::of("list", widgets), "", head);
        check(RequestAttributes::of("list", widgets), "RBAC: no", &format!("{head}: RBAC: no"));
        let node = ResourceAttributes {
            resource: "nodes",
            subresource: "status",
            name: "n",
            ..ResourceAttributes::default()
        };
        check(
            RequestAttributes::of("patch", node),
            "",
            "nodes \"n\" is forbidden: User \"x\" cannot patch resource \"nodes/status\" in API group \"\" at the \
             cluster scope",
        );
        let path = RequestAttributes { verb: "get", on: RequestTarget::Path("/<b>&\"") };
        check(path, "", "forbidden: User \"x\" cannot get path \"/&lt;b&gt;&amp;\\\"\"");
    }

    #[test]
    fn only_lists_and_watches_are_authorized_by_a_selected_name() {
        let name_of = |verb, name, selector: &str| {
            let fields = selector.parse().expect("a selector");
            let of =
                RequestAttributes::of(verb, ResourceAttributes { name, ..ResourceAttributes::default() });
            match of.selecting(&fields).on {
                RequestTarget::Resource(resource) => resource.name.to_owned(),
                RequestTarget::Path(_) => unreachable!("a resource"),
            }
        };
        assert_eq!(name_of("list", "", "metadata.name=a"), "a");
        assert_eq!(name_of("watch", "", "spec.x=1,metadata.name=a"), "a");
        assert_eq!(name_of("deletecollection", "", "metadata.name=a"), "");
        assert_eq!(name_of("list", "", "metadata.name!=a"), "");
        assert_eq!(name_of("list", "", "metadata.namespace=a"), "");
        assert_eq!(name_of("list", "", "metadata.name=a%2Fb"), "");
        assert_eq!(name_of("list", "", "metadata.name="), "");
        assert_eq!(name_of("get", "b", "metadata.name=a"), "b");
    }
}

//! Builds requests: paths and query parameters.

use std::fmt::Write as _;
use std::time::Duration;

use http::{Method, Request, header};
use machinery_objects::{
    Filter, Freshness, Kind, ListAt, ListRequest, ObjectKey, ResourceVersion, Scope, SourceError, WatchFrom,
    WatchRequest,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are percent-encoded in a path or query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) type ApiRequest = Request<Vec<u8>>;

/// A path with query parameters.
pub(crate) struct Target {
    text: String,
    has_query: bool,
}

impl Target {
    /// The objects of a kind, in all namespaces or in one.
    pub(crate) fn collection(kind: &Kind, namespace: Option<&str>) -> Result<Self, SourceError> {
        if namespace.is_some() && kind.scope() == Scope::Cluster {
            let reason = format!("{kind} are not namespaced: list all");
            return Err(SourceError::Invalid { reason, causes: Vec::new() });
        }
        let mut text = match kind.group() {
            "" => format!("/api/{}", kind.version()),
            group => format!("/apis/{group}/{}", kind.version()),
        };
        if let Some(namespace) = namespace {
            push(&mut text, &["namespaces", namespace]);
        }
        push(&mut text, &[kind.plural()]);
        Ok(Self { text, has_query: false })
    }

    /// The path of one object.
    pub(crate) fn object(kind: &Kind, key: &ObjectKey) -> Result<Self, SourceError> {
        Ok(Self::collection(kind, key.namespace())?.below(key.name()))
    }

    /// Appends a path segment.
    pub(crate) fn below(mut self, segment: &str) -> Self {
        push(&mut self.text, &[segment]);
        self
    }

    /// Appends a query parameter.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.text.push(if self.has_query { '&' } else { '?' });
        self.has_query = true;
        let _ = write!(self.text, "{name}={}", utf8_percent_encode(value, ENCODED)); // into a text, which takes all
        self
    }

    /// Appends the selectors of a filter. Its namespace is in the path.
    pub(crate) fn selecting(mut self, filter: &Filter) -> Self {
        if !filter.labels.is_everything() {
            self = self.with("labelSelector", &filter.labels.to_string());
        }
        if !filter.fields.is_everything() {
            self = self.with("fieldSelector", &filter.fields.to_string());
        }
        self
    }

    /// Builds the request, with a body of JSON or none.
    pub(crate) fn into_request(self, method: Method, body: Vec<u8>) -> Result<ApiRequest, SourceError> {
        // JSON, not protobuf: objects are decoded by their `Deserialize`.
        let mut request =
            Request::builder().method(method).uri(self.text).header(header::ACCEPT, "application/json");
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        request.body(body).map_err(|error| SourceError::Invalid {
            reason: format!("it cannot be requested over HTTP, shorten the selector: {error}"),
            causes: Vec::new(),
        })
    }
}

fn push(text: &mut String, segments: &[&str]) {
    for segment in segments {
        let _ = write!(text, "/{}", utf8_percent_encode(segment, ENCODED)); // into a text, which takes all
    }
}

/// Builds the request of one page of a list.
pub(crate) fn list(kind: &Kind, request: &ListRequest) -> Result<ApiRequest, SourceError> {
    let ListRequest { filter, at, limit, rest } = request;
    let mut target = Target::collection(kind, filter.namespace.as_deref())?.selecting(filter);
    if let Some(limit) = limit {
        target = target.with("limit", &limit.to_string());
    }
    target = match (rest, at) {
        (Some(rest), _) => target.with("continue", rest.as_str()),
        (None, ListAt::Fresh(fresh)) => not_older(target, fresh),
        (None, ListAt::Exactly(version)) => {
            target.with("resourceVersion", &version.to_string()).with("resourceVersionMatch", "Exact")
        }
    };
    target.into_request(Method::GET, Vec::new())
}

fn not_older(target: Target, fresh: &Freshness) -> Target {
    let version = match fresh {
        Freshness::Newest => return target,
        // To servers, version zero means: any version.
        Freshness::Any => "0".to_owned(),
        Freshness::AtLeast(version) => version.to_string(),
    };
    target.with("resourceVersion", &version).with("resourceVersionMatch", "NotOlderThan")
}

/// Builds the request of one object.
pub(crate) fn get(kind: &Kind, key: &ObjectKey, fresh: &Freshness) -> Result<ApiRequest, SourceError> {
    let target = Target::object(kind, key)?;
    let target = match fresh {
        Freshness::Newest => target,
        Freshness::Any => target.with("resourceVersion", "0"),
        Freshness::AtLeast(version) => target.with("resourceVersion", &version.to_string()),
    };
    target.into_request(Method::GET, Vec::new())
}

/// Builds the request of a watch.
pub(crate) fn watch(kind: &Kind, request: &WatchRequest) -> Result<ApiRequest, SourceError> {
    let WatchRequest { filter, from, bookmarks, timeout } = request;
    let target = Target::collection(kind, filter.namespace.as_deref())?.with("watch", "true");
    let mut target = target.selecting(filter);
    target = match from {
        // To servers, version zero means: any state, and its changes.
        WatchFrom::After(version) if is_zero(version) => {
            return Err(SourceError::Unsupported { what: "watch from before the first version" });
        }
        WatchFrom::After(version) => target.with("resourceVersion", &version.to_string()),
        WatchFrom::State(fresh) => {
            let target = target.with("sendInitialEvents", "true");
            match fresh {
                // Servers require it beside `sendInitialEvents`, also without a version.
                Freshness::Newest => target.with("resourceVersionMatch", "NotOlderThan"),
                other => not_older(target, other),
            }
        }
    };
    if *bookmarks {
        target = target.with("allowWatchBookmarks", "true");
    }
    if let Some(timeout) = timeout {
        target = target.with("timeoutSeconds", &seconds(*timeout).to_string());
    }
    target.into_request(Method::GET, Vec::new())
}

fn is_zero(version: &ResourceVersion) -> bool {
    version.revision().is_some_and(|revision| revision.0 == 0)
}

/// Rounds up to whole seconds, at least one: zero means no limit to servers.
fn seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;
    use std::sync::Arc;

    use machinery_objects::Continue;

    fn hosts() -> Kind {
        Kind::new("net.example.com/v1", "Host", "hosts", Scope::Namespaced).unwrap()
    }

    fn version(text: &str) -> ResourceVersion {
        ResourceVersion::new(text).unwrap()
    }

    #[test]
    fn each_list_has_its_parameters() {
        let check = |request: ListRequest, expected: &str| {
            assert_eq!(list(&hosts(), &request).unwrap().uri().to_string(), expected);
        };
        let all = "/apis/net.example.com/v1/hosts";
        let at = |at| ListRequest { at, ..ListRequest::default() };
        check(ListRequest::default(), all);
        let any = format!("{all}?resourceVersion=0&resourceVersionMatch=NotOlderThan");
        check(at(ListAt::Fresh(Freshness::Any)), &any);
        let least = format!("{all}?resourceVersion=7&resourceVersionMatch=NotOlderThan");
        check(at(ListAt::Fresh(Freshness::AtLeast(version("7")))), &least);
        let exact = format!("{all}?resourceVersion=7&resourceVersionMatch=Exact");
        check(at(ListAt::Exactly(version("7"))), &exact);
        // The continue token determines the version.
        let rest = ListRequest {
            rest: Continue::new("a+b/="),
            limit: NonZeroU32::new(500),
            ..at(ListAt::Exactly(version("7")))
        };
        check(rest, &format!("{all}?limit=500&continue=a%2Bb%2F%3D"));
        let filter = Filter {
            namespace: Some("lab".into()),
            labels: "role in (db,cache),!old".parse().unwrap(),
            fields: "metadata.name!=a".parse().unwrap(),
        };
        let request = ListRequest { filter, ..ListRequest::default() };
        let uri = list(&hosts(), &request).unwrap().uri().to_string();
        assert!(uri.starts_with("/apis/net.example.com/v1/namespaces/lab/hosts?labelSelector="), "{uri}");
        assert!(uri.ends_with("&fieldSelector=metadata.name%21%3Da"), "{uri}");
    }

    #[test]
    fn each_watch_has_its_parameters() {
        let check = |from, bookmarks, timeout: Option<Duration>, expected: &str| {
            let request = WatchRequest { filter: Filter::default(), from, bookmarks, timeout };
            let uri = watch(&hosts(), &request).unwrap().uri().to_string();
            assert_eq!(uri, format!("/apis/net.example.com/v1/hosts?watch=true&{expected}"));
        };
        let half = Some(Duration::from_millis(1500));
        check(WatchFrom::After(version("7")), false, None, "resourceVersion=7");
        check(
            WatchFrom::After(version("x")),
            true,
            half,
            "resourceVersion=x&allowWatchBookmarks=true&timeoutSeconds=2",
        );
        check(
            WatchFrom::After(version("7")),
            false,
            Some(Duration::ZERO),
            "resourceVersion=7&timeoutSeconds=1",
        );
        let state = "sendInitialEvents=true";
        check(
            WatchFrom::State(Freshness::Newest),
            true,
            None,
            &format!("{state}&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
        );
        check(
            WatchFrom::State(Freshness::Any),
            false,
            None,
            &format!("{state}&resourceVersion=0&resourceVersionMatch=NotOlderThan"),
        );
        check(
            WatchFrom::State(Freshness::AtLeast(version("7"))),
            false,
            None,
            &format!("{state}&resourceVersion=7&resourceVersionMatch=NotOlderThan"),
        );
        let from = WatchFrom::After(version("0"));
        let request = WatchRequest { filter: Filter::default(), from, bookmarks: false, timeout: None };
        assert!(matches!(watch(&hosts(), &request), Err(SourceError::Unsupported { .. })));
    }

    #[test]
    fn path_segments_are_escaped() {
        let pods = Kind::new("v1", "Pod", "pods", Scope::Namespaced).unwrap();
        let key = ObjectKey::new(Some("a b"), "x?y#z:ö").unwrap();
        let request = get(&pods, &key, &Freshness::Any).unwrap();
        assert_eq!(
            request.uri().to_string(),
            "/api/v1/namespaces/a%20b/pods/x%3Fy%23z%3A%C3%B6?resourceVersion=0"
        );
        let nodes = Kind::new("v1", "Node", "nodes", Scope::Cluster).unwrap();
        let filter = Filter { namespace: Some(Arc::from("a")), ..Filter::default() };
        let request = ListRequest { filter, ..ListRequest::default() };
        assert!(matches!(list(&nodes, &request), Err(SourceError::Invalid { .. })));
        // A request beyond the maximum length does not panic.
        let long = ListRequest { rest: Continue::new(&"a".repeat(70_000)), ..ListRequest::default() };
        assert!(matches!(list(&pods, &long), Err(SourceError::Invalid { .. })));
    }
}

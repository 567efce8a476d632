//! Fences as headers: `GROUP/VERSION/PLURAL[/NAMESPACE]/NAME; uid=UID[; epoch=N]`, one header per
//! fence of the chain.

use std::fmt::Write as _;

use http::{HeaderName, HeaderValue};
use machinery_objects::{Fence, SourceError};

use crate::request::ApiRequest;

const HEADER: HeaderName = HeaderName::from_static("machinery-fence");

/// Adds the headers of a fence to a request.
pub(super) fn put(
    request: &mut ApiRequest,
    fence: Option<&Fence>,
    is_machinery: bool,
) -> Result<(), SourceError> {
    let Some(fence) = fence else { return Ok(()) };
    // Others ignore the header, and a write under an unchecked fence is worse than none.
    if !is_machinery {
        return Err(SourceError::Unsupported { what: "fences" });
    }
    for fence in fence.all() {
        let value = value(fence)?;
        request.headers_mut().append(HEADER, value);
    }
    Ok(())
}

fn value(fence: &Fence) -> Result<HeaderValue, SourceError> {
    let text = text(fence);
    // The header has no escapes, so no part may contain a delimiter.
    let is_plain =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b';' | b'\\'));
    let value = HeaderValue::from_str(&text).ok();
    let named = is_plain(fence.key.as_str()) && is_plain(fence.uid.as_str());
    value.filter(|_| named).ok_or_else(|| SourceError::Invalid {
        reason: format!("the fence {} cannot be named in a header", fence.object()),
        causes: Vec::new(),
    })
}

fn text(fence: &Fence) -> String {
    let Fence { kind, key, uid, epoch, besides: _ } = fence;
    let group = if kind.group().is_empty() { "core" } else { kind.group() };
    let mut text = format!("{group}/{}/{}/{key}; uid={uid}", kind.version(), kind.plural());
    if let Some(epoch) = epoch {
        let _ = write!(text, "; epoch={epoch}"); // into a text, which takes all
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery_objects::{Kind, Scope, Uid};

    #[test]
    fn a_fence_is_a_header_for_servers_that_hold_it() {
        let leases = Kind::new("coordination.k8s.io/v1", "Lease", "leases", Scope::Namespaced).unwrap();
        let nodes = Kind::new("v1", "Node", "nodes", Scope::Cluster).unwrap();
        let check = |kind: &Kind, key: &str, epoch, expected: Option<&str>| {
            let fence = Fence {
                kind: kind.clone(),
                key: key.parse().unwrap(),
                uid: Uid::new("8a2c").unwrap(),
                epoch,
                besides: None,
            };
            let mut request = ApiRequest::default();
            assert_eq!(put(&mut request, Some(&fence), true).is_ok(), expected.is_some());
            assert_eq!(request.headers().get(HEADER).map(|value| value.to_str().unwrap()), expected);
            let refused = put(&mut ApiRequest::default(), Some(&fence), false);
            assert_eq!(refused, Err(SourceError::Unsupported { what: "fences" }));
        };
        let text = "coordination.k8s.io/v1/leases/kube-system/hosts; uid=8a2c; epoch=7";
        check(&leases, "kube-system/hosts", Some(7), Some(text));
        check(&nodes, "a", None, Some("core/v1/nodes/a; uid=8a2c"));
        for name in ["a;b", "a b", "ä", "a\\b", "a\nb"] {
            check(&nodes, name, None, None);
        }
        assert_eq!(put(&mut ApiRequest::default(), None, false), Ok(()));
    }
}

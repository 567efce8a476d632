//! Error messages name the remedy.

use std::time::Duration;

use machinery_objects::{Conflict, Fence, Kind, ListError, Scope, SourceError, Uid, WatchError, WriteError};

use crate::report;

#[test]
fn source_errors_are_transparent_in_every_error_enum() {
    let busy = SourceError::TooManyRequests { retry_after: Some(Duration::from_secs(1)) };
    let text = "the source has too many requests, try later";
    assert_eq!(report(&ListError::from(busy.clone())), text);
    assert_eq!(report(&WatchError::from(busy.clone())), text);
    assert_eq!(report(&WriteError::from(busy.clone())), text);
    assert_eq!((busy.is_transient(), busy.retry_after()), (true, Some(Duration::from_secs(1))));

    let unsupported = SourceError::Unsupported { what: "fences" };
    assert_eq!(report(&unsupported), "this source has no fences, see its capabilities");
    assert_eq!((unsupported.is_transient(), unsupported.retry_after()), (false, None));
}

#[test]
fn a_stale_fence_names_what_was_lost() {
    let kind = Kind::new("coordination.k8s.io/v1", "Lease", "leases", Scope::Namespaced).unwrap();
    let fence = Fence {
        kind,
        key: "kube-system/leader".parse().unwrap(),
        uid: Uid::new("7").unwrap(),
        epoch: Some(3),
        besides: None,
    };
    let error = WriteError::Conflict(Conflict::Fence(Box::new(fence)));
    let text = "nothing was written: kube-system leases.coordination.k8s.io/leader is gone, or has passed to another";
    assert_eq!(report(&error), text);
}

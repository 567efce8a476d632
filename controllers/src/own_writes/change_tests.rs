//! The events that can be those of an own write, and those that always request a run.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use machinery_informers::InformerId;
use machinery_informers::deliver::Steps;
use machinery_objects::{Event, LeaveReason};

use super::{ChangedTo, ObjectChange};

fn map(uid: &str, version: &str, is_deleting: bool) -> Arc<ConfigMap> {
    let mut map = ConfigMap::default();
    let metadata = &mut map.metadata;
    metadata.namespace = Some("n".into());
    metadata.name = Some("a".into());
    metadata.uid = Some(uid.into());
    metadata.resource_version = Some(version.into());
    metadata.deletion_timestamp = is_deleting.then_some(Time(k8s_openapi::jiff::Timestamp::UNIX_EPOCH));
    Arc::new(map)
}

fn change(event: &Event<Arc<ConfigMap>>, is_subject: bool) -> Option<ObjectChange> {
    ObjectChange::of(InformerId::of_address(1), event, Steps::ONE, is_subject)
}

#[test]
fn p35_the_mark_for_deletion_of_a_subject_always_requests_a_run() {
    let marked = Event::Updated { old: map("1", "1", false), object: map("1", "2", true) };
    assert_eq!(change(&marked, true), None, "its finalizer has work to do");
    let child = change(&marked, false).expect("the mark of a child may be an own write");
    assert!(matches!(child.after, ChangedTo::Stored(_)));
    let again = Event::Updated { old: map("1", "2", true), object: map("1", "3", true) };
    assert!(change(&again, true).is_some(), "it was marked before");
    let added = Event::Added { object: map("1", "2", true), initial: false };
    assert_eq!(change(&added, true), None, "coalesced with its creation");
    assert!(change(&added, false).is_some());
}

#[test]
fn p35_initial_objects_other_objects_and_objects_that_left_always_request_a_run() {
    let initial = Event::Added { object: map("1", "1", false), initial: true };
    assert_eq!(change(&initial, false), None);
    let other = Event::Updated { old: map("1", "1", false), object: map("2", "2", false) };
    assert_eq!(change(&other, false), None);
    let left = Event::Left { last: map("1", "1", false), because: LeaveReason::Changed };
    assert_eq!(change(&left, false), None);
    let deleted = Event::Deleted { last: map("1", "1", false), final_state_known: true };
    assert!(matches!(change(&deleted, false).expect("it may be own").after, ChangedTo::Deleted(_)));
}

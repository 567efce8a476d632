//! Promises 22 to 24 over the wire: on our server, and with the capabilities of plain Kubernetes.

use crate::locks_fixture::{Doc, Locks, LocksFixture, PATIENCE, doc, held, key, kind, taken};
use machinery_apiserver::Identity;
use machinery_controllers::{HeldLock, LockKinds, NameLocks, NoFences, Released};
use machinery_kube::kube_client::Client;
use machinery_kube::{Remote, ServerProfile};
use machinery_objects::{Conflict, Fence, ListWatch, Object, Preconditions, WriteError, Writer};
use std::sync::Arc;

fn remote(plane: &LocksFixture, name: &str, is_ours: bool) -> Remote<Doc> {
    let client = Client::new(plane.server.service(Identity::admin()), "default");
    Remote::new(client, kind(name), ServerProfile { machinery: is_ours, ..ServerProfile::kubernetes() })
}

/// Remote locks and records.
fn reached(plane: &LocksFixture, is_ours: bool) -> (Locks, Remote<Doc>) {
    let names = remote(plane, "HostName", is_ours);
    let locking = LockKinds { kind: kind("HostName"), owners: kind("Host"), writer: Arc::new(names.clone()) };
    let source: Arc<dyn ListWatch<Doc>> = Arc::new(names);
    let locks =
        NameLocks::builder(locking, source, |_, lock, owner| doc(lock).owned_by(&owner)).build().unwrap();
    plane.tasks.spawn(locks.run(plane.stopping.clone()));
    (locks, remote(plane, "Record", is_ours))
}

async fn write(records: &Remote<Doc>, fence: Fence) -> Result<(), WriteError> {
    let mut record = records.get(&key("r"), Default::default()).await.unwrap().unwrap();
    record.spec.insert("under".into(), fence.uid.to_string());
    let only_if = Preconditions { fence: Some(fence), ..Preconditions::default() };
    records.update(&record, &only_if).await.map(drop)
}

#[tokio::test]
async fn p22_a_name_has_one_owner_over_the_wire() {
    for is_ours in [true, false] {
        let plane = LocksFixture::new().await;
        let (locks, records) = reached(&plane, is_ours);
        let (one, other) = (plane.host("one").await, plane.host("other").await);
        records.create(&doc(&key("r")), None).await.unwrap();
        let a = "a".to_owned();

        let first = held(locks.claim(&one, &a).await.unwrap());
        assert_eq!(held(locks.claim(&one, &a).await.unwrap()).uid(), first.uid());
        assert_eq!(taken(locks.claim(&other, &a).await.unwrap()).to_string(), "Host one");
        locks.informer().wait_for(first.token(), PATIENCE).await.unwrap();
        assert_eq!(locks.held(&one).unwrap().iter().map(HeldLock::uid).collect::<Vec<_>>(), [first.uid()]);
        if is_ours {
            write(&records, first.fence().unwrap()).await.unwrap();
        }

        let free = locks.release(&first).await.unwrap();
        assert!(matches!(free, Released::Free(_)), "{free:?}");
        let second = held(locks.claim(&other, &a).await.unwrap());
        assert_eq!(locks.release(&first).await, Ok(Released::NotHeld));
        assert_eq!(plane.lock("a").await.unwrap().uid(), Some(second.uid().as_str()));
        match first.fence() {
            Err(NoFences) => assert!(!is_ours),
            Ok(stale) => {
                let refused = write(&records, stale).await.unwrap_err();
                assert!(matches!(refused, WriteError::Conflict(Conflict::Fence(_))), "{refused}");
            }
        }
    }
}

//! A source restored from a backup, with more keys than fit into one request.

use machinery_informers::deliver::Delivery;
use machinery_informers::testing::{Fault, OnEdit, OnEvent, TestObject};
use machinery_informers::{Interest, WaitError};
use machinery_objects::{Bookmark, WriteToken};
use tokio::time::sleep;

use crate::interests::{KeyedFixture, synced};
use crate::support::{key, seconds, settled};

async fn pass(rig: &KeyedFixture, slices: u32) {
    for _ in 0..slices {
        sleep(seconds(30)).await;
        rig.fake.bookmark();
    }
    settled().await;
}

fn all(rig: &KeyedFixture) -> Vec<String> {
    let read = rig.informers.read();
    let mut all: Vec<_> =
        read.iter().map(|(place, _, thing)| format!("{place} {}@{}", thing.key.name(), thing.text)).collect();
    all.sort_unstable();
    all
}

fn completed(held: &[Interest<String, TestObject>]) -> Vec<Option<u64>> {
    held.iter().map(|interest| interest.completed().map(|number| number.0)).collect()
}

async fn is_behind(rig: &KeyedFixture, token: &WriteToken) -> bool {
    let reached = rig.informers.wait_for(token, seconds(1)).await;
    reached == Err(WaitError::Behind { key: token.key.clone() })
}

#[test]
fn keys_relisted_by_edits_keep_their_state_and_are_incomplete_until_then() {
    // The edit completes, or breaks after some of its objects.
    for breaks in [false, true] {
        crate::support::virtually(async {
            let rig = KeyedFixture::of(2);
            let held = rig.acquire(5);
            rig.run();
            synced(&held).await;
            assert_eq!(completed(&held), [1, 2, 3, 4, 5].map(Some));
            for place in 0..5 {
                rig.put(&format!("never{place}"), &format!("p{place:03}"), "one");
            }
            let lost = rig.fake.put(TestObject::new("default/o003").at("p003").with_text("never"));
            rig.fake.delete(&key("default/o004"));
            settled().await;
            rig.log.take();
            rig.fake.restore(7);
            let written = rig.fake.put(TestObject::new("default/new").at("p004").with_text("one"));
            rig.fake.delete(&key("default/o002"));
            rig.fake.always(Fault::Edit(OnEdit::NoEcho));
            settled().await;
            // The source may only be behind, but its version confirms no write.
            assert!(is_behind(&rig, &written).await, "it is not received");
            assert!(is_behind(&rig, &lost).await, "it is shown, and never was");
            assert!(held.iter().all(Interest::is_synced));
            pass(&rig, 13).await;
            assert_eq!(completed(&held), [Some(1), Some(2), None, None, None]);
            assert_eq!(rig.informers.state().complete, 2);
            let as_known = [
                "p000 o000@one",
                "p001 o001@one",
                "p002 never2@one",
                "p002 o002@one",
                "p003 never3@one",
                "p003 o003@never",
                "p004 never4@one",
            ];
            assert_eq!(all(&rig), as_known);
            let mut log = rig.log.take();
            log.sort_unstable();
            assert_eq!(log, ["vanished default/never0@one", "vanished default/never1@one"]);
            assert!(is_behind(&rig, &written).await && is_behind(&rig, &lost).await);
            rig.fake.clear_faults();
            if breaks {
                // After the completions of the stream and the second object of the edit.
                for fault in [OnEvent::Twice, OnEvent::Twice, OnEvent::Twice, OnEvent::Ends] {
                    rig.fake.once(Fault::Event(fault));
                }
            }
            synced(&held).await;
            settled().await;
            let now = completed(&held);
            assert_eq!(now[..2], [Some(1), Some(2)]);
            assert!(now[2..].iter().all(|number| *number > Some(5)), "{now:?}");
            let as_it_is =
                ["p000 o000@one", "p001 o001@one", "p003 o003@one", "p004 new@one", "p004 o004@one"];
            assert_eq!(all(&rig), as_it_is);
            let mut log = rig.log.take();
            log.sort_unstable();
            let expected = [
                "added default/new@one",
                "added default/o004@one",
                "updated default/o003@one",
                "vanished default/never2@one",
                "vanished default/never3@one",
                "vanished default/never4@one",
                "vanished default/o002@one",
            ];
            assert_eq!(log, expected, "breaks: {breaks}");
            rig.informers.wait_for(&written, seconds(0)).await.unwrap();
            assert_eq!(rig.informers.state().complete, 5);
            // A late handler receives the completion mark.
            let mut events = rig.informers.events().unwrap();
            let last = now.into_iter().flatten().max();
            loop {
                if let Some(Delivery::Mark(Bookmark::Complete(number))) = events.next().await {
                    assert_eq!(Some(number.0), last);
                    break;
                }
            }
            drop(held);
            rig.stop().await;
        });
    }
}

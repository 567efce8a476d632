//! Arbitrary bytes decode to a value or an error, and never panic.

use http::{HeaderMap, StatusCode};
use proptest::prelude::*;

use super::event::{BookmarkMode, event};
use super::page::page;
use crate::refusal::Refusal;
use crate::testing::Host;

const SEEDS: [&str; 5] = [
    r#"{"metadata":{"resourceVersion":"7","continue":"on","remainingItemCount":3},"items":[{"metadata":{"name":"a","namespace":"n","resourceVersion":"5","labels":{"a":"\u0031"}},"spec":{"rack":1}}]}"#,
    r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"},"spec":{"rack":1}}}"#,
    r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true","machinery.dev/interest-edit":"3"}}}}"#,
    r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","details":{"causes":[{"reason":"x"}],"retryAfterSeconds":1}}}"#,
    r#"{"kind":"Status","code":504,"message":"current: 7","metadata":{"continue":"x"},"details":{"name":"a","uid":"u","causes":[{"reason":"ResourceVersionTooLarge"}]}}"#,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_responses_never_panic(
        seed in 0..SEEDS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 0..6),
        code in 100..600u16,
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            match how {
                0 if at < bytes.len() => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        // Returned objects have a name and a version.
        if let Ok(page) = page::<Host>(&bytes) {
            for host in page.items {
                prop_assert!(!host.metadata.key.is_unnamed() && host.metadata.version.is_some());
            }
        }
        for mut mode in [BookmarkMode::Bookmarks, BookmarkMode::State, BookmarkMode::Edits] {
            let _ = event::<Host>(&bytes, &mut mode);
        }
        let status = StatusCode::from_u16(code).expect("a code");
        for error in [
            Refusal::of_answer(status, &HeaderMap::new(), &bytes).list_error().to_string(),
            Refusal::of_answer(status, &HeaderMap::new(), &bytes).write_error(None).to_string(),
        ] {
            prop_assert!(error.len() < 5000);
        }
    }
}

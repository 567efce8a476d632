//! A stream of interest: what is asked for, and when.

mod edits;
mod refusals;
mod streams;

use std::time::Duration;

use machinery_objects::{ObjectKey, Revision};

use super::*;
use crate::keyed::ends::SHORT;

struct Talk {
    editor: Editor<u32>,
    now: Instant,
    tenures: u64,
}

fn version(number: u64) -> ResourceVersion {
    Revision(number).into()
}

fn complete(edit: u64, at: u64) -> Input<()> {
    Input::Event(WatchEvent::Complete { edit: EditNumber(edit), version: version(at) })
}

fn mark(at: u64) -> Input<()> {
    Input::Event(WatchEvent::Bookmark { version: version(at), initial_state_ends: false })
}

fn added(name: &str, at: u64) -> Input<()> {
    let key = ObjectKey::new(None, name).unwrap();
    Input::Event(WatchEvent::Added(Found { key, version: Some(version(at)), object: () }))
}

fn wrong() -> SourceError {
    SourceError::Invalid { reason: "no".into(), causes: Vec::new() }
}

fn busy(seconds: u64) -> WatchError {
    SourceError::TooManyRequests { retry_after: Some(Duration::from_secs(seconds)) }.into()
}

impl Talk {
    fn new() -> Self {
        let now = tokio::time::Instant::now().into_std();
        Self { editor: Editor::new(Limits::default(), true, 7, now), now, tenures: 0 }
    }

    /// One that asks for so many keys at a time.
    fn of(keys: usize) -> Self {
        let mut talk = Self::new();
        talk.editor.limits.edit_keys = keys;
        talk
    }

    /// One that goes on with these keys, as of version 7.
    fn going(keys: &[u32]) -> Self {
        let mut talk = Self::new();
        talk.wants(keys);
        let of: Vec<_> = keys.iter().map(u32::to_string).collect();
        talk.says(Input::Time, &format!("begin; open {}", of.join(",")));
        talk.says(Input::Opened, "");
        talk.says(complete(0, 7), &format!("finish 7; complete {}", of.join(",")));
        talk
    }

    /// Somebody wants these, and nobody did before.
    fn wants(&mut self, keys: &[u32]) {
        for key in keys {
            self.tenures += 1;
            self.editor.want([(*key, Some(Tenure(self.tenures)))]);
        }
    }

    fn drops(&mut self, keys: &[u32]) {
        self.editor.want(keys.iter().map(|key| (*key, None)));
    }

    #[track_caller]
    fn says(&mut self, input: Input<()>, expected: &str) {
        let (mut effects, mut complete) = (Vec::new(), Vec::new());
        let order = self.editor.step(self.now, input, &mut effects, &mut complete);
        let effects = effects
            .iter()
            .filter(|effect| !matches!(effect, Effect::Well | Effect::BeginSome))
            .map(|effect| match effect {
                Effect::Put(found) => format!("put {}", found.key),
                Effect::Late => "late".into(),
                Effect::Begin => "begin".into(),
                Effect::Finish(version) => format!("finish {version}"),
                Effect::Abandon => "abandon".into(),
                Effect::FinishSome => "renewed".into(),
                Effect::Reached(version) => format!("reached {version}"),
                Effect::Troubled(Trouble::Silent(_)) => "silent".into(),
                Effect::Troubled(Trouble::Short) => "short".into(),
                Effect::Troubled(Trouble::NoEnd) => "no end".into(),
                Effect::Troubled(Trouble::Behind { .. }) => "behind".into(),
                Effect::Troubled(Trouble::Endless { .. }) => "endless".into(),
                Effect::Troubled(_) => "trouble".into(),
                other => format!("{other:?}"),
            });
        let list = |keys: &BTreeSet<u32>| keys.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let those = |keys: &BTreeMap<u32, Tenure>| list(&keys.keys().copied().collect());
        let keys: BTreeSet<u32> = complete.iter().map(|(key, _)| *key).collect();
        let complete = (!keys.is_empty()).then(|| format!("complete {}", list(&keys)));
        let order = order.map(|order| match order {
            Order::Open { keys, after: None } => format!("open {}", those(&keys)),
            Order::Open { keys, after: Some(version) } => format!("open {} after {version}", those(&keys)),
            Order::Edit { remove, add } => format!("edit -{} +{}", list(&remove), those(&add)),
            Order::Wait => "wait".into(),
        });
        let said: Vec<_> = effects.chain(complete).chain(order).collect();
        assert_eq!(said.join("; "), expected);
    }

    fn step(&mut self, input: Input<()>) -> Option<Order<u32>> {
        self.editor.step(self.now, input, &mut Vec::new(), &mut Vec::new())
    }

    #[track_caller]
    fn later(&mut self, expected: &str) {
        self.now = self.editor.due().expect("something is due");
        self.says(Input::Time, expected);
    }
}

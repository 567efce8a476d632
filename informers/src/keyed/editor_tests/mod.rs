//! The state machine of an interest stream: commands and effects for each input.

mod edits;
mod refusals;
mod streams;

use std::time::Duration;

use machinery_objects::{ObjectKey, Revision};

use super::*;
use crate::keyed::stream_end::MIN_STREAM_TIME;

struct EditorHarness {
    editor: Editor<u32>,
    now: Instant,
    tenures: u64,
}

fn version(number: u64) -> ResourceVersion {
    Revision(number).into()
}

fn complete(edit: u64, at: u64) -> StreamInput<()> {
    StreamInput::Event(WatchEvent::Complete { edit: EditNumber(edit), version: version(at) })
}

fn mark(at: u64) -> StreamInput<()> {
    StreamInput::Event(WatchEvent::Bookmark { version: version(at), initial_state_ends: false })
}

fn added(name: &str, at: u64) -> StreamInput<()> {
    let key = ObjectKey::new(None, name).unwrap();
    StreamInput::Event(WatchEvent::Added(SourceObject { key, version: Some(version(at)), object: () }))
}

fn wrong() -> SourceError {
    SourceError::Invalid { reason: "no".into(), causes: Vec::new() }
}

fn busy(seconds: u64) -> WatchError {
    SourceError::TooManyRequests { retry_after: Some(Duration::from_secs(seconds)) }.into()
}

impl EditorHarness {
    fn new() -> Self {
        let now = tokio::time::Instant::now().into_std();
        Self { editor: Editor::new(ReflectorLimits::default(), true, 7, now), now, tenures: 0 }
    }

    /// Returns a harness with this limit of keys per request.
    fn of(keys: usize) -> Self {
        let mut harness = Self::new();
        harness.editor.limits.edit_keys = keys;
        harness
    }

    /// Returns a harness with an open stream of these keys, at version 7.
    fn open_with(keys: &[u32]) -> Self {
        let mut harness = Self::new();
        harness.acquire(keys);
        let of: Vec<_> = keys.iter().map(u32::to_string).collect();
        harness.expect(StreamInput::Time, &format!("begin; open {}", of.join(",")));
        harness.expect(StreamInput::Opened, "");
        harness.expect(complete(0, 7), &format!("finish 7; complete {}", of.join(",")));
        harness
    }

    /// Adds keys, each with a new tenure.
    fn acquire(&mut self, keys: &[u32]) {
        for key in keys {
            self.tenures += 1;
            self.editor.set_desired([(*key, Some(Tenure(self.tenures)))]);
        }
    }

    fn release(&mut self, keys: &[u32]) {
        self.editor.set_desired(keys.iter().map(|key| (*key, None)));
    }

    #[track_caller]
    fn expect(&mut self, input: StreamInput<()>, expected: &str) {
        let (mut effects, mut complete) = (Vec::new(), Vec::new());
        let command = self.editor.step(self.now, input, &mut effects, &mut complete);
        let effects = effects
            .iter()
            .filter(|effect| !matches!(effect, Effect::Recovered | Effect::BeginPartialRelist))
            .map(|effect| match effect {
                Effect::Put(found) => format!("put {}", found.key),
                Effect::Late => "late".into(),
                Effect::BeginRelist => "begin".into(),
                Effect::FinishRelist(version) => format!("finish {version}"),
                Effect::AbandonRelist => "abandon".into(),
                Effect::FinishPartialRelist => "renewed".into(),
                Effect::Progress(version) => format!("reached {version}"),
                Effect::Failed(ReflectorError::Silent(_)) => "silent".into(),
                Effect::Failed(ReflectorError::Short) => "short".into(),
                Effect::Failed(ReflectorError::NoEnd) => "no end".into(),
                Effect::Failed(ReflectorError::Behind { .. }) => "behind".into(),
                Effect::Failed(ReflectorError::Endless { .. }) => "endless".into(),
                Effect::Failed(_) => "trouble".into(),
                other => format!("{other:?}"),
            });
        let list = |keys: &BTreeSet<u32>| keys.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let those = |keys: &BTreeMap<u32, Tenure>| list(&keys.keys().copied().collect());
        let keys: BTreeSet<u32> = complete.iter().map(|(key, _)| *key).collect();
        let complete = (!keys.is_empty()).then(|| format!("complete {}", list(&keys)));
        let command = command.map(|command| match command {
            StreamCommand::Open { keys, after: None } => format!("open {}", those(&keys)),
            StreamCommand::Open { keys, after: Some(version) } => {
                format!("open {} after {version}", those(&keys))
            }
            StreamCommand::Edit { remove, add } => format!("edit -{} +{}", list(&remove), those(&add)),
            StreamCommand::Wait => "wait".into(),
        });
        let actual: Vec<_> = effects.chain(complete).chain(command).collect();
        assert_eq!(actual.join("; "), expected);
    }

    fn step(&mut self, input: StreamInput<()>) -> Option<StreamCommand<u32>> {
        self.editor.step(self.now, input, &mut Vec::new(), &mut Vec::new())
    }

    #[track_caller]
    fn later(&mut self, expected: &str) {
        self.now = self.editor.due().expect("something is due");
        self.expect(StreamInput::Time, expected);
    }
}

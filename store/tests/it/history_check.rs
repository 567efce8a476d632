//! The history checker on handmade records: valid and invalid ones.

use machinery_objects::Revision;
use machinery_store::history::{CallRecord, Exchange, History, Violation, check};
use machinery_store::{Backend, Commit, CommitError, Conflict, KeySpan, Range, Transaction};

/// Builds a record, with a model that computes correct answers.
#[derive(Default)]
struct RecordBuilder {
    calls: Vec<CallRecord>,
    store: machinery_store::model::NaiveBackend,
}

/// A commit with its times of call and answer; without an answer, it is pending for ever.
struct TimedWrite(u64, Option<u64>, Transaction);

fn put(key: &str) -> Transaction {
    Transaction::new().put(key, key.as_bytes())
}

fn delete(key: &str) -> Transaction {
    Transaction::new().delete(key)
}

impl RecordBuilder {
    fn record(&mut self, called: u64, answered: Option<u64>, exchange: Exchange) {
        let client = self.calls.len();
        self.calls.push(CallRecord { client, called, answered, exchange });
    }

    /// Applies a commit to the model, and records its answer.
    async fn write(&mut self, TimedWrite(called, answered, transaction): TimedWrite) -> Option<Commit> {
        let commit = self.store.commit(transaction.clone()).await;
        let told = answered.map(|_| commit.clone());
        self.record(called, answered, Exchange::Commit(transaction, told));
        commit.ok()
    }

    /// Records a commit that is neither applied nor answered.
    fn lose(&mut self, called: u64, transaction: Transaction) {
        let why = "the line is cut".into();
        self.record(
            called,
            Some(called + 1),
            Exchange::Commit(transaction, Some(Err(CommitError::Unknown { why }))),
        );
    }

    /// Records a read of the model's current state.
    async fn read(&mut self, called: u64, answered: u64) {
        let range = Range::of(KeySpan::all());
        let page = self.store.range(range.clone()).await;
        self.record(called, Some(answered), Exchange::Range(range, Some(page)));
    }

    fn check_record(mut self) -> Result<Revision, Vec<Violation>> {
        self.calls.sort_by_key(|call| call.called);
        let history = History { first: Revision(1), calls: self.calls, watches: vec![] };
        check(&history).map(|replay| replay.last())
    }

    fn assert_violation(self, name: &str) {
        let wrong = self.check_record().expect_err("it is wrong");
        assert_eq!(wrong.iter().map(Violation::name).collect::<Vec<_>>(), [name], "{wrong:?}");
    }
}

#[tokio::test]
async fn overlapping_calls_may_have_any_order() {
    let mut story = RecordBuilder::default();
    story.write(TimedWrite(1, Some(20), put("a"))).await;
    // Called later, and applied earlier or later.
    story.write(TimedWrite(2, Some(10), put("b"))).await;
    story.read(3, 30).await;
    assert_eq!(story.check_record(), Ok(Revision(3)));
}

#[tokio::test]
async fn real_time_order_is_respected() {
    let mut story = RecordBuilder::default();
    // The commit called after the other's answer has the lower revision.
    story.write(TimedWrite(30, Some(40), put("a"))).await;
    story.write(TimedWrite(10, Some(20), put("b"))).await;
    story.read(50, 60).await;
    story.assert_violation("linearizable");
}

#[tokio::test]
async fn a_read_of_an_overwritten_state_is_stale() {
    let mut story = RecordBuilder::default();
    story.read(30, 40).await;
    story.write(TimedWrite(10, Some(20), put("a"))).await;
    story.read(50, 60).await;
    story.assert_violation("linearizable");
}

#[tokio::test]
async fn a_read_of_the_current_state_is_not_stale() {
    let mut story = RecordBuilder::default();
    story.read(15, 40).await;
    story.write(TimedWrite(10, Some(20), put("a"))).await;
    story.read(50, 60).await;
    assert_eq!(story.check_record(), Ok(Revision(2)));
}

#[tokio::test]
async fn an_unanswered_commit_may_be_applied_or_not() {
    let mut story = RecordBuilder::default();
    story.lose(1, put("a"));
    story.write(TimedWrite(2, None, put("b"))).await;
    story.lose(3, put("c"));
    story.read(10, 20).await;
    assert_eq!(story.check_record(), Ok(Revision(2)));
}

#[tokio::test]
async fn an_unanswered_commit_may_apply_late_but_not_early() {
    let mut late = RecordBuilder::default();
    late.write(TimedWrite(10, Some(20), put("b"))).await;
    late.read(30, 40).await;
    late.write(TimedWrite(1, None, put("a"))).await;
    late.read(50, 60).await;
    assert_eq!(late.check_record(), Ok(Revision(3)));

    let mut early = RecordBuilder::default();
    early.write(TimedWrite(45, None, put("a"))).await;
    early.read(30, 40).await;
    early.read(50, 60).await;
    early.assert_violation("linearizable");
}

/// No read identifies the makers of revisions 4 and 5, only the final state: the search must
/// backtrack.
#[tokio::test]
async fn the_search_backtracks() {
    let (one, other) = (("x", "y"), ("y", "x"));
    for (first, second) in [one, other] {
        let mut story = RecordBuilder::default();
        story.write(TimedWrite(1, Some(2), put("x"))).await;
        story.write(TimedWrite(3, Some(4), put("y"))).await;
        story.lose(10, delete(second));
        story.write(TimedWrite(11, None, delete(first))).await;
        story.write(TimedWrite(12, Some(20), put("z"))).await;
        story.read(30, 40).await;
        assert_eq!(story.check_record(), Ok(Revision(5)), "{first} goes");
    }
}

#[tokio::test]
async fn an_unexplained_revision_is_a_violation() {
    let mut story = RecordBuilder::default();
    let _nobody = story.store.commit(put("ghost")).await;
    story.lose(1, put("a"));
    story.write(TimedWrite(2, Some(20), put("b"))).await;
    story.read(30, 40).await;
    story.assert_violation("linearizable");
}

#[tokio::test]
async fn two_commits_on_one_state_are_a_violation() {
    let mut story = RecordBuilder::default();
    let created = story.write(TimedWrite(1, Some(2), put("n"))).await.expect("it is created");
    let add = Transaction::new().if_at("n", created.revision).put("n", *b"more");
    story.write(TimedWrite(3, Some(10), add.clone())).await.expect("one may");
    // The other one is acknowledged too.
    let before = created.before.clone();
    let second = Commit { revision: Revision(4), changed: true, before };
    story.record(4, Some(11), Exchange::Commit(add, Some(Ok(second))));
    story.record(20, Some(21), Exchange::Revision(Some(Ok(Revision(4)))));
    story.assert_violation("linearizable");
}

#[tokio::test]
async fn a_conflict_needs_a_failed_condition() {
    let mut story = RecordBuilder::default();
    let created = story.write(TimedWrite(1, Some(2), put("n"))).await.expect("it is created");
    let held = Transaction::new().if_at("n", created.revision).put("n", *b"more");
    let conflict = Conflict { condition: 0, key: "n".into(), current: None, revision: created.revision };
    story.record(3, Some(4), Exchange::Commit(held, Some(Err(CommitError::Conflict(Box::new(conflict))))));
    story.read(10, 20).await;
    story.assert_violation("linearizable");
}

#[tokio::test]
async fn a_reused_revision_is_reported() {
    let mut story = RecordBuilder::default();
    let first = story.write(TimedWrite(1, Some(2), put("a"))).await.expect("it is created");
    story.record(3, Some(4), Exchange::Commit(put("b"), Some(Ok(first))));
    story.read(10, 20).await;
    story.assert_violation("revision-reused");
}

#[tokio::test]
async fn an_invalid_record_is_reported() {
    let mut open = RecordBuilder::default();
    open.write(TimedWrite(1, None, put("a"))).await;
    open.assert_violation("assumption");

    let mut hasty = RecordBuilder::default();
    hasty.write(TimedWrite(1, Some(10), put("a"))).await;
    hasty.read(5, 20).await;
    for call in &mut hasty.calls {
        call.client = 0;
    }
    hasty.assert_violation("assumption");
}

/// Seven of fourteen unanswered deletes were applied: 17 million orders, but few states.
#[tokio::test]
async fn many_unanswered_commits_are_checked() {
    let mut story = RecordBuilder::default();
    let keys: Vec<String> = (0..14).map(|index| format!("k{index:02}")).collect();
    let all = keys.iter().fold(Transaction::new(), |all, key| all.put(key.as_str(), *b"1"));
    story.write(TimedWrite(1, Some(2), all)).await;
    for (called, key) in (10..).step_by(2).zip(&keys) {
        if called % 4 == 2 {
            story.write(TimedWrite(called, None, delete(key))).await.expect("it happens");
        } else {
            story.lose(called, delete(key));
        }
    }
    story.read(100, 110).await;
    assert_eq!(story.check_record(), Ok(Revision(9)));
}

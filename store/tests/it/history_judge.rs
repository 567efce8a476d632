//! The judge of records, on records made by hand: what is explained by some order, and what by none.

use machinery_objects::Revision;
use machinery_store::history::{Call, Exchange, History, Violation, check};
use machinery_store::{Backend, Commit, CommitError, Conflict, Range, Span, Transaction};

/// A record in the making, beside a model that gives the answers of a right store.
#[derive(Default)]
struct Story {
    calls: Vec<Call>,
    store: machinery_store::model::Naive,
}

/// A put or a delete that lasts from one time to another; for ever, if nobody was told.
struct Write(u64, Option<u64>, Transaction);

fn put(key: &str) -> Transaction {
    Transaction::new().put(key, key.as_bytes())
}

fn delete(key: &str) -> Transaction {
    Transaction::new().delete(key)
}

impl Story {
    fn tell(&mut self, called: u64, answered: Option<u64>, exchange: Exchange) {
        let client = self.calls.len();
        self.calls.push(Call { client, called, answered, exchange });
    }

    /// It happens in the model, and whoever waits is told what it did.
    async fn write(&mut self, Write(called, answered, transaction): Write) -> Option<Commit> {
        let commit = self.store.commit(transaction.clone()).await;
        let told = answered.map(|_| commit.clone());
        self.tell(called, answered, Exchange::Commit(transaction, told));
        commit.ok()
    }

    /// It never happens, and nobody is told.
    fn lose(&mut self, called: u64, transaction: Transaction) {
        let why = "the line is cut".into();
        self.tell(
            called,
            Some(called + 1),
            Exchange::Commit(transaction, Some(Err(CommitError::Unknown { why }))),
        );
    }

    /// Reads everything as the model is now.
    async fn read(&mut self, called: u64, answered: u64) {
        let range = Range::of(Span::all());
        let page = self.store.range(range.clone()).await;
        self.tell(called, Some(answered), Exchange::Range(range, Some(page)));
    }

    fn judge(mut self) -> Result<Revision, Vec<Violation>> {
        self.calls.sort_by_key(|call| call.called);
        let history = History { first: Revision(1), calls: self.calls, watches: vec![] };
        check(&history).map(|replay| replay.last())
    }

    fn must_fail_as(self, name: &str) {
        let wrong = self.judge().expect_err("it is wrong");
        assert_eq!(wrong.iter().map(Violation::name).collect::<Vec<_>>(), [name], "{wrong:?}");
    }
}

#[tokio::test]
async fn calls_that_overlap_may_have_any_order() {
    let mut story = Story::default();
    story.write(Write(1, Some(20), put("a"))).await;
    // Called later, and done earlier or later.
    story.write(Write(2, Some(10), put("b"))).await;
    story.read(3, 30).await;
    assert_eq!(story.judge(), Ok(Revision(3)));
}

#[tokio::test]
async fn an_answer_before_a_call_comes_before_it() {
    let mut story = Story::default();
    // The one that was called when the other had been answered has the lower revision.
    story.write(Write(30, Some(40), put("a"))).await;
    story.write(Write(10, Some(20), put("b"))).await;
    story.read(50, 60).await;
    story.must_fail_as("linearizable");
}

#[tokio::test]
async fn a_read_of_a_moment_that_is_over_is_stale() {
    let mut story = Story::default();
    story.read(30, 40).await;
    story.write(Write(10, Some(20), put("a"))).await;
    story.read(50, 60).await;
    story.must_fail_as("linearizable");
}

#[tokio::test]
async fn a_read_of_a_moment_that_lasts_is_not() {
    let mut story = Story::default();
    story.read(15, 40).await;
    story.write(Write(10, Some(20), put("a"))).await;
    story.read(50, 60).await;
    assert_eq!(story.judge(), Ok(Revision(2)));
}

#[tokio::test]
async fn what_nobody_was_told_may_have_happened_or_not() {
    let mut story = Story::default();
    story.lose(1, put("a"));
    story.write(Write(2, None, put("b"))).await;
    story.lose(3, put("c"));
    story.read(10, 20).await;
    assert_eq!(story.judge(), Ok(Revision(2)));
}

#[tokio::test]
async fn what_nobody_was_told_may_happen_late_but_not_early() {
    let mut late = Story::default();
    late.write(Write(10, Some(20), put("b"))).await;
    late.read(30, 40).await;
    late.write(Write(1, None, put("a"))).await;
    late.read(50, 60).await;
    assert_eq!(late.judge(), Ok(Revision(3)));

    let mut early = Story::default();
    early.write(Write(45, None, put("a"))).await;
    early.read(30, 40).await;
    early.read(50, 60).await;
    early.must_fail_as("linearizable");
}

/// Nothing that was read tells who made the revisions 4 and 5, only what is left in the end: the search has to go back.
#[tokio::test]
async fn the_search_goes_back_where_it_chose_wrong() {
    let (one, other) = (("x", "y"), ("y", "x"));
    for (first, second) in [one, other] {
        let mut story = Story::default();
        story.write(Write(1, Some(2), put("x"))).await;
        story.write(Write(3, Some(4), put("y"))).await;
        story.lose(10, delete(second));
        story.write(Write(11, None, delete(first))).await;
        story.write(Write(12, Some(20), put("z"))).await;
        story.read(30, 40).await;
        assert_eq!(story.judge(), Ok(Revision(5)), "{first} goes");
    }
}

#[tokio::test]
async fn a_revision_that_nobody_can_have_made_is_wrong() {
    let mut story = Story::default();
    let _nobody = story.store.commit(put("ghost")).await;
    story.lose(1, put("a"));
    story.write(Write(2, Some(20), put("b"))).await;
    story.read(30, 40).await;
    story.must_fail_as("linearizable");
}

#[tokio::test]
async fn two_commits_on_one_state_are_wrong() {
    let mut story = Story::default();
    let created = story.write(Write(1, Some(2), put("n"))).await.expect("it is created");
    let add = Transaction::new().if_at("n", created.revision).put("n", *b"more");
    story.write(Write(3, Some(10), add.clone())).await.expect("one may");
    // The other is acknowledged as well.
    let before = created.before.clone();
    let second = Commit { revision: Revision(4), changed: true, before };
    story.tell(4, Some(11), Exchange::Commit(add, Some(Ok(second))));
    story.tell(20, Some(21), Exchange::Revision(Some(Ok(Revision(4)))));
    story.must_fail_as("linearizable");
}

#[tokio::test]
async fn a_refusal_needs_a_reason() {
    let mut story = Story::default();
    let created = story.write(Write(1, Some(2), put("n"))).await.expect("it is created");
    let held = Transaction::new().if_at("n", created.revision).put("n", *b"more");
    let conflict = Conflict { condition: 0, key: "n".into(), current: None, revision: created.revision };
    story.tell(3, Some(4), Exchange::Commit(held, Some(Err(CommitError::Conflict(Box::new(conflict))))));
    story.read(10, 20).await;
    story.must_fail_as("linearizable");
}

#[tokio::test]
async fn one_revision_for_two_commits_is_told_as_that() {
    let mut story = Story::default();
    let first = story.write(Write(1, Some(2), put("a"))).await.expect("it is created");
    story.tell(3, Some(4), Exchange::Commit(put("b"), Some(Ok(first))));
    story.read(10, 20).await;
    story.must_fail_as("revision-reused");
}

#[tokio::test]
async fn a_record_that_cannot_be_judged_says_so() {
    let mut open = Story::default();
    open.write(Write(1, None, put("a"))).await;
    open.must_fail_as("assumption");

    let mut hasty = Story::default();
    hasty.write(Write(1, Some(10), put("a"))).await;
    hasty.read(5, 20).await;
    for call in &mut hasty.calls {
        call.client = 0;
    }
    hasty.must_fail_as("assumption");
}

/// Seven of fourteen deletes happened, and nobody was told of any: there are 17 million orders, and few places to be in.
#[tokio::test]
async fn many_unknown_commits_are_judged() {
    let mut story = Story::default();
    let keys: Vec<String> = (0..14).map(|index| format!("k{index:02}")).collect();
    let all = keys.iter().fold(Transaction::new(), |all, key| all.put(key.as_str(), *b"1"));
    story.write(Write(1, Some(2), all)).await;
    for (called, key) in (10..).step_by(2).zip(&keys) {
        if called % 4 == 2 {
            story.write(Write(called, None, delete(key))).await.expect("it happens");
        } else {
            story.lose(called, delete(key));
        }
    }
    story.read(100, 110).await;
    assert_eq!(story.judge(), Ok(Revision(9)));
}

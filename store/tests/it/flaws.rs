//! The suite is held against stores that are wrong: for each flaw a behaviour that misses something.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use machinery_store::conformance::{BEHAVIOURS, Subject, within};
use machinery_store::model::{Flaw, Flawed, Naive};
use machinery_store::{Backend, Limits};

struct OfFlawed {
    flaw: Flaw,
    opened: Option<Naive>,
}

impl OfFlawed {
    fn flawed(&self, naive: Naive) -> Arc<dyn Backend> {
        Arc::new(Flawed::new(Arc::new(naive), self.flaw, 1))
    }
}

#[async_trait]
impl Subject for OfFlawed {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        let naive = self.opened.insert(Naive::new(limits)).clone();
        self.flawed(naive)
    }

    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        Some(self.flawed(self.opened.clone()?))
    }
}

/// The behaviour that is about the flaw, and not one that happens to stumble over it.
const MISSED_BY: [(Flaw, &str); 31] = [
    (Flaw::DropsEvent, "a_watch_from_the_first_revision_yields_everything"),
    (Flaw::DropsPartOfRevision, "a_revision_is_told_whole_and_in_order"),
    (Flaw::SwapsRevisions, "a_late_reader_gets_everything"),
    (Flaw::RepeatsEvent, "all_watches_hear_the_same"),
    (Flaw::SplitsRevision, "a_revision_is_told_whole_and_in_order"),
    (Flaw::LeaksOtherKeys, "a_watch_hears_only_of_its_span"),
    (Flaw::WrongBefore, "an_event_tells_before_and_after"),
    (Flaw::WrongCreate, "an_event_tells_before_and_after"),
    (Flaw::WrongValue, "an_event_tells_before_and_after"),
    (Flaw::MarksTooEarly, "a_mark_comes_after_all_changes_before_it"),
    (Flaw::MarksGoBack, "marks_are_in_step_with_the_changes"),
    (Flaw::ResumesTooLate, "a_watch_resumes_from_every_revision"),
    (Flaw::LosesDeleteAtCompaction, "a_watch_at_the_compaction_hears_of_the_next_delete"),
    (Flaw::HidesGap, "a_slow_watch_is_ended_and_has_no_gap"),
    (Flaw::EndsQuietWatch, "a_quiet_watch_outlives_compaction"),
    (Flaw::ReadsStale, "a_read_sees_every_write_before_it"),
    (Flaw::ReadsFuture, "a_read_of_the_future_is_refused"),
    (Flaw::ReadsCompacted, "reads_below_a_compaction_are_refused"),
    (Flaw::ReadsNowForThen, "a_list_at_each_revision_is_what_was"),
    (Flaw::TearsPages, "pages_are_of_one_moment_while_writes_go_on"),
    (Flaw::DropsLastEntry, "a_list_has_as_many_pages_as_it_needs"),
    (Flaw::TakesPrefixForDirectory, "a_prefix_ends_where_it_ends"),
    (Flaw::LosesWrite, "create_if_absent_creates"),
    (Flaw::ReusesRevision, "revisions_rise"),
    (Flaw::TellsOldRevision, "revisions_rise"),
    (Flaw::HalvesTransaction, "a_transaction_has_one_revision"),
    (Flaw::AppliesRefused, "a_refused_transaction_has_no_effect"),
    (Flaw::IgnoresAba, "what_came_back_is_not_what_was"),
    (Flaw::CountsChanges, "unchanged_is_about_the_state"),
    (Flaw::CountsNoOps, "a_delete_of_what_is_absent_takes_no_revision"),
    (Flaw::CompactsLiving, "compaction_never_removes_what_lives"),
];

/// Time is stopped, so that a behaviour that waits for what does not come is at its limit at once.
#[tokio::test(start_paused = true)]
async fn each_flaw_is_missed_by_the_behaviour_about_it() {
    for (flaw, name) in MISSED_BY {
        let behaviour = BEHAVIOURS.iter().find(|behaviour| behaviour.name == name);
        let check = behaviour.unwrap_or_else(|| panic!("there is no {name}")).check;
        let mut subject = OfFlawed { flaw, opened: None };
        let looked = AssertUnwindSafe(within(check(&mut subject))).catch_unwind().await;
        assert!(looked.is_err(), "{name} does not see that the store {flaw:?}");
    }
    let named: BTreeSet<Flaw> = MISSED_BY.into_iter().map(|(flaw, _)| flaw).collect();
    assert_eq!(named, BTreeSet::from(Flaw::ALL), "every flaw is looked for");
}

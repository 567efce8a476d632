//! The conformance suite detects every flaw: each fails the behaviour about it.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use machinery_store::conformance::{BEHAVIOURS, Subject, within};
use machinery_store::model::{Flaw, FlawedBackend, NaiveBackend};
use machinery_store::{Backend, Limits};

struct FlawedSubject {
    flaw: Flaw,
    opened: Option<NaiveBackend>,
}

impl FlawedSubject {
    fn flawed(&self, naive: NaiveBackend) -> Arc<dyn Backend> {
        Arc::new(FlawedBackend::new(Arc::new(naive), self.flaw, 1))
    }
}

#[async_trait]
impl Subject for FlawedSubject {
    async fn open(&mut self, limits: Limits) -> Arc<dyn Backend> {
        let naive = self.opened.insert(NaiveBackend::new(limits)).clone();
        self.flawed(naive)
    }

    async fn reopen(&mut self) -> Option<Arc<dyn Backend>> {
        Some(self.flawed(self.opened.clone()?))
    }
}

/// The behaviour about each flaw, rather than one that happens to fail.
const FAILED_BY: [(Flaw, &str); 31] = [
    (Flaw::DropsEvent, "a_watch_from_the_first_revision_yields_everything"),
    (Flaw::DropsPartOfRevision, "a_revision_is_yielded_whole_and_in_order"),
    (Flaw::SwapsRevisions, "a_late_reader_gets_everything"),
    (Flaw::RepeatsEvent, "all_watches_yield_the_same_changes"),
    (Flaw::SplitsRevision, "a_revision_is_yielded_whole_and_in_order"),
    (Flaw::LeaksOtherKeys, "a_watch_yields_only_keys_of_its_span"),
    (Flaw::WrongBefore, "an_event_has_the_state_before_and_after"),
    (Flaw::WrongCreate, "an_event_has_the_state_before_and_after"),
    (Flaw::WrongValue, "an_event_has_the_state_before_and_after"),
    (Flaw::MarksTooEarly, "progress_follows_all_earlier_changes"),
    (Flaw::MarksGoBack, "progress_is_ordered_with_the_changes"),
    (Flaw::ResumesTooLate, "a_watch_resumes_from_every_revision"),
    (Flaw::LosesDeleteAtCompaction, "a_watch_at_the_compaction_yields_the_next_delete"),
    (Flaw::HidesGap, "a_slow_watch_is_ended_and_has_no_gap"),
    (Flaw::EndsQuietWatch, "an_idle_watch_outlives_compaction"),
    (Flaw::ReadsStale, "a_read_sees_every_write_before_it"),
    (Flaw::ReadsFuture, "a_read_of_the_future_is_refused"),
    (Flaw::ReadsCompacted, "reads_below_a_compaction_are_refused"),
    (Flaw::ReadsNowForThen, "a_list_at_each_revision_matches_the_past_state"),
    (Flaw::TearsPages, "pages_are_of_one_revision_during_writes"),
    (Flaw::DropsLastEntry, "a_list_has_as_many_pages_as_it_needs"),
    (Flaw::TakesPrefixForDirectory, "a_prefix_ends_where_it_ends"),
    (Flaw::LosesWrite, "create_if_absent_creates"),
    (Flaw::ReusesRevision, "revisions_rise"),
    (Flaw::TellsOldRevision, "revisions_rise"),
    (Flaw::HalvesTransaction, "a_transaction_has_one_revision"),
    (Flaw::AppliesRefused, "a_refused_transaction_has_no_effect"),
    (Flaw::IgnoresAba, "a_recreated_key_fails_conditions_on_the_old_one"),
    (Flaw::CountsChanges, "unchanged_is_about_the_state"),
    (Flaw::CountsNoOps, "a_delete_of_an_absent_key_takes_no_revision"),
    (Flaw::CompactsLiving, "compaction_never_removes_a_live_entry"),
];

/// Time is paused, so that a behaviour that hangs reaches its timeout at once.
#[tokio::test(start_paused = true)]
async fn each_flaw_fails_the_behaviour_about_it() {
    for (flaw, name) in FAILED_BY {
        let behaviour = BEHAVIOURS.iter().find(|behaviour| behaviour.name == name);
        let check = behaviour.unwrap_or_else(|| panic!("there is no {name}")).check;
        let mut subject = FlawedSubject { flaw, opened: None };
        let looked = AssertUnwindSafe(within(check(&mut subject))).catch_unwind().await;
        assert!(looked.is_err(), "{name} does not see that the store {flaw:?}");
    }
    let named: BTreeSet<Flaw> = FAILED_BY.into_iter().map(|(flaw, _)| flaw).collect();
    assert_eq!(named, BTreeSet::from(Flaw::ALL), "every flaw is looked for");
}

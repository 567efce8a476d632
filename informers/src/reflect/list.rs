//! Paged lists.

use std::time::Instant;

use machinery_objects::{Freshness, ListAt, ListError, ListRequest, Page, ResourceVersion, SourceError};

use super::error::ReflectorError;
use super::step::{Effect, Reflector, ReflectorCommand, ReflectorPhase, SourceObject};

/// A running list.
pub(super) struct Listing {
    request: ListRequest,
    /// The version of the first page; the watch after the list repeats later changes.
    version: Option<ResourceVersion>,
    began: Instant,
    objects: usize,
    empty_pages: u32,
    /// The current page is retried after a delay.
    pub(super) is_waiting: bool,
}

/// Number of successive lists that expire between pages, before the next is requested unpaged.
const MAX_EXPIRED_LISTS: u32 = 2;

impl Reflector {
    pub(super) fn first_page(&mut self, now: Instant) -> ReflectorCommand {
        let request = ListRequest {
            filter: self.config.filter.clone(),
            // Not any version, as client-go begins with: a stale replica would move the cache back.
            at: ListAt::Fresh(Freshness::Newest),
            // One page cannot expire between pages, at the price of a large response.
            limit: (self.expired_lists < MAX_EXPIRED_LISTS).then_some(self.config.limits.page),
            rest: None,
        };
        self.phase = ReflectorPhase::Listing(Listing {
            request,
            version: None,
            began: now,
            objects: 0,
            empty_pages: 0,
            is_waiting: false,
        });
        self.next_page(now)
    }

    pub(super) fn next_page(&mut self, now: Instant) -> ReflectorCommand {
        let ReflectorPhase::Listing(listing) = &mut self.phase else { return ReflectorCommand::Wait };
        listing.is_waiting = false;
        self.due = now + self.config.limits.answer_time;
        ReflectorCommand::List(listing.request.clone())
    }

    pub(super) fn page<T>(
        &mut self,
        now: Instant,
        page: Page<SourceObject<T>>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<ReflectorCommand> {
        let limits = self.config.limits;
        let ReflectorPhase::Listing(listing) = &mut self.phase else { return None };
        let Page { items, unreadable, version, rest, remaining: _ } = page;
        let count = items.len() + unreadable.len();
        listing.objects += count;
        listing.empty_pages = if count == 0 { listing.empty_pages + 1 } else { 0 };
        let version = listing.version.get_or_insert(version).clone();
        effects.extend(items.into_iter().map(Effect::Put));
        effects.extend(unreadable.into_iter().map(Effect::Unreadable));
        let endless = |limit: u64, of| Some(ReflectorError::Endless { limit, of });
        // Also of the last page: a complete list may still exceed the capacity.
        let trouble = if listing.objects > limits.objects {
            endless(limits.objects as u64, "objects")
        } else if rest.is_none() {
            None
        } else if listing.empty_pages > limits.empty_pages {
            endless(limits.empty_pages.into(), "pages without any object")
        } else if now > listing.began + limits.list_time {
            endless(limits.list_time.as_secs(), "seconds")
        } else {
            None
        };
        if let Some(trouble) = trouble {
            effects.push(Effect::Failed(trouble));
            self.abandon_relist(effects);
            return Some(self.wait(now, None));
        }
        let Some(rest) = rest else {
            return self
                .finish_state(now, version, effects)
                .or_else(|| Some(self.next_command(now, effects)));
        };
        listing.request.rest = Some(rest);
        Some(self.next_page(now))
    }

    pub(super) fn list_failed<T>(
        &mut self,
        now: Instant,
        error: ListError,
        effects: &mut Vec<Effect<T>>,
    ) -> ReflectorCommand {
        effects.push(Effect::Failed(ReflectorError::List(error.clone())));
        let list_time = self.config.limits.list_time;
        match (&error, &mut self.phase) {
            // The token for the rest is ignored: it continues the list at another version.
            (ListError::Expired { .. }, _) => {
                self.abandon_relist(effects);
                self.expired_lists += 1;
                // The first time at once: the pages were read too slowly, which may be over.
                if self.expired_lists == 1 { self.next_command(now, effects) } else { self.wait(now, None) }
            }
            // A failed page is retried alone, and the pages before it are kept.
            (ListError::Source(source), ReflectorPhase::Listing(listing))
                if source.is_transient()
                    && listing.request.rest.is_some()
                    && now < listing.began + list_time =>
            {
                let retry_after = source.retry_after();
                let mut listing = std::mem::replace(&mut self.phase, ReflectorPhase::Waiting);
                let command = self.wait(now, retry_after);
                if let ReflectorPhase::Listing(listing) = &mut listing {
                    listing.is_waiting = true;
                }
                self.phase = listing;
                command
            }
            // Refusals are retried as well: the permission or the kind may be added later.
            _ => {
                self.abandon_relist(effects);
                let retry_after = match &error {
                    ListError::FutureRevision { retry_after, .. } => *retry_after,
                    ListError::Source(source) => SourceError::retry_after(source),
                    _ => None,
                };
                self.wait(now, retry_after)
            }
        }
    }
}

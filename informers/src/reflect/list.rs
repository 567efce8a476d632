//! Lists, page by page.

use std::time::Instant;

use machinery_objects::{Freshness, ListAt, ListError, ListRequest, Page, ResourceVersion, SourceError};

use super::step::{Effect, Found, Order, Phase, Reflector};
use super::trouble::Trouble;

/// A list under way.
pub(super) struct Listing {
    request: ListRequest,
    /// That of the first page: what later ones show besides comes again.
    version: Option<ResourceVersion>,
    began: Instant,
    objects: usize,
    empty: u32,
    /// The page is asked for again when its time has come.
    pub(super) waits: bool,
}

/// So many lists in a row that expire, and the next is asked for in one page.
const EXPIRED: u32 = 2;

impl Reflector {
    pub(super) fn first_page(&mut self, now: Instant) -> Order {
        let request = ListRequest {
            filter: self.plan.filter.clone(),
            at: ListAt::Fresh(Freshness::Newest),
            limit: (self.expired < EXPIRED).then_some(self.plan.limits.page),
            rest: None,
        };
        self.phase = Phase::Listing(Listing {
            request,
            version: None,
            began: now,
            objects: 0,
            empty: 0,
            waits: false,
        });
        self.next_page(now)
    }

    pub(super) fn next_page(&mut self, now: Instant) -> Order {
        let Phase::Listing(listing) = &mut self.phase else { return Order::Wait };
        listing.waits = false;
        self.due = now + self.plan.limits.answer_time;
        Order::List(listing.request.clone())
    }

    pub(super) fn page<T>(
        &mut self,
        now: Instant,
        page: Page<Found<T>>,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<Order> {
        let limits = self.plan.limits;
        let Phase::Listing(listing) = &mut self.phase else { return None };
        let Page { items, unreadable, version, rest, remaining: _ } = page;
        let came = items.len() + unreadable.len();
        listing.objects += came;
        listing.empty = if came == 0 { listing.empty + 1 } else { 0 };
        let version = listing.version.get_or_insert(version).clone();
        effects.extend(items.into_iter().map(Effect::Put));
        effects.extend(unreadable.into_iter().map(Effect::Unreadable));
        let endless = |limit: u64, of| Some(Trouble::Endless { limit, of });
        let trouble = if listing.objects > limits.objects {
            endless(limits.objects as u64, "objects")
        } else if rest.is_none() {
            None
        } else if listing.empty > limits.empty_pages {
            endless(limits.empty_pages.into(), "pages without any object")
        } else if now > listing.began + limits.list_time {
            endless(limits.list_time.as_secs(), "seconds")
        } else {
            None
        };
        if let Some(trouble) = trouble {
            effects.push(Effect::Troubled(trouble));
            self.abandon(effects);
            return Some(self.wait(now, None));
        }
        let Some(rest) = rest else {
            return self.whole(now, version, effects).or_else(|| Some(self.ask(now, effects)));
        };
        listing.request.rest = Some(rest);
        Some(self.next_page(now))
    }

    pub(super) fn list_failed<T>(
        &mut self,
        now: Instant,
        error: ListError,
        effects: &mut Vec<Effect<T>>,
    ) -> Order {
        effects.push(Effect::Troubled(Trouble::List(error.clone())));
        let list_time = self.plan.limits.list_time;
        match (&error, &mut self.phase) {
            (ListError::Expired { .. }, _) => {
                self.abandon(effects);
                self.expired += 1;
                // The first time it is asked for at once: the pages were read too slowly, and that may be over.
                if self.expired == 1 { self.ask(now, effects) } else { self.wait(now, None) }
            }
            // One page that does not come now is asked for again, and those before it are kept.
            (ListError::Source(source), Phase::Listing(listing))
                if source.is_transient()
                    && listing.request.rest.is_some()
                    && now < listing.began + list_time =>
            {
                let retry_after = source.retry_after();
                let mut listing = std::mem::replace(&mut self.phase, Phase::Waiting);
                let order = self.wait(now, retry_after);
                if let Phase::Listing(listing) = &mut listing {
                    listing.waits = true;
                }
                self.phase = listing;
                order
            }
            _ => {
                self.abandon(effects);
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

//! Checks of reads at a revision, and of refusals.

use machinery_objects::Revision;

use super::calls::{Compactions, Exchange, History};
use super::linearization::{Linearization, page_of};
use super::violation::Violation;
use crate::{Page, Range, ReadError, WatchError};

/// Returns the violations of reads, and of starts and ends of watches.
pub(super) fn all<'h>(
    history: &'h History,
    replay: &'h Linearization,
) -> impl Iterator<Item = Violation> + 'h {
    let compactions = Compactions::of(history);
    let calls = history.calls.iter().enumerate().filter_map({
        let compactions = Compactions::of(history);
        move |(place, call)| {
            let Exchange::Range(range, Some(answer)) = &call.exchange else { return None };
            let answered = call.answered?;
            let why = match answer {
                Ok(page) => wrong_page(range, page, replay, compactions.certain(call.called)),
                Err(error) => wrong_refusal(range, error, compactions.possible(answered)),
            };
            why.map(|why| Violation::WrongRead { call: place, why })
        }
    });
    let watches = history.watches.iter().enumerate().filter_map(move |(place, watched)| {
        let began = watched.answered?;
        let (certain, possible) = (compactions.certain(watched.called), compactions.possible(u64::MAX));
        let is_compacted = certain.is_some_and(|certain| watched.after < certain);
        let is_future = replay.moment(watched.after).is_none_or(|moment| moment.called > began);
        let last = watched.seen.last().map(|(_, seen)| seen);
        let why = match &watched.end {
            Some(WatchError::Compacted { after, compacted }) if last.is_none() => {
                let is_so = *after == watched.after && after < compacted && Some(*compacted) <= possible;
                (!is_so).then_some("refused as compacted, and is not")
            }
            Some(WatchError::Future { after, current }) if last.is_none() => {
                (*after != watched.after || after <= current).then_some("refused as future, and is not")
            }
            Some(WatchError::TooSlow { seen, compacted }) => {
                let is_so = seen < compacted && Some(*compacted) <= possible && *seen >= watched.after;
                (!is_so).then_some("ended as slow, and nothing it could miss was compacted")
            }
            Some(WatchError::Compacted { .. } | WatchError::Future { .. }) => {
                Some("refused after it had begun")
            }
            // The watch may never have started.
            Some(WatchError::Unavailable { .. } | WatchError::TooMany { .. }) if last.is_none() => None,
            _ if is_compacted => Some("began after a revision that was compacted"),
            _ if is_future => Some("began after a revision that had not happened"),
            _ => None,
        };
        why.map(|why| Violation::WrongEnd { watch: place, why: why.to_string() })
    });
    calls.chain(watches)
}

fn wrong_page(
    range: &Range,
    page: &Page,
    replay: &Linearization,
    compacted: Option<Revision>,
) -> Option<String> {
    if range.at.is_some_and(|at| at != page.at) || page.at > page.current {
        return Some(format!("requested {:?}, answered with {} of {}", range.at, page.at, page.current));
    }
    if let Some(at) = range.at
        && let Some(compacted) = compacted.filter(|compacted| at < *compacted)
    {
        return Some(format!("{at} was read when {compacted} was compacted"));
    }
    let Some(moment) = replay.moment(page.at) else { return Some(format!("{} never was", page.at)) };
    let (entries, rest) = page_of(&moment.held, range);
    if entries != page.entries {
        return Some(format!("at {} there was {entries:?}, and read was {:?}", page.at, page.entries));
    }
    let next = page.entries.last().filter(|_| rest > 0).map(|entry| (page.at, &entry.key));
    if page.next.as_ref().map(|cursor| (cursor.at, &cursor.after)) != next {
        return Some(format!("{rest} entries follow the page, and its cursor is {:?}", page.next));
    }
    let remaining = range.count.then_some(rest as u64);
    (page.remaining != remaining)
        .then(|| format!("{remaining:?} entries follow, and reported was {:?}", page.remaining))
}

fn wrong_refusal(range: &Range, error: &ReadError, compacted_by: Option<Revision>) -> Option<String> {
    let is_so = match error {
        ReadError::Compacted { requested, compacted } => {
            range.at == Some(*requested) && requested < compacted && Some(*compacted) <= compacted_by
        }
        ReadError::Future { requested, current } => range.at == Some(*requested) && requested > current,
        ReadError::Unavailable { .. } => true,
    };
    (!is_so).then(|| format!("refused without reason: {error}"))
}

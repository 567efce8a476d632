//! Promise 14: traces and their scopes.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use machinery_objects::{SpanId, SpanIds, TraceId, Traceparent, traced};
use proptest::prelude::*;

const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn p14_valid_traceparents_are_parsed_and_others_refused() {
    let check = |text: &str, expected: Result<&str, usize>| {
        let read = text.parse::<Traceparent>().map(|read| read.to_string()).map_err(|error| error.at);
        assert_eq!(read, expected.map(str::to_owned), "{text:?}");
        assert_eq!(Traceparent::from_text(text).is_some(), expected.is_ok());
    };
    check(TEXT, Ok(TEXT));
    check(&TEXT.replace("-01", "-00"), Ok(&TEXT.replace("-01", "-00")));
    check(&TEXT.replace("-01", "-03"), Ok(&TEXT.replace("-01", "-03")));
    check(&TEXT.replace("-01", "-ff"), Ok(&TEXT.replace("-01", "-03"))); // flags that nobody knows are not passed on
    // Of a later version.
    check(&TEXT.replacen("00-", "cc-", 1), Ok(TEXT));
    check(&format!("{}-more", TEXT.replacen("00-", "01-", 1)), Ok(TEXT));
    check(&format!("{}more", TEXT.replacen("00-", "01-", 1)), Err(55));
    check(&TEXT.replacen("00-", "ff-", 1), Err(0));
    // Invalid.
    check("", Err(0));
    check("00", Err(3));
    check(&TEXT[..54], Err(54));
    check(&format!("{TEXT}-more"), Err(55));
    check(&format!("{TEXT} "), Err(55));
    check(&format!(" {TEXT}"), Err(0));
    check(&TEXT.to_uppercase(), Err(4));
    check(&TEXT.replace('-', "_"), Err(2));
    check(&TEXT.replacen("00-", "0x-", 1), Err(1));
    check(&TEXT.replace("b7-01", "b7-0g"), Err(54));
    check(&TEXT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)), Err(3));
    check(&TEXT.replace("00f067aa0ba902b7", &"0".repeat(16)), Err(36));
    check(&TEXT.replace('4', "ä"), Err(3));
}

#[test]
fn p14_a_child_is_in_the_same_trace() {
    let parent: Traceparent = TEXT.parse().unwrap();
    let ids = SpanIds::seeded(7);
    let child = parent.child(ids.span());
    assert_eq!((child.trace(), child.is_sampled()), (parent.trace(), true));
    assert_ne!(child.span(), parent.span());
    let root = ids.root();
    assert_ne!(root.trace(), parent.trace());
    assert!(root.is_sampled() && root.to_string().ends_with("-03"));
    let again = SpanIds::seeded(7);
    assert_eq!((again.span(), again.root()), (child.span(), root));
    assert_eq!((TraceId::new(0), SpanId::new(0)), (None, None));
}

proptest! {
    #[test]
    fn p14_a_traceparent_round_trips(trace in 1_u128.., span in 1_u64.., sampled: bool) {
        let (trace, span) = (TraceId::new(trace).unwrap(), SpanId::new(span).unwrap());
        let mut text = Traceparent::root(trace, span).to_string();
        if !sampled {
            text.replace_range(53.., "00");
        }
        prop_assert_eq!(text.len(), 55);
        let read: Traceparent = text.parse().unwrap();
        prop_assert_eq!((read.trace(), read.span(), read.is_sampled()), (trace, span, sampled));
        prop_assert_eq!(read.to_string(), text);
    }

    /// One byte is replaced.
    #[test]
    fn p14_a_changed_byte_is_parsed_by_the_grammar(at in 0..55_usize, byte in 0_u8..128) {
        let mut bytes = TEXT.as_bytes().to_vec();
        bytes[at] = byte;
        let is_hyphen = matches!(at, 2 | 35 | 52);
        let fits = if is_hyphen { byte == b'-' } else { matches!(byte, b'0'..=b'9' | b'a'..=b'f') };
        prop_assert_eq!(Traceparent::from_text(std::str::from_utf8(&bytes).unwrap()).is_some(), fits);
    }
}

/// Polls once.
fn poll<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn p14_a_future_is_in_its_trace_while_it_is_polled() {
    let ids = SpanIds::seeded(1);
    let (outer, inner) = (ids.root(), ids.root());
    let mut polls = 0;
    let seen = poll_fn(|_| {
        assert_eq!(Traceparent::current(), Some(inner));
        polls += 1;
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    });
    let work = async {
        assert_eq!(Traceparent::current(), Some(outer));
        traced(None, async { assert_eq!(Traceparent::current(), None) }).await;
        traced(Some(inner), seen).await;
        assert_eq!(Traceparent::current(), Some(outer));
    };
    let mut work = pin!(traced(Some(outer), work));
    assert_eq!(poll(work.as_mut()), Poll::Pending);
    assert_eq!(Traceparent::current(), None, "others of the thread are in no trace");
    assert_eq!(poll(work.as_mut()), Poll::Ready(()));
    assert_eq!(Traceparent::current(), None);
}

#[test]
fn p14_a_panic_leaves_no_trace_behind() {
    let trace = Some(SpanIds::seeded(1).root());
    let panics = || poll(traced(trace, async { panic!("on purpose") }));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(Traceparent::current(), None);
}

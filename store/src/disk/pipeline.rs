//! Recovery as a pipeline of three stages: a thread reads and verifies bytes, the calling thread
//! decodes them, and another thread builds the store. The caller allocates all lasting data,
//! because common allocators are slow with memory of short-lived threads.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Capacity of each channel, in parts. Most parts have some 64 KiB; one may have the size of the
/// largest batch.
const WAITING: usize = 32;

/// Sends a part to the next stage. Returns false if the receiver is gone, so that the stage stops.
pub(crate) type Emit<'a, T> = dyn Fn(T) -> bool + 'a;

/// Runs the three stages and returns the result of `make`. When `make` returns, the others stop.
pub(crate) fn pipeline<T: Send, U: Send, R: Send>(
    read: impl FnOnce(&Emit<'_, T>) + Send,
    decode: impl Fn(T) -> U,
    make: impl FnOnce(Receiver<U>) -> R + Send,
) -> io::Result<R> {
    let thread = |name: &str| thread::Builder::new().name(format!("machinery-store-{name}"));
    thread::scope(|scope| {
        let (emit, bytes) = sync_channel(WAITING);
        let (pass, parts) = sync_channel(WAITING);
        thread("read").spawn_scoped(scope, move || read(&|part| emit.send(part).is_ok()))?;
        let made = thread("load").spawn_scoped(scope, move || make(parts))?;
        for part in bytes {
            if pass.send(decode(part)).is_err() {
                break;
            }
        }
        drop(pass);
        made.join().map_err(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_end_with_the_last_one() {
        let sum = pipeline(
            |emit| while emit(1) {},
            |one| one * 2,
            |parts| parts.into_iter().take(100).sum::<u64>(),
        );
        assert_eq!(sum.expect("threads can be started"), 200);
    }

    #[test]
    fn parts_keep_their_order() {
        let emit_all = |emit: &Emit<'_, u64>| (0..100).for_each(|part| assert!(emit(part)));
        let all = pipeline(emit_all, |part| part + 1, |parts| parts.into_iter().collect::<Vec<_>>());
        assert_eq!(all.expect("threads can be started"), (1..=100).collect::<Vec<_>>());
    }
}

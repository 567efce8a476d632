//! Reading in three steps at once: a thread reads bytes and checks them, the one that asked takes them apart, and another thread
//! makes a store of the parts. The one that asked makes what lasts, because common allocators are slow with what a short-lived
//! thread leaves behind.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// So many parts may wait for the next step. Most have some 64 KiB; one has as much as the largest batch.
const WAITING: usize = 32;

/// Gives a part to the next step. False: nobody wants any more.
pub(crate) type Emit<'a, T> = dyn Fn(T) -> bool + 'a;

/// Does all three, and returns what was made. When `make` returns, the steps before it end.
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

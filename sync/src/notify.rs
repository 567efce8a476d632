//! A list of wakers, woken in order of registration.
//!
//! The protocol is listen, check, wait: a waiter calls [`Notify::listen`] *before* it checks its
//! condition, and a notifier changes the condition *before* it notifies. No permit is stored for
//! later listeners.

use crate::atomic::{AtomicUsize, Ordering};
use crate::{Mutex, MutexGuard};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Wakes tasks that wait for a condition kept elsewhere.
///
/// The condition must be guarded by a lock that the waiter takes between `listen` and waiting, and
/// the notifier before notifying. That lock orders the waiter's registration before the notifier's
/// check for listeners, which is why a call without listeners costs one plain load.
pub struct Notify {
    /// Number of listeners that are queued and not yet woken. Written under `list`'s lock only.
    queued: AtomicUsize,
    list: Mutex<List>,
}

/// A registered waiter, from [`Notify::listen`]. Completes once it is woken.
///
/// Dropping it removes it from the list; if it was woken before it completed, the next listener is
/// woken instead.
#[must_use = "listening without awaiting waits for nothing"]
pub struct Listener<'a> {
    notify: &'a Notify,
    /// The slot in the list; `None` once completed.
    slot: Option<u32>,
}

const NIL: u32 = u32::MAX;

struct List {
    slots: Vec<Slot>,
    free: u32,
    head: u32,
    tail: u32,
}

struct Slot {
    state: SlotState,
    prev: u32,
    next: u32,
}

enum SlotState {
    Free,
    Queued(Option<Waker>),
    Woken,
}

impl Notify {
    /// Creates an empty list.
    pub fn new() -> Self {
        let list = List { slots: Vec::new(), free: NIL, head: NIL, tail: NIL };
        Self { queued: AtomicUsize::new(0), list: Mutex::new(list) }
    }

    /// Registers a listener at the end of the list, at this call and not at the first poll.
    pub fn listen(&self) -> Listener<'_> {
        let mut list = self.list.lock();
        let slot = list.push();
        self.count(&list, 1);
        Listener { notify: self, slot: Some(slot) }
    }

    /// Wakes the listener that has waited longest. Returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        // Relaxed: the lock of the condition orders this load after earlier registrations.
        self.queued.load(Ordering::Relaxed) != 0 && self.wake_first()
    }

    /// Wakes every current listener.
    pub fn notify_all(&self) {
        if self.queued.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut wakers = Vec::new();
        let mut list = self.list.lock();
        while let Some(waker) = list.pop() {
            self.count(&list, -1);
            wakers.extend(waker);
        }
        // As in `wake_first`: wakers run without the lock.
        drop(list);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn wake_first(&self) -> bool {
        let mut list = self.list.lock();
        // No permit is stored: a later waiter checks the condition itself.
        let Some(waker) = list.pop() else { return false };
        self.count(&list, -1);
        drop(list);
        // Outside the lock: a waker may run the woken task at once, and that task may listen again.
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// The guard proves that the count changes under the lock, so a load and a store suffice.
    fn count(&self, _list: &MutexGuard<'_, List>, by: isize) {
        let queued = self.queued.load(Ordering::Relaxed);
        self.queued.store(queued.wrapping_add_signed(by), Ordering::Relaxed);
    }
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").field("queued", &self.queued.load(Ordering::Relaxed)).finish()
    }
}

impl Future for Listener<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(slot) = self.slot else { return Poll::Ready(()) };
        // A waker's clone and drop are its executor's code: outside the lock.
        let fresh = cx.waker().clone();
        let mut list = self.notify.list.lock();
        match &mut list.slots[slot as usize].state {
            SlotState::Woken => {
                list.release(slot);
                drop(list);
                self.slot = None;
                Poll::Ready(())
            }
            SlotState::Queued(waker) => {
                let stale = waker.replace(fresh);
                drop(list);
                drop(stale);
                Poll::Pending
            }
            SlotState::Free => unreachable!("a listener owns its slot until it completes or drops"),
        }
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        let mut list = self.notify.list.lock();
        let state = std::mem::replace(&mut list.slots[slot as usize].state, SlotState::Free);
        let woken = matches!(state, SlotState::Woken);
        if !woken {
            list.unlink(slot);
            self.notify.count(&list, -1);
        }
        list.release(slot);
        // The drop of a waker is code of its executor.
        drop(list);
        drop(state);
        if woken {
            self.notify.wake_first();
        }
    }
}

impl fmt::Debug for Listener<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("slot", &self.slot).finish()
    }
}

impl List {
    fn push(&mut self) -> u32 {
        let slot = self.vacant();
        let tail = self.tail;
        self.slots[slot as usize] = Slot { state: SlotState::Queued(None), prev: tail, next: NIL };
        match tail {
            NIL => self.head = slot,
            _ => self.slots[tail as usize].next = slot,
        }
        self.tail = slot;
        slot
    }

    /// Removes the first listener from the list and marks it as woken.
    #[expect(
        clippy::option_option,
        reason = "nobody queued, and queued but never polled, are different answers"
    )]
    fn pop(&mut self) -> Option<Option<Waker>> {
        let slot = self.head;
        if slot == NIL {
            return None;
        }
        self.unlink(slot);
        match std::mem::replace(&mut self.slots[slot as usize].state, SlotState::Woken) {
            SlotState::Queued(waker) => Some(waker),
            SlotState::Free | SlotState::Woken => unreachable!("only queued listeners are linked"),
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { prev, next, .. } = self.slots[slot as usize];
        match prev {
            NIL => self.head = next,
            _ => self.slots[prev as usize].next = next,
        }
        match next {
            NIL => self.tail = prev,
            _ => self.slots[next as usize].prev = prev,
        }
    }

    fn vacant(&mut self) -> u32 {
        if self.free == NIL {
            self.slots.push(Slot { state: SlotState::Free, prev: NIL, next: NIL });
            return u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 tasks wait for one thing");
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].next;
        slot
    }

    fn release(&mut self, slot: u32) {
        self.slots[slot as usize] = Slot { state: SlotState::Free, prev: NIL, next: self.free };
        self.free = slot;
    }
}

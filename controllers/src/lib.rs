//! Controllers: control loop, predicates, finalizers, expectations, event recorder, leader
//! election, name locks, allocators and actuators.
//!
//! A [`Controller`] subscribes to informers, keeps the keys to reconcile in a work queue, and calls
//! a [`Reconcile`] for each key: one run at a time per key, many keys concurrently. It knows no
//! server: objects come from informers, and are written through a
//! [`Writer`](machinery_objects::Writer).
//!
//! The counterparts of client-go and controller-runtime: reconciler ([`Reconcile`]), `For`, `Owns`
//! and `Watches` ([`Controller::of`], [`Builder::owning`], [`Builder::watching`] with its map
//! function), predicate ([`changed`], [`Controller::of_filtered`]), expectations
//! ([`Expectations`]), finalizer ([`Finalizer`]), event recorder ([`Recorder`]), and leader
//! election ([`Elector`]).
//!
//! # Promises
//!
//! Tests are found by the prefix `p01_…` to `p51_…`, in `tests/it/` or beside the code.
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | No run starts before all sources have synced; a source that does not is a named error ¹ | `p01_…` |
//! | 2 | One run at a time per key, and another one for events during a run | `p02_…` |
//! | 3 | A failed, panicked or timed-out run is retried with a back-off of its own key | `p03_…` |
//! | 4 | Present and former owners are reconciled; map functions see old and new state ² | `p04_…` |
//! | 5 | The next run of a key sees the writes of the previous one: [`Run::wrote`] | `p05_…` |
//! | 6 | A stuck run is reported with its key and duration: [`State::running`] | `p06_…` |
//! | 7 | Shutdown drains until a deadline; dropped and queued keys are reported and requeued | `p07_…` |
//! | 8 | A controller can run again in the same process, from all objects | `p08_…` |
//! | 9 | Causes, outcome and next run of each key are known: [`Controller::explain`] | `p09_…` |
//! | 10 | A full queue loses no key: sources wait | `p10_…` |
//! | 11 | Expected creations and deletions are waited for, within bounds: [`Expectations`] ³ | `p11_…` |
//! | 12 | External state exists only under its finalizer: [`Finalizer`] | `p12_…` |
//! | 13 | Events never block; they are aggregated and rate-limited: [`Recorder`] ⁴ | `p13_…` |
//! | 14 | Terms start by an acknowledged write and never overlap: [`Elector`] ⁵ | `p14_…` |
//! | 15 | A held Lease expires on the local clock; a free one is acquired at once | `p15_…` |
//! | 16 | Timing, defaults and rules are those of client-go: [`ElectionConfig`] | `p16_…` |
//! | 17 | Writes under the fence of a past [`Term`] are rejected by the server ⁶ | `p17_…` |
//! | 18 | A voluntary stop releases the Lease after the work, so the next term starts at once | `p18_…` |
//! | 19 | The Lease is shared with client-go; foreign and malformed fields are harmless | `p19_…` |
//! | 20 | Controllers stop and start with terms, on warm caches: [`Term::within`] ⁷ | `p20_…` |
//! | 21 | Names of locks encode their keys uniquely and reversibly: [`LockKey`] ⁸ | `p21_…` |
//! | 22 | A name has one owner by UID; claims are idempotent: [`NameLocks::claim`] | `p22_…` |
//! | 23 | Writes under a lost lock are rejected by the server: [`HeldLock::fence`] ⁹ | `p23_…` |
//! | 24 | A release is idempotent and spares later locks: [`NameLocks::release`] | `p24_…` |
//! | 25 | Locks left by a crash are recovered, stray ones reported ¹⁰ | `p25_…` |
//! | 26 | Waiters of a name are notified of its release in order: [`NameLocks::wake`] ¹¹ | `p26_…` |
//! | 27 | No two holders of a name write, and no lock is leaked ¹² | `p27_…` |
//! | 28 | A run and its writes belong to the trace of its cause: [`Run::traceparent`] ¹³ | `p28_…` |
//! | 29 | Each owner gets one member of its pool, and no member has two owners: [`Allocator`] | `p29_…` |
//! | 30 | A freed member goes to the longest waiter at once, in their order across restarts | `p30_…` |
//! | 31 | Locks of other clients block their members; pools may have members in common | `p31_…` |
//! | 32 | Pools may change and vanish, owners may move; a member in use stays locked | `p32_…` |
//! | 33 | An allocator that is not running, and a malformed [`Pool`], are typed errors | `p33_…` |
//! | 34 | A crash before or after any effect loses no member, no lock and no order ¹⁷ | `p34_…` |
//! | 35 | An own write requests no run of its key, foreign ones always do: [`OwnWrites`] ¹⁹ | `p35_…` |
//! | 36 | Writers that undo each other are named and slowed, lone ones never: [`WriteFight`] ²⁰ | `p36_…` |
//! | 37 | Urgent keys run first; keys of a batch fail alone: [`ReconcileBatch`] | `p37_…` |
//! | 50 | An owner that owes a response is silent after a timeout: [`SilenceDetector`] ¹⁸ | `p50_…` |
//! | 51 | Without connection, and after a suspension, no owner becomes silent at once | `p51_…` |
//!
//! An [`Actuator`] keeps the items of a system outside of the API as desired, through an
//! [`ActuatorPort`]:
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 40 | Existing items are adopted unchanged; orphans are deleted, and delay nothing | `p40_…` |
//! | 41 | A key has one item, and the limit of items holds: [`Actuator::create`] | `p41_…` |
//! | 42 | Changes that are due share a batch | `p42_…` |
//! | 43 | A failure is of its item alone, reported, and retried or withdrawn ¹⁴ | `p43_…` |
//! | 44 | A stuck item delays no other; the cause of a hung or panicked batch is found | `p44_…` |
//! | 45 | Drift is repaired after events and by the timer; unstable items are slowed ¹⁵ | `p45_…` |
//! | 46 | A degraded port backs off alone | `p46_…` |
//! | 47 | Nonsense and panics of a port cost the items concerned only | `p47_…` |
//! | 48 | A dropped run ends the calls and tasks of the port: [`ActuatorPort::run`] | `p48_…` |
//! | 49 | Every history ends with the claimed and unclaimed items ¹⁶ | `p49_…` |
//!
//! - ¹ If the queue is full, the remaining keys of a synced cache follow as capacity permits.
//! - ² [`Builder::when_complete`] maps complete keys of keyed informers, also those without
//!   objects.
//! - ³ Also after a lost response. An expectation ends when the cache has passed the write, at the
//!   latest at a timeout.
//! - ⁴ Also `recorder/tests.rs`.
//! - ⁵ While clock rates differ by less than 15 to 10; wall-clock times do not matter. Renewals
//!   need no read, and a lost response ends no term. Also `lease/election/model/`, over random
//!   clocks, networks and crashes.
//! - ⁶ Also after a suspension. In one process, no term starts before the work of the last one has
//!   ended. For suspended and killed processes: `cli/tests/it/leader_election.rs`.
//! - ⁷ On a server without fences, active runs are dropped before another candidate leads.
//! - ⁸ Readable where possible; long names are rejected; a panic of a key type fails one name only.
//! - ⁹ Missing support of fences is an error.
//! - ¹⁰ [`NameLocks::recover`], [`NameLocks::strays`], [`NameLocks::misnamed`]. A stray lock blocks
//!   its own name only.
//! - ¹¹ Every interleaving of three threads: `tests/loom.rs`.
//! - ¹² Eight claimants that crash and resume late; over a thousand names by `cargo xtask races`.
//! - ¹³ Also over the wire. A trace alone makes no write, so converged controllers fall silent.
//!   Also `controller/traces.rs`.
//! - ¹⁴ Turns of a key exclude each other: [`Actuator::turn`], `actuator/turns.rs`.
//! - ¹⁵ An item is unstable if comparisons in a row find it changed: [`ItemFailure::Unstable`].
//! - ¹⁶ Random claims, failures, lost results, foreign changes and late lists:
//!   `actuator/tests.rs`.
//! - ¹⁷ Over a whole scenario, each effect in turn; also models in `allocator/`, in every
//!   interleaving by `cargo xtask races`.
//! - ¹⁸ Until it responds; noticed within 1.25 timeouts. Also `silence/tracker.rs`, beside a naive
//!   model.
//! - ¹⁹ In every order of event, response and foreign write: `own_writes/tests.rs`, and as a loom
//!   model `tests/loom.rs`. Design: `docs/designs/036-own-writes.md`.
//! - ²⁰ `fights/tests.rs`. Objects need an encoder: [`Builder::detecting_fights`].
//!
//! # Limits
//!
//! - A controller runs no informers, and has no cache of its own.
//! - A run that blocks its thread cannot be stopped: it is reported, and occupies a worker until it
//!   returns.
//! - Deleted objects are not reconciled. Use a finalizer, or a controller of requests.
//! - Locks of deleted owners are deleted by garbage collection, not by this crate. Names in
//!   different namespaces are different.
//! - A freed member is looked up in each pool of its space that has waiters.
//! - A suspended machine does not notice that its Lease expires; after it resumes, a server with
//!   fences rejects its writes. Other servers accept them.
//! - A spawned task is outside of the trace, unless it is given [`Run::traceparent`]. Events carry
//!   no trace.
//! - The trace of an immediate deletion is unknown: its run begins a new trace.
//! - The election takes no part in the coordinated leader election of Kubernetes, and preserves its
//!   fields.
//!
//! # Example
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use machinery_controllers::{Controller, Next, Run};
//! use machinery_informers::Informer;
//! use machinery_informers::testing::{FakeSource, TestObject};
//! use machinery_objects::{Capabilities, ListWatch};
//! use std::sync::Arc;
//! use tokio_util::{sync::CancellationToken, task::TaskTracker};
//!
//! // or a server's handle, or machinery_kube::Remote
//! let plane = FakeSource::of_test_objects(Capabilities::ALL);
//! let source: Arc<dyn ListWatch<TestObject>> = Arc::new(plane.clone());
//! let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
//! let things = Informer::<TestObject>::builder(source).build();
//! tasks.spawn(things.run(stopping.clone()));
//!
//! let controller = Controller::of("things", &things).build()?;
//! let (runs, mut observed) = tokio::sync::mpsc::unbounded_channel();
//! let reconcile = move |thing: Arc<TestObject>, run: Run| {
//!     let runs = runs.clone();
//!     async move {
//!         runs.send((thing.key.clone(), thing.place.clone(), format!("{:?}", run.causes)))?;
//!         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Next::Done)
//!     }
//! };
//! let controller_stopping = stopping.child_token();
//! let running = {
//!     let (controller, stopping) = (controller.clone(), controller_stopping.clone());
//!     tasks.spawn(async move { controller.run(reconcile, stopping).await })
//! };
//!
//! plane.put(TestObject::new("default/a").at("rack-1"));
//! let (key, place, causes) = observed.recv().await.ok_or("the controller stopped")?;
//! assert_eq!((key.as_str(), &*place), ("default/a", "rack-1"));
//! assert!(causes.contains("things added"), "{causes}");
//!
//! controller_stopping.cancel();                       // controllers first, then their informers
//! assert!(running.await??.dropped.is_empty());
//! stopping.cancel();
//! tasks.close();
//! tasks.wait().await;
//! # Ok(()) }
//! ```
//!
//! # Spans
//!
//! Each run has one `tracing` span of level info: `reconcile`. Its name and fields are API, their
//! texts are informative.
//!
//! | field | meaning |
//! |---|---|
//! | `controller` | name of the controller |
//! | `object` | key |
//! | `attempt` | number of consecutive failures before |
//! | `causes` | causes of the run: event, revision, count |
//! | `trace_id` | id of the trace, 32 hexadecimal digits |
//! | `span_id` | id of this span, 16 digits |
//! | `parent_id` | span of the cause, if any: a client's write, or a write of another run |
//! | `links` | up to three other causes, as `traceparent`s separated by spaces |
//! | `sampled` | false if the trace is not sampled |
//! | `result` | `done`, `after`, `failed`, `panicked` or `timed_out` |
//!
//! Log events of a reconcile are inside its span. The trace of an object's last change is in its
//! annotation [`ANNOTATION`](machinery_objects::Traceparent::ANNOTATION); on other servers than
//! ours it is the trace of the creation, if one of our clients created the object. Design:
//! `docs/designs/014-traces.md`.
//!
//! # Features
//!
//! `prometheus` (default): [`Metrics`].

mod actuator;
mod allocator;
mod causes;
mod controller;
mod expectations;
mod fights;
mod finalizer;
mod lease;
mod locks;
#[cfg(feature = "prometheus")]
mod metrics;
mod own_writes;
mod reconcile;
mod recorder;
mod silence;

pub use actuator::{
    Actuator, ActuatorError, ActuatorPort, ActuatorSettings, ActuatorStatus, BrokenItem, ChangeBatch,
    Disturbance, Ensured, FoundItem, ItemChange, ItemFailure, ItemState, KeyTurn, PortFailure, Progress,
    RepairOutcome, RepairReport, RepairRequest,
};
pub use allocator::{
    AllocateError, Allocation, AllocationRequest, Allocator, AllocatorSettings, LockCall, LockOperation,
    Member, Pool, PoolError, PoolWaiter,
};
/// Makes the methods of an [`ActuatorPort`] asynchronous.
pub use async_trait::async_trait;
pub use controller::{
    Builder, Controller, ControllerDiagnostics, Counts, Explanation, Outcome, OwnWrites, PendingWrites,
    Phase, RunError, RunRecord, Running, Settings, ShutdownReport, State, changed,
};
pub use expectations::{Expectations, ExpectationsFull};
pub use fights::WriteFight;
pub use finalizer::{Finalizer, FinalizerError, FinalizerEvent, FinalizerOutcome};
pub use lease::{
    ElectionConfig, ElectionConfigError, ElectionCounts, ElectionPhase, ElectionState, Elector, LeadError,
    Lease, NotRenewed, Term,
};
pub use locks::{
    Claim, HeldLock, KeyError, KeyReader, KeyWriter, LockCounts, LockError, LockHolder, LockKey, LockKinds,
    LockScopeError, LocksBuilder, NameLocks, NoFences, Released, StrayLock, StrayReason, Waiters,
    key_of_name, name_of_key,
};
pub use machinery_workqueue::{Cause, Causes, Priority};
#[cfg(feature = "prometheus")]
pub use metrics::{Metrics, NameTaken};
pub use own_writes::{ChangedTo, ObjectChange, OwnWrite, ParkedChange, WriteWindows, report_write};
pub use reconcile::{Next, Reconcile, ReconcileBatch, Request, Run, WriteTracker, with};
pub use recorder::{EventLimits, EventObject, Note, NoteKind, Recorder, RecorderCounts};
pub use silence::{Awaiting, Owner, SilenceChange, SilenceCounts, SilenceDetector, TimeoutTooShort};

//! Controllers: what is around a reconcile, and what its author needs beside it.
//!
//! A [`Controller`] listens to informers, keeps who has to be looked at in a queue, and calls a [`Reconcile`] for each, one at a time for
//! each and many at once. It knows no server: objects come from informers, and are written through a
//! [`Writer`](machinery_objects::Writer).
//!
//! # What it promises
//!
//! Each promise names its tests, in `tests/it/` or beside the code.
//!
//! 1. **Nothing runs before everything that is there can be read and is in the queue**, from every source, and a source that does not come is
//!    an error with its name (`p01_…`). Where the queue has no room for all of it the rest comes as there is room, and can be read.
//! 2. **One run at a time for a subject**, and one more after whatever happened during it (`p02_…`).
//! 3. **A failure is its subject's alone**: an error, a panic or a run that takes too long is repeated after a back-off of its own, and
//!    nobody else notices (`p03_…`).
//! 4. **Owners run for what they own**, also those that did before; a function of yours sees what was and what is. Of keyed informers it is known
//!    when all of a key is there, also if that is nothing ([`Builder::when_complete`]; `p04_…`).
//! 5. **The next run sees what the last one wrote**: [`Run::wrote`] holds that subject, and no other (`p05_…`).
//! 6. **A run that hangs is reported**, with its subject and for how long ([`State::running`]; `p06_…`).
//! 7. **It ends in good order**: nothing new is begun, what is under way may end until a deadline, what was dropped and what was queued is
//!    named, and queued again when it runs the next time (`p07_…`).
//! 8. **It runs again in the same process**, from everything that is there (`p08_…`).
//! 9. **Why**: of each subject it is known why it ran last, what came of it, and when it runs next ([`Controller::explain`]; `p09_…`).
//! 10. **A full queue loses nothing**: sources wait (`p10_…`).
//! 11. **What was asked for and cannot be seen yet is waited for**, also where the answer was lost, and no longer than until the cache is past it
//!     where it was not: [`Expectations`] (`p11_…`).
//! 12. **Nothing is made for an object that could go without a word**: [`Finalizer`] is written before, and goes after (`p12_…`).
//! 13. **Events for people hold up nobody**: many notes become few events, and what is said too often is spared: [`Recorder`] (`p13_…`,
//!     `recorder/tests.rs`).
//! 14. **Who leads knows it by a write of its own that was answered**, renews without reading, and loses no term by a lost answer. Nobody leads
//!     beside another while their clocks run no more differently than 15 to 10, whatever they show ([`Elector`]; `p14_…`, and
//!     `lease/election/model/` over random clocks, networks and crashes).
//! 15. **Somebody else's Lease is waited for as long as it says**, from its first sight, by the own clock; one that is free is taken at once
//!     (`p15_…`).
//! 16. **Its times are client-go's**, with its defaults and under its rules ([`ElectionConfig`]; `p16_…`).
//! 17. **Who was stopped past its Lease and goes on writes nothing**: each [`Term`] has an epoch of its own and a fence, and the server refuses
//!     what is sent under an old one, by whomever and however. Nobody leads before what was done in the term before has ended in this
//!     process (`p17_…`; of processes that are stopped, go on and are killed, `cli/tests/it/leads.rs`).
//! 18. **Who stops leading on purpose lets the next one begin at once**, after all has ended (`p18_…`).
//! 19. **Candidates of client-go may share the Lease**, what others wrote into it stays, and what makes no sense in it harms nobody (`p19_…`).
//! 20. **Controllers stop with a term and start with the next one**, in the same process, on warm caches. On a server that holds no fences
//!     what is under way is dropped before another leads ([`Term::within`]; `p20_…`).
//! 21. **The name of a lock is its key**, readable where that is and read back; no two keys share one, what is too long is refused, and a
//!     key's type that panics costs that name alone ([`LockKey`]; `p21_…`).
//! 22. **A name is one owner's**: a claim makes it the owner's, finds that it is, UID and all, or says whose it is; also where an answer was lost
//!     ([`NameLocks::claim`]; `p22_…`).
//! 23. **Who has lost a name writes nothing under it**: the server refuses that, whoever sends it. Where a server does not look at fences, that
//!     is said ([`HeldLock::fence`]; `p23_…`).
//! 24. **A release is done once**, and touches nobody else's ([`NameLocks::release`]; `p24_…`).
//! 25. **What a crash left is found again** ([`NameLocks::recover`]), and a lock that is none is in the way of its own name only, known
//!     ([`NameLocks::strays`]), warned of and counted ([`NameLocks::misnamed`]; `p25_…`).
//! 26. **Who waits for a name is told when it is free**, in the order in which they came ([`NameLocks::wake`]; `p26_…`; every interleaving of three
//!     threads in `tests/loom.rs`).
//! 27. **Of two holders of a name never both write, and no lock is leaked**: eight who claim, crash and wake up late (`p27_…`;
//!     over a thousand names by `cargo xtask races`).
//! 28. **A run is in the trace of what caused it**, and so is all that it writes, without its author doing anything: over the wire, too. A
//!     trace makes no write of what is none, so controllers that agree fall silent ([`Run::traceparent`]; `p28_…`, `controller/traces.rs`).
//!
//! # What it does not do
//!
//! - It does not run informers, and keeps no cache of its own.
//! - It cannot stop a run that never awaits: such a one is reported, and holds a worker until it returns.
//! - Of an object that is gone nothing runs. What must be done then is for a finalizer, or for a controller of requests.
//! - It deletes no lock because its owner is gone: that is the server's garbage collection. Names in different namespaces are different.
//! - A machine that is suspended does not notice that its Lease runs out, and what it sends when it wakes is refused by a server that holds
//!   fences. Others refuse nothing: there, what such a machine had under way may still be done.
//! - A task that a reconcile spawns is outside of its trace, unless it is given [`Run::traceparent`]. Events for people are in none.
//! - Who deletes an object that goes at once is not known: that begins a trace of its own.
//! - An election takes no part in the coordinated election of Kubernetes, and leaves what that wrote.
//!
//! # Example
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use machinery_controllers::{Controller, Next, Run};
//! use machinery_informers::Informer;
//! use machinery_informers::testing::{Plane, Thing};
//! use machinery_objects::{Capabilities, ListWatch};
//! use std::sync::Arc;
//! use tokio_util::{sync::CancellationToken, task::TaskTracker};
//!
//! let plane = Plane::of_things(Capabilities::ALL);                 // or a server's handle, or machinery_kube::Remote
//! let source: Arc<dyn ListWatch<Thing>> = Arc::new(plane.clone());
//! let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
//! let things = Informer::<Thing>::builder(source).build();
//! tasks.spawn(things.run(stopping.clone()));
//!
//! let controller = Controller::of("things", &things).build()?;
//! let (seen, mut sees) = tokio::sync::mpsc::unbounded_channel();
//! let reconcile = move |thing: Arc<Thing>, run: Run| {
//!     let seen = seen.clone();
//!     async move {
//!         seen.send((thing.key.clone(), thing.place.clone(), format!("{:?}", run.causes)))?;
//!         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Next::Done)
//!     }
//! };
//! let ends = stopping.child_token();
//! let running = { let (controller, ends) = (controller.clone(), ends.clone()); tasks.spawn(async move { controller.run(reconcile, ends).await }) };
//!
//! plane.put(Thing::new("default/a").at("rack-1"));
//! let (key, place, why) = sees.recv().await.ok_or("it ended")?;
//! assert_eq!((key.as_str(), &*place), ("default/a", "rack-1"));
//! assert!(why.contains("things added"), "{why}");
//!
//! ends.cancel();                                                   // controllers first, then what they listen to
//! assert!(running.await??.dropped.is_empty());
//! stopping.cancel();
//! tasks.close();
//! tasks.wait().await;
//! # Ok(()) }
//! ```
//!
//! # Spans
//!
//! Of each run one, by `tracing`, of the level info: `reconcile`. Its name and its fields are API, their texts are for people.
//!
//! | field | what |
//! |---|---|
//! | `controller` | the name of the controller |
//! | `object` | the key |
//! | `attempt` | how often it had failed in a row before |
//! | `causes` | why it runs: what happened, in which revision, how often |
//! | `trace_id` | which trace: 32 hexadecimal digits |
//! | `span_id` | which span of it, this one: 16 of them |
//! | `parent_id` | the span that caused it, if there is one: a client's write, a write of another run |
//! | `links` | other changes that it runs for, as `traceparent`s with a space between them: three at the most |
//! | `sampled` | false, where whoever began the trace does not have it recorded |
//! | `result` | `done`, `after`, `failed`, `panicked` or `timed_out` |
//!
//! What is logged in a reconcile is inside of it. In which trace an object was changed last stands in its annotation
//! [`ANNOTATION`](machinery_objects::Traceparent::ANNOTATION). On a server that is not ours that is the trace in which it was made, if one of
//! our clients made it. Why: `docs/designs/014-traces.md`.
//!
//! # Features
//!
//! `prometheus` (default): [`Metrics`].

mod causes;
mod controller;
mod expectations;
mod finalizer;
mod lease;
mod locks;
#[cfg(feature = "prometheus")]
mod metrics;
mod reconcile;
mod recorder;

pub use controller::{
    Builder, Controller, ControllerDiagnostics, Counts, Explanation, Outcome, PendingWrites, Phase, RunError,
    RunRecord, Running, Settings, ShutdownReport, State, changed,
};
pub use expectations::{Expectations, ExpectationsFull};
pub use finalizer::{Finalizer, FinalizerError, FinalizerEvent, FinalizerOutcome};
pub use lease::{
    ElectionConfig, ElectionConfigError, ElectionCounts, ElectionPhase, ElectionState, Elector, LeadError,
    Lease, NotRenewed, Term,
};
pub use locks::{
    Claim, HeldLock, KeyError, KeyReader, KeyWriter, LockCounts, LockError, LockHolder, LockKey, LockKinds,
    LocksBuilder, NameLocks, NoFences, Released, StrayLock, StrayReason, Waiters, key_of_name, name_of_key,
};
pub use machinery_workqueue::{Cause, Causes, Priority};
#[cfg(feature = "prometheus")]
pub use metrics::{Metrics, NameTaken};
pub use reconcile::{Next, Reconcile, Request, Run, WriteTracker, with};
pub use recorder::{EventLimits, EventObject, Note, NoteKind, Recorder, RecorderCounts};

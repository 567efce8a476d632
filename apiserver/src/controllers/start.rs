//! Objects that must exist before the first request, and the tasks of the server-side controllers.

use std::future::Future;
use std::sync::Arc;

use machinery_store::Entry;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::running::{Controller, RunningController};
use super::{definitions, events, garbage_collector, late, namespaces, plans, quotas, roles, webhooks};
use crate::auth::rbac::defaults;
use crate::change::{ObjectWrite, WriteAction, WriteOrigin, WritePreconditions};
use crate::interest;
use crate::kind::Kind;
use crate::native;
use crate::own::not_defined;
use crate::refusal::Refusal;
use crate::server::{Shared, StartError};
use crate::storage::Moment;
use crate::strategy::{self, Context, New, meta_text};
use crate::verbs::output::stored_bytes;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Creates the default objects and starts the controllers.
pub(crate) async fn start(
    shared: &Arc<Shared>,
    tasks: &TaskTracker,
    crds: Vec<Value>,
    garbage_collection: bool,
) -> Result<(), StartError> {
    let namespace = native::namespace();
    for name in NAMESPACES {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        ensure(shared, &namespace, object).await.map_err(store)?;
    }
    if shared.rules.is_some() {
        for object in defaults() {
            let kind = native::kinds().find(|kind| kind.names.kind == object["kind"]);
            if let Some(kind) = kind {
                ensure(shared, &kind, object).await.map_err(store)?;
            }
        }
        late::unless_unwritable(roles::reconcile(shared).await).map_err(store)?;
    }
    let definition = native::definition();
    if let Some(name) = plans::clash(&shared.own) {
        let why = "another kind has one of its names already".into();
        return Err(StartError::Definition { name, why });
    }
    for own in &shared.own {
        let (name, key) = (own.resource(), definition.place.key(None, &own.resource()));
        if shared.objects.get(&key, Moment::Newest).await.map_err(store)?.is_some() {
            let why = "the store has one of this name, and the program serves the kind itself: delete the one in the store, \
                       or serve the kind by that";
            return Err(StartError::Definition { name, why: why.into() });
        }
    }
    for crd in crds {
        let name = meta_text(&crd, "name").to_owned();
        let refused = |refusal: Refusal| StartError::Definition { name: name.clone(), why: refusal.message };
        not_defined(&shared.own, &crd).map_err(&refused)?;
        ensure(shared, &definition, crd).await.map_err(refused)?;
    }
    late::unless_unwritable(definitions::reconcile(shared).await).map_err(store)?;
    webhooks::reconcile(shared).await.map_err(store)?;
    run(shared, tasks, Controller::Webhooks, webhooks::run(shared.clone()));
    run(shared, tasks, Controller::Definitions, definitions::run(shared.clone()));
    run(shared, tasks, Controller::Namespaces, namespaces::run(shared.clone()));
    if garbage_collection {
        run(shared, tasks, Controller::GarbageCollector, garbage_collector::run(shared.clone()));
    }
    run(shared, tasks, Controller::Quotas, quotas::run(shared.clone()));
    run(shared, tasks, Controller::Events, events::run(shared.clone()));
    run(shared, tasks, Controller::Interests, interest::run(shared.clone()));
    if shared.rules.is_some() {
        run(shared, tasks, Controller::Roles, roles::run(shared.clone()));
    }
    let late = shared.late.take();
    if !late.is_empty() {
        spawn(shared, tasks, late::run(shared.clone(), late));
    }
    Ok(())
}

pub(super) fn store(refusal: Refusal) -> StartError {
    StartError::Store(refusal.message)
}

/// Spawns a controller, and records its end.
fn run(
    shared: &Arc<Shared>,
    tasks: &TaskTracker,
    controller: Controller,
    task: impl Future<Output = ()> + Send + 'static,
) {
    let running = RunningController::new(shared, controller);
    spawn(shared, tasks, async move {
        let _running = running;
        task.await;
    });
}

pub(super) fn spawn(shared: &Shared, tasks: &TaskTracker, task: impl Future<Output = ()> + Send + 'static) {
    let stopping = shared.stopping.clone();
    tasks.spawn(async move {
        tokio::select! {
            biased;
            () = stopping.cancelled() => {}
            () = task => {}
        }
    });
}

/// Creates an object unless it exists. During the start an object that the store has no room for is
/// created later.
pub(super) async fn ensure(shared: &Shared, kind: &Kind, object: Value) -> Result<(), Refusal> {
    if shared.late.add_after_others(&object) {
        return Ok(());
    }
    let created = create(shared, kind, object.clone()).await;
    shared.late.add_if_unwritable(&object, created)
}

async fn create(shared: &Shared, kind: &Kind, mut object: Value) -> Result<(), Refusal> {
    kind.check_types(&object).map_err(|why| kind.unfit(&why))?;
    kind.reshape(&mut object);
    let context = Context {
        kind,
        now: shared.environment.now(),
        manager: Some("machinery"),
        namespace: None,
        trace: None,
    };
    let uid = shared.environment.uid();
    let namespaced = kind.namespaced.then(|| meta_text(&object, "namespace").to_owned());
    let context = Context { namespace: namespaced.as_deref(), ..context };
    let object = strategy::create(object, New { uid: &uid, chance: 0 }, &context)?;
    let key = kind.place.key(namespaced.as_deref(), meta_text(&object, "name"));
    let bytes = stored_bytes(kind, &object);
    let step = |there: Option<&Entry>| {
        Ok(if there.is_some() { WriteAction::Keep } else { WriteAction::Put(bytes.clone()) })
    };
    let preconditions =
        WritePreconditions { parents_exist: kind.namespaced, ..WritePreconditions::default() };
    let change = ObjectWrite {
        shared,
        kind,
        key: &key,
        preconditions,
        origin: WriteOrigin::Controller,
        dry_run: false,
    };
    change.commit(None, step).await.map(drop)
}

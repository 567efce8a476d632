//! Kinds known at run time, of a plane: their handles, writers and controllers.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

#[cfg(feature = "embedded")]
use futures::FutureExt as _;
#[cfg(feature = "embedded")]
use futures::future::BoxFuture;
use machinery_controllers::Request;
use machinery_informers::{self as informers, Informer};
#[cfg(feature = "embedded")]
use machinery_objects::SourceError;
use machinery_objects::{Capabilities, Event, Kind, ListWatch, Object, ObjectKey, Writer};
use machinery_sync::Mutex;
use serde::Serialize;
use tokio::sync::{Notify, watch};

#[cfg(feature = "embedded")]
use super::follow::ResolvedKind;
use super::follow::{KindFollower, KindResolver};
use super::handle::RuntimeKind;
use super::name::KindName;
use super::served::{ServedKind, ServedKindSource};
use super::source::KindSource;
use super::state::KindState;
use super::writer::KindWriter;
use crate::plane::controller::PlaneController;
use crate::plane::error::PlaneError;
use crate::plane::handle::Plane;
use crate::plane::kinds::PartialObject;
use crate::plane::predicates::owned_by;
use crate::plane::reporting::ReportingWriter;
use crate::plane::transport::Transport;

/// Handles by type and name.
pub(in crate::plane) type RuntimeKinds = Mutex<BTreeMap<(TypeId, KindName), Arc<dyn Any + Send + Sync>>>;

impl Plane {
    /// Returns the objects of a kind known by name: `widgets.example.com`, `widgets.v1.example.com`
    /// or `configmaps`. The kind need not exist yet; its informer starts and stops with it.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
    /// # use machinery::{Next, Run};
    /// # use machinery::kube_core::DynamicObject;
    /// # use std::sync::Arc;
    /// # let plane = machinery::embedded().start().await?;
    /// let widgets = plane.kind_named::<DynamicObject>("widgets.example.com")?;
    /// let parts = plane.kind_named::<DynamicObject>("parts.example.com")?;
    /// let controller = plane.controller_of_kind("widgets", &widgets).owning_kind(&parts);
    /// let reconcile =
    ///     |_: Arc<DynamicObject>, _: Run| async { Ok::<_, machinery::Error>(Next::Done) };
    /// plane.spawn(async move { controller.run(reconcile).await.map(drop) });
    /// assert!(widgets.kind().is_none() && widgets.read().is_empty());
    /// # plane.stop().await;
    /// # Ok(()) }
    /// # #[cfg(feature = "embedded")]
    /// # machinery::tokio::runtime::Builder::new_current_thread()
    /// #     .enable_all()
    /// #     .build()
    /// #     .unwrap()
    /// #     .block_on(example())
    /// #     .unwrap();
    /// ```
    ///
    /// # Errors
    /// The name is invalid, or the plane has stopped.
    pub fn kind_named<P: PartialObject>(&self, name: &str) -> Result<RuntimeKind<P>, PlaneError> {
        let name: KindName = name.parse()?;
        match self.known_kind(&name) {
            Some(kind) => Ok(kind),
            None => match self.start_kind(name.clone(), |_| ())? {
                Some((kind, ())) => Ok(kind),
                // Another caller was faster.
                None => self.known_kind(&name).ok_or(PlaneError::Stopped),
            },
        }
    }

    /// Like [`kind_named`](Self::kind_named), and configures the informer first: indexes, limits,
    /// filter. It has to be the first use of the name with this type.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
    /// # use machinery::kube_core::DynamicObject;
    /// # let plane = machinery::embedded().start().await?;
    /// let color =
    ///     |widget: &DynamicObject| widget.data["spec"]["color"].as_str().map(str::to_owned);
    /// let (widgets, by_color) = plane
    ///     .kind_named_with("widgets.example.com", |informer| informer.index(color))?;
    /// assert_eq!(widgets.read().by(&by_color, "red").count(), 0);
    /// # plane.stop().await;
    /// # Ok(()) }
    /// # #[cfg(feature = "embedded")]
    /// # machinery::tokio::runtime::Builder::new_current_thread()
    /// #     .enable_all()
    /// #     .build()
    /// #     .unwrap()
    /// #     .block_on(example())
    /// #     .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`kind_named`](Self::kind_named), or the informer of the name is running already.
    pub fn kind_named_with<P: PartialObject, X>(
        &self,
        name: &str,
        configure: impl FnOnce(&mut informers::Builder<P>) -> X,
    ) -> Result<(RuntimeKind<P>, X), PlaneError> {
        let name: KindName = name.parse()?;
        let already_runs = PlaneError::Runs { kind: name.to_string() };
        self.start_kind(name, configure)?.ok_or(already_runs)
    }

    fn known_kind<P: PartialObject>(&self, name: &KindName) -> Option<RuntimeKind<P>> {
        let known = self.0.runtime_kinds.lock().get(&(TypeId::of::<P>(), name.clone())).cloned()?;
        Some((*known.downcast::<RuntimeKind<P>>().ok()?).clone())
    }

    /// Starts the informer of a name; `None` if it is running already.
    fn start_kind<P: PartialObject, X>(
        &self,
        name: KindName,
        configure: impl FnOnce(&mut informers::Builder<P>) -> X,
    ) -> Result<Option<(RuntimeKind<P>, X)>, PlaneError> {
        let mut all = self.0.runtime_kinds.lock();
        let id = (TypeId::of::<P>(), name.clone());
        if all.contains_key(&id) {
            return Ok(None);
        }
        if self.0.informers.stopping().is_cancelled() {
            return Err(PlaneError::Stopped);
        }
        let (kind, configured) = self.run_kind::<P, X>(name, configure)?;
        all.insert(id, Arc::new(kind.clone()));
        Ok(Some((kind, configured)))
    }

    fn run_kind<P: PartialObject, X>(
        &self,
        name: KindName,
        configure: impl FnOnce(&mut informers::Builder<P>) -> X,
    ) -> Result<(RuntimeKind<P>, X), PlaneError> {
        let key = ObjectKey::new(None, &name.to_string())
            .map_err(|why| super::name::KindNameError { text: name.to_string(), why })?;
        let states = watch::Sender::new(KindState::Unknown);
        let served = watch::Sender::new(ServedKind { key, changes: 0, kind: None });
        let recheck = Arc::new(Notify::new());
        let source = KindSource {
            states: states.subscribe(),
            recheck: recheck.clone(),
            capabilities: self.transport().capabilities(),
            last: Mutex::default(),
            paged: AtomicU64::default(),
        };
        let source: Arc<dyn ListWatch<Arc<P>>> = Arc::new(source);
        let mut informer = Informer::builder(source);
        let configured = configure(&mut informer);
        let (informer, receiver) = (informer.build(), served.subscribe());
        let of_kind: Arc<dyn ListWatch<Arc<ServedKind>>> = Arc::new(ServedKindSource(served.subscribe()));
        let of_kind = Informer::builder(of_kind).build();
        self.run_informer(&self.unused_name(&name.to_string()), &informer)?;
        self.run_as(&format!("the state of the kind {name}"), |stopping| of_kind.run(stopping));
        let inner = self.0.inner();
        let source_of = Box::new(move |kind: Kind| inner.transport.shared_source::<P>(kind));
        let parts = FollowerParts { name: name.to_string(), recheck, states, served, source_of };
        match self.transport() {
            #[cfg(feature = "embedded")]
            Transport::Embedded { server, .. } => {
                let directory = server.kind_directory();
                let changes = directory.changes();
                self.follow(parts, RegistryResolver { directory, changes, name: name.clone() });
            }
            #[cfg(feature = "kube")]
            Transport::Cluster { client, server } => {
                let kind = super::definitions_kind()?;
                let remote = machinery_kube::Remote::new(client.clone(), kind, server.clone());
                let source: Arc<dyn ListWatch<super::DefinitionMark>> = Arc::new(remote);
                let definitions = self.definitions(&source)?;
                let events = definitions.events().ok();
                let (client, name) = (client.clone(), name.clone());
                let resolver =
                    super::discovery::DiscoveryResolver { client, name, definitions, source, events };
                self.follow(parts, resolver);
            }
        }
        Ok((RuntimeKind { name, informer, states: of_kind, served: receiver }, configured))
    }

    /// Returns a name for diagnostics that no informer has, as two types may decode one kind.
    fn unused_name(&self, name: &str) -> String {
        let mut unused = format!("{name} by name");
        for number in 2.. {
            if !self.registry().has_informer(&unused) {
                break;
            }
            unused = format!("{name} by name {number}");
        }
        unused
    }

    fn follow<P: PartialObject, R: KindResolver>(&self, parts: FollowerParts<P>, resolver: R) {
        let FollowerParts { name, recheck, states, served, source_of } = parts;
        let task = format!("the kind {name}");
        let follower = KindFollower { name, resolver, recheck, states, served, source_of };
        self.run_as(&task, |stopping| follower.run(stopping));
    }

    /// Returns the shared informer of definitions; its events are triggers. It is in no
    /// diagnostics: without permission to list definitions, names are checked once a minute.
    #[cfg(feature = "kube")]
    fn definitions(
        &self,
        source: &Arc<dyn ListWatch<super::DefinitionMark>>,
    ) -> Result<Informer<super::DefinitionMark>, PlaneError> {
        let mut shared = self.0.definitions.lock();
        if let Some(definitions) = &*shared {
            return Ok(definitions.clone());
        }
        let definitions = Informer::builder(source.clone()).build();
        self.run_as("the informer of definitions", |stopping| definitions.run(stopping));
        *shared = Some(definitions.clone());
        Ok(definitions)
    }

    /// Returns a writer for the objects of a kind known by name. While no kind has the name, writes
    /// fail with [`SourceError::NotServed`](machinery_objects::SourceError::NotServed). As with
    /// [`Objects`](crate::Objects), the event of a write of a run requests no run of its key.
    #[must_use]
    pub fn writer_of_kind<P>(&self, kind: &RuntimeKind<P>) -> Arc<dyn Writer<P>>
    where
        P: PartialObject + Serialize + Clone,
    {
        let (inner, served) = (self.0.inner(), kind.served.clone());
        let writer = Arc::new(KindWriter {
            name: kind.name.to_string(),
            kind: Box::new(move || served.borrow().kind.clone()),
            capabilities: self.transport().writer_capabilities(),
            writer_of: Box::new(move |kind| {
                inner.surroundings.writer(kind, inner.transport.object_writer::<P>(kind))
            }),
        });
        Arc::new(ReportingWriter { writer, cache: kind.clone() })
    }

    /// Returns a builder for a controller of the objects of a kind known by name. It starts without
    /// the kind, reconciles its objects when it is defined, and lasts through its deletion.
    pub fn controller_of_kind<P: PartialObject>(
        &self,
        name: &str,
        kind: &RuntimeKind<P>,
    ) -> PlaneController<ObjectKey, Arc<P>> {
        PlaneController::of_named(self, name, kind.informer(), kind)
    }
}

/// The parts of a follower besides its resolver.
struct FollowerParts<P> {
    name: String,
    recheck: Arc<Notify>,
    states: watch::Sender<KindState<P>>,
    served: watch::Sender<ServedKind>,
    source_of: Box<dyn Fn(Kind) -> Arc<dyn ListWatch<Arc<P>>> + Send + Sync>,
}

impl<P: Object> PlaneController<ObjectKey, Arc<P>> {
    /// Adds owned objects of a kind known by name: their events reconcile the controlling owner,
    /// present and former. The kind may be defined and deleted while the controller runs; deleted
    /// objects of a deleted kind reconcile their owners, too.
    pub fn owning_kind<O: PartialObject>(self, owned: &RuntimeKind<O>) -> Self {
        let owner = self.owner();
        self.watching_informer(owned.name.plural(), owned.informer(), move |event: &Event<Arc<O>>| {
            let Some(owner) = owner() else { return Vec::new() };
            let mut keys = owned_by(&owner, &**event.object());
            if let Event::Updated { old, .. } = event {
                keys.extend(owned_by(&owner, &**old));
            }
            keys.sort_unstable();
            keys.dedup();
            keys
        })
    }
}

impl<Q: Request, S: Send + Sync + 'static> PlaneController<Q, S> {
    /// Adds objects of a kind known by name with a map function, which returns the keys to
    /// reconcile for an event.
    pub fn watching_kind<O: PartialObject, W: IntoIterator<Item = Q>>(
        self,
        kind: &RuntimeKind<O>,
        map_keys: impl Fn(&Event<Arc<O>>) -> W + Send + Sync + 'static,
    ) -> Self {
        self.watching_informer(kind.name.plural(), kind.informer(), map_keys)
    }

    /// Reconciles the mapped keys when a kind known by name is defined, is deleted, or returns with
    /// another scope or version; also at the start. At the notification its objects can be read and
    /// written, and are not cached yet.
    pub fn when_kind_changes<O: PartialObject, W: IntoIterator<Item = Q>>(
        self,
        kind: &RuntimeKind<O>,
        map_keys: impl Fn(Option<&Kind>) -> W + Send + Sync + 'static,
    ) -> Self {
        let name = format!("the kind {}", kind.name);
        self.watching_informer(&name, kind.states(), move |event: &Event<Arc<ServedKind>>| {
            map_keys(event.object().kind.as_ref())
        })
    }
}

/// Resolves a name at the embedded server.
#[cfg(feature = "embedded")]
struct RegistryResolver {
    directory: machinery_apiserver::KindDirectory,
    changes: watch::Receiver<u64>,
    name: KindName,
}

#[cfg(feature = "embedded")]
impl KindResolver for RegistryResolver {
    fn resolve(&self) -> BoxFuture<'_, Result<ResolvedKind, SourceError>> {
        async {
            let name = &self.name;
            match self.directory.find(name.group(), name.plural(), name.version()) {
                Some(kind) => Ok(ResolvedKind::Served(kind)),
                None => {
                    let at = Some(self.directory.revision().await?.into());
                    // It may be served since: an absence is published for the time before.
                    Ok(match self.directory.find(name.group(), name.plural(), name.version()) {
                        Some(kind) => ResolvedKind::Served(kind),
                        None => ResolvedKind::Absent { at },
                    })
                }
            }
        }
        .boxed()
    }

    fn changed(&mut self) -> BoxFuture<'_, ()> {
        async {
            if self.changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        .boxed()
    }
}

/// The present capabilities of a transport.
impl Transport {
    fn capabilities(&self) -> Capabilities {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded { .. } => Capabilities::ALL,
            #[cfg(feature = "kube")]
            Self::Cluster { server, .. } => {
                let mut capabilities = Capabilities::LEAST;
                capabilities.bookmarks = true;
                capabilities.watches_state = server.watches_state;
                capabilities.versions_are_ordered = server.versions_are_ordered;
                capabilities.carries_traces = server.machinery;
                capabilities
            }
        }
    }
}

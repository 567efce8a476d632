//! A kind of a type of Rust, on its way into a server.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::guard::Beside;
use super::hooks::Typed;
use super::wrong::Wrong;
use crate::kind::KindHooks;
use crate::server::Builder;

/// A kind whose objects are a type of Rust, with what it asks of them: for [`Builder::kind`].
///
/// It is served as any kind is: discovery, OpenAPI, tables, and every client. What it asks holds for whoever writes, on the
/// wire or through a [`Handle`](crate::Handle). An object that cannot be read as the type is refused.
///
/// The functions are pure: they are called while a write is worked out, perhaps several times, and must not wait.
///
/// ```
/// # #[cfg(feature = "k8s")]
/// # mod example {
/// use kube::{CustomResource, ResourceExt};
/// use machinery_apiserver::{ApiServer, Identity, KindOf};
/// use machinery_objects::{InvalidField, Writer};
/// use machinery_store::{Memory, Options};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
/// #[kube(group = "example.com", version = "v1", kind = "Host", namespaced, status = "HostStatus")]
/// struct HostSpec {
///     rack: u32,
///     zone: Option<String>,
/// }
///
/// #[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
/// struct HostStatus {
///     phase: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # pub async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hosts = KindOf::<Host>::new()
///     .defaulting(|host| drop(host.spec.zone.get_or_insert_with(|| "a".into())))
///     .validating(|host, old| {
///         let moved = old.is_some_and(|old| old.spec.rack != host.spec.rack);
///         let reason = "a host does not move".to_owned();
///         moved.then(|| InvalidField { field: "spec.rack".into(), reason }).into_iter().collect()
///     })
///     .status(|host, old| match old {
///         None => host.status = Some(HostStatus { phase: "Pending".into() }),
///         Some(_) => {}
///     });
/// let server = ApiServer::builder(Memory::new(Options::default())).kind(hosts).start().await?;
///
/// let hosts = server.handle::<Host>(Identity::admin());
/// let mut host = Host::new("db-0", HostSpec { rack: 17, zone: None });
/// host.metadata.namespace = Some("default".into());
/// let mut host = hosts.create(&host, None).await?.object;
/// assert_eq!((host.spec.zone.as_deref(), host.status.as_ref().unwrap().phase.as_str()), (Some("a"), "Pending"));
///
/// host.spec.rack = 18;
/// let refused = hosts.update(&host, &Default::default()).await.unwrap_err();
/// assert!(refused.to_string().contains("spec.rack: Invalid value: 18: a host does not move"), "{refused}");
/// # server.stop().await;
/// # assert_eq!(host.name_any(), "db-0");
/// # Ok(()) }
/// # }
/// # #[cfg(feature = "k8s")]
/// # example::main().unwrap();
/// ```
#[must_use = "a kind is nothing until a server has it"]
pub struct KindOf<K> {
    definition: Value,
    typed: Typed<K>,
}

/// The same, whatever its type.
pub(crate) struct Own {
    pub(crate) definition: Value,
    pub(crate) hooks: Arc<dyn KindHooks>,
}

impl<K> KindOf<K> {
    /// The kind that kube derives: its names, schema, columns and subresources.
    #[cfg(feature = "k8s")]
    pub fn new() -> Self
    where
        K: kube_core::CustomResourceExt,
    {
        // What is no JSON is refused when the server starts.
        Self::defined(serde_json::to_value(K::crd()).unwrap_or_default())
    }

    /// The kind of a `CustomResourceDefinition` that somebody wrote. It has one version.
    pub fn defined(definition: Value) -> Self {
        Self { definition, typed: Typed::new() }
    }

    /// Fills in what is left out, whenever an object is written, after the defaults of the schema. Metadata is not its to
    /// change.
    pub fn defaulting(mut self, defaulting: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.typed.defaulting = Some(Box::new(defaulting));
        self
    }

    /// What is wrong with an object, also beside what it was; nothing, if it may be written. It is asked of what the schema
    /// allows. Without an old one it is new, or was no `K` before.
    pub fn validating<W: Into<Wrong>>(
        mut self,
        validating: impl Fn(&K, Option<&K>) -> Vec<W> + Send + Sync + 'static,
    ) -> Self {
        let into = move |new: &K, old: Option<&K>| validating(new, old).into_iter().map(Into::into).collect();
        self.typed.validating = Some(Box::new(into));
        self
    }

    /// Sets the status that the server itself gives: to a new object, and to one whose other parts are changed. Of what the
    /// function does only the status counts. What is written to `/status` is left to who writes it.
    pub fn status(mut self, status: impl Fn(&mut K, Option<&K>) + Send + Sync + 'static) -> Self {
        self.typed.status = Some(Box::new(status));
        self
    }

    /// Sets what the server notes of each write, a new object's, a changed one's and a status's: `new` is otherwise as it will be, and the
    /// time is the server's. Of what the function does all counts but the metadata and the spec. What a client wrote there is in
    /// `new` too, for the function to put aside.
    ///
    /// A write that changes nothing must be given what `old` has: else it is a change. Without an old one it is new, or was no `K` before.
    pub fn stamping(
        mut self,
        stamping: impl Fn(&mut K, Option<&K>, Timestamp) + Send + Sync + 'static,
    ) -> Self {
        self.typed.stamping = Some(Box::new(stamping));
        self
    }

    /// What must be so of objects beside each other. `keys` says under which keys an object counts; `check`, what is wrong with one
    /// that is written, beside all others under one of its keys; nothing, if it may be. The name is for whoever is refused.
    ///
    /// It is written only if no other object under these keys was, since the check was made: by whomever, through any server of
    /// the store whose kind has this guard. So of two writers who are in each other's way one is refused, with
    /// [`Conflict::Guard`](machinery_objects::Conflict::Guard), or on the wire with 422.
    ///
    /// - Who deletes is not asked. An object that is deleted counts as one of the others until it is gone. A write that changes
    ///   nothing but finalizers, owners and marks of deletion is checked only if the object has a new key by it: else that is
    ///   nothing to look at here.
    /// - The same object gives the same keys, at once. Its revision is nothing to go by: a new one has none. What cannot be read
    ///   as a `K` is under no key.
    /// - The check may be made several times, beside other checks, and must not change anything. It has a thread to
    ///   itself, for [`Limits::guard_time`]; if it panics or takes longer, nothing is written.
    /// - How many keys there may be, and how many others, is in [`Limits`] too. Writers under one key wait for nobody, and try
    ///   again: keys that few share are better.
    ///
    /// [`Limits`]: crate::Limits
    /// [`Limits::guard_time`]: crate::Limits::guard_time
    ///
    /// ```
    /// # use machinery_apiserver::KindOf;
    /// # use machinery_objects::InvalidField;
    /// # use serde_json::{Value, json};
    /// let ports = KindOf::<Value>::defined(json!({ /* … */ })).guard(
    ///     "one-owner",
    ///     |port| [format!("address/{}", port["spec"]["address"])],
    ///     |_, others| match others.first() {
    ///         Some(_) => vec![InvalidField { field: "spec.address".into(), reason: "another port has it".into() }],
    ///         None => Vec::new(),
    ///     },
    /// );
    /// # drop(ports);
    /// ```
    pub fn guard<I, W>(
        mut self,
        name: impl Into<String>,
        keys: impl Fn(&K) -> I + Send + Sync + 'static,
        check: impl Fn(&K, &[Arc<K>]) -> Vec<W> + Send + Sync + 'static,
    ) -> Self
    where
        K: DeserializeOwned + 'static,
        I: IntoIterator<Item = String> + 'static,
        W: Into<Wrong> + 'static,
    {
        self.typed.guards.push(Arc::new(Beside { name: name.into(), keys, check, of: PhantomData }));
        self
    }
}

#[cfg(feature = "k8s")]
impl<K: kube_core::CustomResourceExt> Default for KindOf<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A kind that the program brings. A CustomResourceDefinition of the same name is refused, and one that the store has
    /// already keeps the server from starting.
    pub fn kind<K>(self, kind: KindOf<K>) -> Self
    where
        K: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        self.own(Own { definition: kind.definition, hooks: Arc::new(kind.typed) })
    }
}

impl<K> fmt::Debug for KindOf<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KindOf({})", self.definition["metadata"]["name"])
    }
}

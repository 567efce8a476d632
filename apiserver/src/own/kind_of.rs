//! [`KindOf`]: registers a Rust type as a kind, with its hooks and guards.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::guard::Beside;
use super::hooks::Typed;
use super::sections::Sections;
use super::wrong::Wrong;
use crate::kind::KindHooks;
use crate::server::Builder;

/// A kind whose objects are a Rust type, with its defaulting, validation and guards: for
/// [`Builder::kind`].
///
/// It is served as any kind is: discovery, OpenAPI, tables, and every client. Its hooks apply to
/// all writers, on the wire or through a [`Handle`](crate::Handle). An object that cannot be
/// decoded as the type is rejected.
///
/// The functions must be pure and must not block: a write may call them several times before it is
/// committed.
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
/// assert_eq!(host.spec.zone.as_deref(), Some("a"));
/// assert_eq!(host.status.as_ref().unwrap().phase, "Pending");
///
/// host.spec.rack = 18;
/// let refused = hosts.update(&host, &Default::default()).await.unwrap_err();
/// let invalid = "spec.rack: Invalid value: 18: a host does not move";
/// assert!(refused.to_string().contains(invalid), "{refused}");
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
    /// The reason why the declared sections are malformed.
    wrong: Option<String>,
}

/// The kind without its Rust type.
pub(crate) struct Own {
    pub(crate) definition: Value,
    pub(crate) hooks: Arc<dyn KindHooks>,
    /// An error of the declaration, for the start of the server.
    pub(crate) wrong: Option<String>,
}

impl<K> KindOf<K> {
    /// The kind that kube derives: its names, schema, columns and subresources.
    #[cfg(feature = "k8s")]
    pub fn new() -> Self
    where
        K: kube_core::CustomResourceExt,
    {
        // A schema that is no JSON is reported when the server starts.
        Self::defined(serde_json::to_value(K::crd()).unwrap_or_default())
    }

    /// Returns the kind of a given `CustomResourceDefinition`, in any number of versions. All of
    /// them are read as `K`, so their schemas should be identical.
    ///
    /// If its annotation `machinery.dev/sections` declares sections, each write records the times
    /// of those that it changes:
    /// `{"at": ".writes", "sections": [{"name": "spec", "paths": [".spec"]}]}`.
    pub fn defined(definition: Value) -> Self {
        let (sections, wrong) = match Sections::of(&definition) {
            Ok(sections) => (sections, None),
            Err(wrong) => (None, Some(wrong)),
        };
        Self { definition, typed: Typed { sections, ..Typed::new() }, wrong }
    }

    /// Drops the CEL rules of the schema, which are for other clusters: functions of this kind
    /// check the same, with other errors or at less cost.
    pub fn without_rules(mut self) -> Self {
        drop_rules(&mut self.definition);
        self
    }

    /// Fills in omitted fields on every write, after the defaults of the schema. Changes of
    /// metadata are ignored.
    pub fn defaulting(mut self, defaulting: impl Fn(&mut K) + Send + Sync + 'static) -> Self {
        self.typed.defaulting = Some(Box::new(defaulting));
        self
    }

    /// Returns the errors of an object, compared with the old one; none, if it may be written.
    /// Called after validation by the schema. Without an old object this is a create, or the old
    /// one was no `K`.
    pub fn validating<W: Into<Wrong>>(
        mut self,
        validating: impl Fn(&K, Option<&K>) -> Vec<W> + Send + Sync + 'static,
    ) -> Self {
        let into = move |new: &K, old: Option<&K>| validating(new, old).into_iter().map(Into::into).collect();
        self.typed.validating = Some(Box::new(into));
        self
    }

    /// Sets the status of new objects, and of those whose other parts change. Only the function's
    /// changes of the status count. Writes of `/status` are left to their clients.
    pub fn status(mut self, status: impl Fn(&mut K, Option<&K>) + Send + Sync + 'static) -> Self {
        self.typed.status = Some(Box::new(status));
        self
    }

    /// Sets fields on each write, including creates and status updates: `new` is otherwise final,
    /// and the time is the server's. Changes outside of metadata and spec count. `new` contains the
    /// client's values of these fields, for the function to overwrite.
    ///
    /// For a write that changes nothing the function must keep the values of `old`: else the object
    /// changes. Without an old object this is a create, or the old one was no `K`.
    pub fn stamping(
        mut self,
        stamping: impl Fn(&mut K, Option<&K>, Timestamp) + Send + Sync + 'static,
    ) -> Self {
        self.typed.stamping = Some(Box::new(stamping));
        self
    }

    /// Stamps an object as a write through this server does: for webhooks of other servers.
    pub fn stamp(&self, new: &mut Value, old: Option<&Value>, now: Timestamp)
    where
        K: Serialize + DeserializeOwned + 'static,
    {
        self.typed.stamp(new, old, now);
    }

    /// Adds a cross-object invariant. `keys` returns the keys of an object; `check` returns the
    /// errors of a written object, given all others under one of its keys; none, if it may be
    /// written. The name appears in refusals.
    ///
    /// The write is committed only if no other object under these keys was written since the check:
    /// by any client, through any server of the store whose kind has this guard. One of two
    /// conflicting writers is refused, with
    /// [`Conflict::Guard`](machinery_objects::Conflict::Guard), or on the wire with 422.
    ///
    /// - An object without keys is not checked.
    /// - Deletions are not checked. An object that is being deleted counts until it is removed. A
    ///   write that changes only finalizers, owners and deletion marks is checked only if it gives
    ///   the object a new key.
    /// - The keys of an object must be deterministic, and must not depend on its resourceVersion: a
    ///   new object has none. An object that cannot be decoded as `K` has no keys.
    /// - The check may be called several times, concurrently with other checks, and must have no
    ///   side effects. It runs on its own thread, for at most [`Limits::guard_time`]; if it panics
    ///   or takes longer, the write is refused.
    /// - [`Limits`] bounds the number of keys and of other objects. Writers under one key do not
    ///   wait for each other, they retry: keys that few objects share are better.
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
    ///         Some(_) => vec![InvalidField {
    ///             field: "spec.address".into(),
    ///             reason: "another port has it".into(),
    ///         }],
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

impl<K: Serialize + DeserializeOwned + Send + Sync + 'static> KindOf<K> {
    /// Returns the kind without its Rust type.
    pub(crate) fn into_own(self) -> Own {
        Own { definition: self.definition, hooks: Arc::new(self.typed), wrong: self.wrong }
    }
}

#[cfg(feature = "k8s")]
impl<K: kube_core::CustomResourceExt> Default for KindOf<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A kind that the program brings. A CustomResourceDefinition of the same name is refused, and
    /// one that the store has already keeps the server from starting.
    pub fn kind<K>(self, kind: KindOf<K>) -> Self
    where
        K: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        self.own(kind.into_own())
    }
}

fn drop_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(drop_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_rules),
        _ => {}
    }
}

impl<K> fmt::Debug for KindOf<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KindOf({})", self.definition["metadata"]["name"])
    }
}

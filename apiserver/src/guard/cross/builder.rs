//! [`CrossKindGuard`]: declares a guard over several kinds.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::guard::{GuardedObject, GuardedWrite};
use crate::invalid::FieldError;
use crate::own::Wrong;
use crate::storage::Place;

/// A guard over objects of several kinds, built-in ones included: for
/// [`Builder::guard`](crate::Builder::guard).
///
/// Each member kind has a function that returns the keys of an object. A write of a member is
/// checked together with all other members' objects under its keys, and is committed only if no
/// object under these keys was written since: by any client, through any server of the store that
/// has this guard. Of two conflicting writers one is refused, as by
/// [`KindOf::guard`](crate::KindOf::guard), whose rules about keys, limits and panics apply.
///
/// - **Deletions** that a user requests are checked as well if
///   [`check_deletions`](Self::check_deletions) is set: then a create and a delete that meet never
///   leave a dangling reference. A deletion is checked once, at its request.
/// - **Cascades are never refused**: the deletions of the namespace controller, the garbage
///   collector and of a CustomResourceDefinition are committed under the same conditions and are
///   not checked, and neither is the removal of an object whose deletion has begun. They may leave
///   a dangling reference until the cascade has deleted the other object, too. A reference from an
///   object that the cascade does not delete stays: to refuse the deletion of its namespace, make
///   Namespaces a member, with keys by name.
/// - Objects that the server itself creates, such as the ServiceAccount `default` of a namespace,
///   are not checked and count for others.
/// - Objects of a member kind that is not served (yet) are unknown to the check. They are under the
///   keys once their kind is served.
///
/// Of two Deployments of one namespace with the same label `app`, the first one wins; and a
/// ConfigMap cannot be deleted while a Deployment uses it:
///
/// ```
/// # #[cfg(feature = "k8s")]
/// # mod example {
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::ResourceExt as _;
/// use machinery_apiserver::{CrossKindGuard, GuardedObject, GuardedWrite, Operation};
/// use machinery_objects::InvalidField;
///
/// fn config_of(deployment: &Deployment) -> Option<String> {
///     let name = deployment.annotations().get("example.com/config")?;
///     Some(format!("{}/{name}", deployment.namespace()?))
/// }
///
/// pub fn guard() -> CrossKindGuard {
///     let key = |map: &ConfigMap| Some(format!("{}/{}", map.namespace()?, map.name_any()));
///     CrossKindGuard::new("configuration")
///         .member(move |map: &ConfigMap| key(map))
///         .member(|deployment: &Deployment| config_of(deployment))
///         .check_deletions()
///         .check(|write: &GuardedWrite, others: &[GuardedObject]| {
///             let uses = others.iter().find(|other| other.of::<Deployment>().is_some());
///             let exists = others.iter().any(|other| {
///                 other.of::<ConfigMap>().is_some() && !other.is_terminating()
///             });
///             let is_map = write.object.of::<ConfigMap>().is_some();
///             let reason = match (write.operation, is_map, uses) {
///                 (Operation::Delete, true, Some(user)) => format!("{} uses it", user.name()),
///                 (Operation::Create | Operation::Update, false, _) if !exists => {
///                     "its ConfigMap does not exist".to_owned()
///                 }
///                 _ => return Vec::new(),
///             };
///             vec![InvalidField { field: "metadata.annotations".into(), reason }]
///         })
/// }
/// # }
/// # #[cfg(feature = "k8s")]
/// # drop(example::guard());
/// ```
#[must_use = "a guard checks nothing until a server has it"]
pub struct CrossKindGuard {
    pub(super) name: String,
    pub(super) members: Vec<Member>,
    pub(super) checks_deletions: bool,
    pub(super) check: Option<Arc<CrossCheck>>,
}

/// A member kind and its key function.
pub(super) struct Member {
    pub(super) place: Place,
    pub(super) keys: Arc<KeysOf>,
}

/// Returns the keys of an object.
pub(super) type KeysOf = dyn Fn(&Value) -> Vec<String> + Send + Sync;
/// Returns the errors of a write.
pub(super) type CrossCheck = dyn Fn(&GuardedWrite, &[GuardedObject]) -> Vec<FieldError> + Send + Sync;

impl CrossKindGuard {
    /// Begins a guard. Its name appears in refusals, is a DNS label, and must be unique among the
    /// guards over several kinds of a server.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), members: Vec::new(), checks_deletions: false, check: None }
    }

    /// Adds a kind by its type of kube. An object that cannot be decoded as the type has no keys.
    #[cfg(feature = "k8s")]
    pub fn member<K, I>(self, keys: impl Fn(&K) -> I + Send + Sync + 'static) -> Self
    where
        K: kube_core::Resource<DynamicType = ()> + DeserializeOwned,
        I: IntoIterator<Item = String>,
    {
        self.member_of(&K::group(&()), &K::plural(&()), keys)
    }

    /// Adds a kind by its group, which is empty for the core group, and its plural, with any type
    /// that its objects can be decoded as.
    pub fn member_of<K, I>(
        mut self,
        group: &str,
        plural: &str,
        keys: impl Fn(&K) -> I + Send + Sync + 'static,
    ) -> Self
    where
        K: DeserializeOwned,
        I: IntoIterator<Item = String>,
    {
        let keys = move |object: &Value| match K::deserialize(object) {
            Ok(typed) => keys(&typed).into_iter().collect(),
            Err(_) => Vec::new(),
        };
        self.members.push(Member { place: Place::of(group, plural), keys: Arc::new(keys) });
        self
    }

    /// Checks the deletions that users request, too: with
    /// [`Operation::Delete`](crate::Operation::Delete).
    pub const fn check_deletions(mut self) -> Self {
        self.checks_deletions = true;
        self
    }

    /// Sets the check, which returns the errors of a write; none, if it may be committed. It is not
    /// called for an object without keys. `others` are the objects under one of its keys, of all
    /// members, in the order of their keys in the store. Updates that change only deletion and
    /// ownership metadata are checked only if they give the object a new key.
    pub fn check<W: Into<Wrong>>(
        mut self,
        check: impl Fn(&GuardedWrite, &[GuardedObject]) -> Vec<W> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Arc::new(move |write: &GuardedWrite, others: &[GuardedObject]| {
            let wrong = check(write, others).into_iter();
            wrong.map(|wrong| wrong.into().into_field_error(write.object.value())).collect()
        }));
        self
    }
}

impl fmt::Debug for CrossKindGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.members.iter().map(|member| &member.place).collect::<Vec<_>>();
        write!(f, "CrossKindGuard({:?} over {members:?})", self.name)
    }
}

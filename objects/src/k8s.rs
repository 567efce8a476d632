//! [`Object`] and [`Kind`] for the types of kube.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector as SelectorSpec, OwnerReference};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube_core::Resource;
use kube_core::discovery::ApiResource;

use crate::{
    Kind, KindError, LabelSelector, Labels, Object, ObjectKey, OwnerRef, Requirement, RequirementError,
    ResourceVersion, Scope, Traceparent, Uid,
};

/// Every resource of kube. Its key is unnamed also if its name is invalid, because no path leads to
/// such an object.
impl<K: Resource + Send + Sync + 'static> Object for K {
    fn key(&self) -> ObjectKey {
        let meta = self.meta();
        let namespace = meta.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        ObjectKey::new(namespace, meta.name.as_deref().unwrap_or_default()).unwrap_or_default()
    }

    fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::new(self.meta().resource_version.as_deref()?)
    }

    fn labels(&self) -> Labels {
        self.meta().labels.iter().flatten().collect()
    }

    fn uid(&self) -> Option<&str> {
        self.meta().uid.as_deref().filter(|uid| !uid.is_empty())
    }

    fn is_deleting(&self) -> bool {
        self.meta().deletion_timestamp.is_some()
    }

    fn finalizers(&self) -> &[String] {
        self.meta().finalizers.as_deref().unwrap_or_default()
    }

    fn owners(&self) -> Vec<OwnerRef> {
        let owners = self.meta().owner_references.iter().flatten();
        owners
            .filter_map(|owner| {
                Some(OwnerRef {
                    api_version: owner.api_version.as_str().into(),
                    kind: owner.kind.as_str().into(),
                    name: owner.name.as_str().into(),
                    // The garbage collector goes by the UID: a reference without one has no owner.
                    uid: Uid::new(&owner.uid)?,
                    controller: owner.controller == Some(true),
                    block_owner_deletion: owner.block_owner_deletion == Some(true),
                })
            })
            .collect()
    }

    fn traceparent(&self) -> Option<Traceparent> {
        Traceparent::from_text(self.meta().annotations.as_ref()?.get(Traceparent::ANNOTATION)?)
    }
}

/// The form in the metadata of an object.
impl From<&OwnerRef> for OwnerReference {
    fn from(owner: &OwnerRef) -> Self {
        Self {
            api_version: owner.api_version.to_string(),
            kind: owner.kind.to_string(),
            name: owner.name.to_string(),
            uid: owner.uid.to_string(),
            controller: Some(owner.controller),
            block_owner_deletion: Some(owner.block_owner_deletion),
        }
    }
}

/// A marker type of kube for the scope of a type.
pub trait KnownScope {
    /// The scope.
    const SCOPE: Scope;
}

impl KnownScope for NamespaceResourceScope {
    const SCOPE: Scope = Scope::Namespaced;
}

impl KnownScope for ClusterResourceScope {
    const SCOPE: Scope = Scope::Cluster;
}

impl Kind {
    /// Returns the kind of a type.
    ///
    /// # Errors
    /// If the type has names that Kubernetes does not allow.
    pub fn of<K: Resource<DynamicType = ()>>() -> Result<Self, KindError>
    where
        K::Scope: KnownScope,
    {
        Self::new(&K::api_version(&()), &K::kind(&()), &K::plural(&()), K::Scope::SCOPE)
    }

    /// Returns the kind of a discovered resource.
    ///
    /// # Errors
    /// If it has names that Kubernetes does not allow.
    pub fn of_resource(resource: &ApiResource, scope: Scope) -> Result<Self, KindError> {
        Self::new(&resource.api_version, &resource.kind, &resource.plural, scope)
    }
}

/// Converts the selector of a spec. The caller must interpret an absent one: it often means
/// nothing, not everything.
impl TryFrom<&SelectorSpec> for LabelSelector {
    type Error = RequirementError;

    fn try_from(spec: &SelectorSpec) -> Result<Self, Self::Error> {
        let labels = spec.match_labels.iter().flatten().map(|(key, value)| Requirement::equals(key, value));
        let expressions = spec.match_expressions.iter().flatten().map(|expression| {
            let values = expression.values.as_deref().unwrap_or_default();
            Requirement::from_expression(&expression.key, &expression.operator, values)
        });
        labels.chain(expressions).collect()
    }
}

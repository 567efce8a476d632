//! Traits of types that a plane handles.

use kube_core::{CustomResourceExt, Resource};
use machinery_objects::{KnownScope, Object};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::builder::PlaneBuilder;

/// A type with a kind: every kube type.
pub trait ObjectType:
    Resource<DynamicType = (), Scope: KnownScope> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static
{
}

impl<K> ObjectType for K where
    K: Resource<DynamicType = (), Scope: KnownScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// A type into which objects of a kind are decoded: the full object or a projection, which skips
/// the remaining fields. [`PartialMetadata`](crate::kube::PartialMetadata) and
/// [`KeyMetadata`](crate::kube::KeyMetadata) are metadata for such types.
pub trait PartialObject: Object + DeserializeOwned {}

impl<P: Object + DeserializeOwned> PartialObject for P {}

/// A tuple of types with definitions: `(Host, HostName)`.
pub trait Kinds {
    #[doc(hidden)]
    fn add(builder: PlaneBuilder) -> PlaneBuilder;
}

macro_rules! kinds {
    ($($kind:ident)*) => {
        impl<$($kind: ObjectType + CustomResourceExt),*> Kinds for ($($kind,)*) {
            fn add(builder: PlaneBuilder) -> PlaneBuilder {
                builder$(.kind::<$kind>())*
            }
        }
    };
}

kinds!(A);
kinds!(A B);
kinds!(A B C);
kinds!(A B C D);
kinds!(A B C D E);
kinds!(A B C D E F);
kinds!(A B C D E F G);
kinds!(A B C D E F G H);

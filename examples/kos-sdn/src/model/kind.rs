//! What the three kinds have in common: the fields of their objects, and what they are called.

use machinery::kube_core::{CustomResourceExt, Resource};
use serde_json::Value;

/// The group of the kinds.
pub const GROUP: &str = "network.example.com";
/// Their one version.
pub const VERSION: &str = "v1alpha1";
/// Both, as objects have them.
pub const API_VERSION: &str = "network.example.com/v1alpha1";

/// What a kind is called.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// In an object.
    pub kind: &'static str,
    /// In a path.
    pub plural: &'static str,
    /// For people.
    pub singular: &'static str,
    /// For people in a hurry.
    pub short: &'static [&'static str],
}

/// A kind of ours.
pub trait Stored: Resource<DynamicType = ()> + CustomResourceExt {
    /// What it is called.
    const NAMES: Names;
    /// What it holds, for people.
    const ABOUT: &'static str;
    /// Whether its status is a part of its own.
    const HAS_STATUS: bool;

    /// The schema of its type, but for what only its definition says.
    fn schema() -> Value;
    /// What can be selected by, as paths in an object.
    fn selectable() -> &'static [&'static str];
    /// The columns for people: name, type, path, what it is.
    fn columns() -> &'static [(&'static str, &'static str, &'static str, &'static str)];
    /// What a cluster that is not ours is to hold objects against: a path in the schema, a rule in CEL, what is told.
    fn rules() -> &'static [(&'static str, &'static str, &'static str)];
}

/// What each type of an object needs besides its fields. Its status is left out where it has none.
///
/// kube's derive knows no field beside the metadata, the spec and the status, and there is one.
macro_rules! stored {
    ($kind:ident { $($field:ident: $name:literal),* } $plural:literal) => {
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                let count = 3 + [$($name),*].len() + usize::from(!self.extended_metadata.is_empty());
                let mut object = to.serialize_struct(stringify!($kind), count)?;
                object.serialize_field("apiVersion", $crate::model::API_VERSION)?;
                object.serialize_field("kind", stringify!($kind))?;
                object.serialize_field("metadata", &self.metadata)?;
                if !self.extended_metadata.is_empty() {
                    object.serialize_field("extendedMetadata", &self.extended_metadata)?;
                }
                $(object.serialize_field($name, &self.$field)?;)*
                object.end()
            }
        }

        impl machinery::kube_core::Resource for $kind {
            type DynamicType = ();
            type Scope = machinery::kube_core::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $crate::model::GROUP.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $crate::model::VERSION.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl machinery::kube_core::CustomResourceExt for $kind {
            fn crd() -> machinery::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition {
                $crate::model::manifest::<Self>()
            }

            fn crd_name() -> &'static str {
                concat!($plural, ".network.example.com")
            }

            fn api_resource() -> machinery::kube_core::discovery::ApiResource {
                machinery::kube_core::discovery::ApiResource::erase::<Self>(&())
            }

            fn shortnames() -> &'static [&'static str] {
                <Self as $crate::model::Stored>::NAMES.short
            }
        }
    };
}

pub(super) use stored;

//! Names, schema and rules common to the kinds of this API group.

use machinery::kube_core::{CustomResourceExt, Resource};
use serde_json::Value;

/// API group.
pub const GROUP: &str = "network.example.com";
/// API version.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as in `apiVersion`.
pub const API_VERSION: &str = "network.example.com/v1alpha1";

/// Names of a kind.
#[derive(Clone, Copy, Debug)]
pub struct KindNames {
    /// The kind, as in objects.
    pub kind: &'static str,
    /// The resource name, as in URL paths.
    pub plural: &'static str,
    /// The singular resource name.
    pub singular: &'static str,
    /// Short names for kubectl.
    pub short: &'static [&'static str],
}

/// A kind of this API group with its definition.
pub trait KosKind: Resource<DynamicType = ()> + CustomResourceExt {
    /// The names.
    const NAMES: KindNames;
    /// A one-line description.
    const ABOUT: &'static str;
    /// Whether `status` is a subresource.
    const HAS_STATUS: bool;

    /// Returns the OpenAPI schema of the type.
    fn schema() -> Value;
    /// Returns the field paths that field selectors support.
    fn selectable() -> &'static [&'static str];
    /// Returns the printer columns: name, type, JSONPath, description.
    fn columns() -> &'static [(&'static str, &'static str, &'static str, &'static str)];
    /// Returns the CEL rules for other clusters: schema path, rule, message.
    fn rules() -> &'static [(&'static str, &'static str, &'static str)];
}

/// Implements serialization, `Resource` and `CustomResourceExt` for a kind; the status is optional.
///
/// kube's derive supports metadata, spec and status only, and these kinds have `extendedMetadata`.
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
                <Self as $crate::model::KosKind>::NAMES.short
            }
        }
    };
}

pub(super) use stored;

//! The macro that makes a kind of the struct of its whole object.

/// Makes a kind of a struct: `kind_object! { CASE [OPTIONS] [ATTRIBUTES] STRUCT }`. Used by
/// [`kinds!`](crate::kinds).
#[doc(hidden)]
#[macro_export]
macro_rules! kind_object {
    // A whole object without attributes of its metadata.
    ($case:tt $kind:tt $kept:tt $vis:vis struct $name:ident {
        $(#[$($attr:tt)*])* $spec_vis:vis spec: $($fields:tt)*
    }) => {
        $crate::kind_object! { $case $kind $kept $vis struct $name {
            #[doc = "Standard object metadata."]
            #[serde(default)]
            $vis metadata: $crate::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            $(#[$($attr)*])* $spec_vis spec: $($fields)*
        } }
    };
    ($case:tt
        [group = $group:expr, version = $version:expr, $scope:ident $(,
            $option:ident $(= $value:tt)? $(($($argument:tt)*))?
        )* $(,)?]
        [$($kept:tt)*] $vis:vis struct $name:ident {
            $(#[$($meta_attr:tt)*])* $meta_vis:vis metadata: $meta:ty,
            $(#[$($spec_attr:tt)*])* $spec_vis:vis spec: $spec:ty
            $(, $(#[$($attr:tt)*])* $field_vis:vis $field:ident: $ty:ty)* $(,)?
        }
    ) => {
        #[derive(Clone, Debug, $crate::derive::Deserialize, $crate::derive::JsonSchema)]
        #[serde(crate = "machinery::serde", rename_all = $case)]
        #[schemars(crate = "machinery::schemars")]
        $($kept)*
        $vis struct $name {
            $(#[$($meta_attr)*])*
            #[schemars(skip)]
            $meta_vis metadata: $meta,
            $(#[$($spec_attr)*])* $spec_vis spec: $spec,
            $($(#[$($attr)*])* $field_vis $field: $ty,)*
        }

        $crate::kind_object! { @named $scope $vis $name $meta, $spec, $($field)* }

        const _: () = {
            type __Root = $name;
            type __Text = ::std::borrow::Cow<'static, str>;

            fn __definition() -> &'static $crate::KindDefinition {
                static DEFINITION: ::std::sync::LazyLock<$crate::KindDefinition> =
                    ::std::sync::LazyLock::new(|| {
                        let fields = &[stringify!(spec), $(stringify!($field)),*];
                        $crate::KindDefinition::new(stringify!($name), $group, $version, fields)
                            .$scope()
                            $(.$option($($value)? $($($argument)*)?))*
                    });
                &DEFINITION
            }
            fn __api_version(_: &$name) -> __Text {
                __definition().api_version().into()
            }
            fn __kind(_: &$name) -> __Text {
                __definition().kind().into()
            }

            // The fields of the object with those that a type implies.
            #[allow(dead_code)]
            #[derive($crate::derive::JsonSchema, $crate::derive::Serialize)]
            #[serde(crate = "machinery::serde", remote = "__Root", rename_all = $case)]
            #[schemars(crate = "machinery::schemars")]
            struct __Object {
                #[serde(rename = "apiVersion", getter = "__api_version")]
                api_version: __Text,
                #[serde(getter = "__kind")]
                kind: __Text,
                #[schemars(skip)]
                $(#[$($meta_attr)*])* metadata: $meta,
                $(#[$($spec_attr)*])* spec: $spec,
                $($(#[$($attr)*])* $field: $ty,)*
            }

            impl $crate::serde::Serialize for $name {
                fn serialize<S: $crate::serde::Serializer>(&self, to: S) -> ::std::result::Result<S::Ok, S::Error> {
                    __Object::serialize(self, to)
                }
            }

            impl $crate::kube_core::Resource for $name {
                type DynamicType = ();
                type Scope = $crate::kind_object!(@scope $scope);

                fn kind((): &()) -> ::std::borrow::Cow<'_, str> {
                    __definition().kind().into()
                }
                fn group((): &()) -> ::std::borrow::Cow<'_, str> {
                    __definition().group().into()
                }
                fn version((): &()) -> ::std::borrow::Cow<'_, str> {
                    __definition().version().into()
                }
                fn api_version((): &()) -> ::std::borrow::Cow<'_, str> {
                    __definition().api_version().into()
                }
                fn plural((): &()) -> ::std::borrow::Cow<'_, str> {
                    __definition().plural_name().into()
                }
                fn meta(&self) -> &$meta {
                    &self.metadata
                }
                fn meta_mut(&mut self) -> &mut $meta {
                    &mut self.metadata
                }
            }

            impl $crate::kube_core::object::HasSpec for $name {
                type Spec = $spec;

                fn spec(&self) -> &$spec {
                    &self.spec
                }
                fn spec_mut(&mut self) -> &mut $spec {
                    &mut self.spec
                }
            }

            impl $crate::kube_core::CustomResourceExt for $name {
                fn crd() -> $crate::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition {
                    __definition().of::<Self>()
                }
                fn crd_name() -> &'static str {
                    __definition().name()
                }
                fn api_resource() -> $crate::kube_core::discovery::ApiResource {
                    $crate::kube_core::discovery::ApiResource::erase::<Self>(&())
                }
                fn shortnames() -> &'static [&'static str] {
                    __definition().shortnames()
                }
            }
        };
    };
    (@scope namespaced) => { $crate::kube_core::NamespaceResourceScope };
    (@scope cluster) => { $crate::kube_core::ClusterResourceScope };
    (@named namespaced $vis:vis $name:ident $meta:ty, $spec:ty, $($field:ident)*) => {
        impl $name {
            /// Creates an object with this spec; all other fields have their defaults.
            #[must_use]
            $vis fn named(namespace: &str, name: &str, spec: $spec) -> Self {
                let (name, namespace) = (Some(name.to_owned()), Some(namespace.to_owned()));
                let metadata = <$meta>::default();
                let metadata = $crate::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta { name, namespace, ..metadata };
                Self { metadata, spec, $($field: ::std::default::Default::default()),* }
            }
        }
    };
    (@named cluster $vis:vis $name:ident $meta:ty, $spec:ty, $($field:ident)*) => {
        impl $name {
            /// Creates an object with this spec; all other fields have their defaults.
            #[must_use]
            $vis fn named(name: &str, spec: $spec) -> Self {
                let metadata = <$meta>::default();
                let name = Some(name.to_owned());
                let metadata = $crate::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta { name, ..metadata };
                Self { metadata, spec, $($field: ::std::default::Default::default()),* }
            }
        }
    };
    ($case:tt $kind:tt $kept:tt $vis:vis struct $name:ident $fields:tt) => {
        compile_error!(concat!(
            "the kind ", stringify!($name), " cannot be read: it is #[kind(group = …, version = …, ",
            "namespaced | cluster, options…)], and its fields are `spec` and any others"
        ));
    };
}

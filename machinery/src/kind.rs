//! The macro that derives kinds from structs.

/// Derives kinds from structs, like kube's `CustomResource`, with all dependencies taken from this
/// crate, so that a manifest names no other.
///
/// A struct with `#[kube(…)]` is the spec of a kind; other structs and enums are nested types.
/// Fields are in camel case, as in Kubernetes.
///
/// ```
/// machinery::kinds! {
///     /// A host in a rack.
///     #[kube(
///         group = "example.com", version = "v1", kind = "Host", namespaced,
///         status = "HostStatus"
///     )]
///     pub struct HostSpec {
///         pub rack: u32,
///         pub nics: Vec<Nic>,
///     }
///
///     #[derive(PartialEq)]
///     pub struct HostStatus {
///         pub phase: Phase,
///     }
///
///     pub struct Nic {
///         pub mac_address: String,
///     }
///
///     #[derive(PartialEq)]
///     pub enum Phase {
///         Pending,
///         Ready,
///     }
/// }
///
/// let nics = vec![Nic { mac_address: "02::1".into() }];
/// let host = Host::new("db-0", HostSpec { rack: 17, nics });
/// let json = machinery::serde_json::to_value(&host).unwrap();
/// assert_eq!(json["spec"]["nics"][0]["macAddress"], "02::1");
/// ```
#[macro_export]
macro_rules! kinds {
    () => {};
    (
        $(#[doc = $doc:expr])*
        #[kube($($kube:tt)*)]
        $(#[$meta:meta])*
        $vis:vis struct $name:ident { $($fields:tt)* }
        $($rest:tt)*
    ) => {
        $(#[doc = $doc])*
        #[derive(
            Clone,
            Debug,
            $crate::derive::CustomResource,
            $crate::derive::Deserialize,
            $crate::derive::JsonSchema,
            $crate::derive::Serialize,
        )]
        #[serde(crate = "machinery::serde", rename_all = "camelCase")]
        #[schemars(crate = "machinery::schemars")]
        #[kube(crates(
            kube_core = "::machinery::kube_core",
            k8s_openapi = "::machinery::k8s_openapi",
            schemars = "::machinery::schemars",
            serde = "::machinery::serde",
            serde_json = "::machinery::serde_json",
        ))]
        #[kube($($kube)*)]
        $(#[$meta])*
        $vis struct $name { $($fields)* }

        $crate::kinds! { $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* } $($rest:tt)*) => {
        $crate::kinds! { @part $(#[$meta])* $vis struct $name { $($fields)* } }
        $crate::kinds! { $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($variants:tt)* } $($rest:tt)*) => {
        $crate::kinds! { @part $(#[$meta])* $vis enum $name { $($variants)* } }
        $crate::kinds! { $($rest)* }
    };
    (@part $($item:tt)*) => {
        #[derive(
            Clone,
            Debug,
            $crate::derive::Deserialize,
            $crate::derive::JsonSchema,
            $crate::derive::Serialize,
        )]
        #[serde(crate = "machinery::serde", rename_all = "camelCase")]
        #[schemars(crate = "machinery::schemars")]
        $($item)*
    };
}

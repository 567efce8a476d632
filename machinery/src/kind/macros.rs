//! The macro that derives kinds from structs.

/// Derives kinds from structs, with all dependencies taken from this crate, so that a manifest
/// names no other.
///
/// A struct with `#[kube(…)]` is the spec of a kind, and kube's `CustomResource` derives the rest.
/// A struct with `#[kind(…)]` is the whole object, with any top-level fields; its options are
/// below. Other structs and enums are nested types.
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
/// let mut host = Host::new("db-0", HostSpec { rack: 17, nics });
/// host.status = Some(HostStatus { phase: Phase::Ready });
/// let json = machinery::serde_json::to_value(&host).unwrap();
/// assert_eq!(json["spec"]["nics"][0]["macAddress"], "02::1");
/// assert_eq!(json["status"]["phase"], "Ready");
/// ```
///
/// # Names
///
/// Fields are in camel case, and values of enums are spelled as in Rust: both as in Kubernetes.
/// Variants with data are fields, and in camel case too, unless the enum has a `tag`: then they are
/// values. `#![rename_all = "snake_case"]` at the beginning sets the case of all fields;
/// `#[serde(rename_all = "…")]` sets that of one type, of its fields or its values.
///
/// # Whole objects
///
/// ```
/// use machinery::SectionWrites;
/// use machinery::kube_core::{CustomResourceExt, Resource};
///
/// machinery::kinds! {
///     #![rename_all = "snake_case"]
///
///     /// A disk of a host.
///     #[kind(
///         group = "example.com", version = "v1", namespaced, served = "v1beta1",
///         shortname = "dk", category = "all", selectable = ".spec.node_name",
///         column("Node", ".spec.node_name"), column("Used", ".status.used_bytes"),
///         immutable = ".spec.node_name",
///         rule(".spec.size_bytes", "self > 0", "a disk is not empty"),
///         sections = ".writes", section("spec", [".spec"]), section("used", [".status"]),
///     )]
///     #[derive(PartialEq)]
///     pub struct Disk {
///         /// The desired state.
///         pub spec: DiskSpec,
///         /// The observed state.
///         #[serde(default)]
///         pub status: DiskStatus,
///         /// Times of the latest writes, set by the server.
///         #[serde(default)]
///         pub writes: SectionWrites,
///     }
///
///     #[derive(PartialEq)]
///     pub struct DiskSpec {
///         /// The host of the disk.
///         pub node_name: String,
///         pub size_bytes: u64,
///     }
///
///     #[derive(Default, PartialEq)]
///     pub struct DiskStatus {
///         #[serde(default)]
///         pub used_bytes: u64,
///     }
/// }
///
/// let spec = DiskSpec { node_name: "n1".into(), size_bytes: 1 << 40 };
/// let disk = Disk::named("default", "sda", spec);
/// let json = machinery::serde_json::to_value(&disk).unwrap();
/// assert_eq!((&json["apiVersion"], &json["kind"]), (&"example.com/v1".into(), &"Disk".into()));
/// assert_eq!(json["spec"]["node_name"], "n1");
/// let definition = Disk::crd();                                     // for any cluster
/// assert_eq!(definition.spec.versions.len(), 2);
/// ```
///
/// The options begin with `group`, `version`, and `namespaced` or `cluster`. Each further option is
/// a method of [`KindDefinition`](crate::KindDefinition): `name = value`, or `name(values)`. Values
/// may be constants.
///
/// The fields are `spec`, then any others, which need `Default`. `metadata` is added, or may be the
/// first field, for attributes of its own. A `status` is a subresource. The macro implements
/// `Serialize`, `Resource`, `HasSpec` and `CustomResourceExt`, so an embedded server and any
/// cluster have the kind from this one source, and derives `Clone`, `Debug`, `Deserialize` and
/// `JsonSchema`.
#[macro_export]
macro_rules! kinds {
    (#![rename_all = $case:tt] $($items:tt)*) => { $crate::kinds! { @items $case $($items)* } };
    (@items $case:tt $(
        $(#[$($attr:tt)*])* $vis:vis $word:ident $name:ident { $($body:tt)* }
    )*) => {
        $($crate::kinds! {
            @item (block $case $case) [] [] { $(#[$($attr)*])* } $vis $word $name { $($body)* }
        })*
    };

    // The attributes of an item, one by one: `@item (BY CASE FIELDS) [FLAVOR] [KEPT] { REST } ITEM`, with
    // the case of fields or values, and that of the fields of variants.
    (@item $case:tt $of:tt $kept:tt { #[kind($($kind:tt)*)] $($rest:tt)* } $($item:tt)*) => {
        $crate::kinds! { @item $case [kind $($kind)*] $kept { $($rest)* } $($item)* }
    };
    (@item $case:tt $of:tt [$($kept:tt)*] { #[kube($($kube:tt)*)] $($rest:tt)* } $($item:tt)*) => {
        $crate::kinds! {
            @item $case [kube] [$($kept)* #[kube($($kube)*)]] { $($rest)* } $($item)*
        }
    };
    (@item $case:tt $of:tt $kept:tt { #[serde($($serde:tt)*)] $($rest:tt)* } $($item:tt)*) => {
        $crate::kinds! { @serde [] [$($serde)*] $case $of $kept { $($rest)* } $($item)* }
    };
    (@item $case:tt $of:tt [$($kept:tt)*] { #[$($other:tt)*] $($rest:tt)* } $($item:tt)*) => {
        $crate::kinds! { @item $case $of [$($kept)* #[$($other)*]] { $($rest)* } $($item)* }
    };

    // The case of one type: serde would refuse a second `rename_all` beside that of the block.
    (@serde [$($done:tt)*] [rename_all = $case:tt $(, $($more:tt)*)?] ($by:ident $of:tt $fields:tt) $($item:tt)*) => {
        $crate::kinds! { @serde [$($done)*] [$($($more)*)?] (own $case $fields) $($item)* }
    };
    (@serde [$($done:tt)*] [rename_all_fields = $fields:tt $(, $($more:tt)*)?] ($by:ident $case:tt $of:tt) $($item:tt)*) => {
        $crate::kinds! { @serde [$($done)*] [$($($more)*)?] ($by $case $fields) $($item)* }
    };
    // The names of its variants are values.
    (@serde [$($done:tt)*] [tag = $tag:tt $($more:tt)*] (block $case:tt $fields:tt) $($item:tt)*) => {
        $crate::kinds! { @serde [$($done)* tag = $tag] [$($more)*] (tagged $case $fields) $($item)* }
    };
    (@serde [$($done:tt)*] [$next:tt $($more:tt)*] $case:tt $($item:tt)*) => {
        $crate::kinds! { @serde [$($done)* $next] [$($more)*] $case $($item)* }
    };
    (@serde [$($done:tt)*] [] $case:tt $of:tt [$($kept:tt)*] $($item:tt)*) => {
        $crate::kinds! { @item $case $of [$($kept)* #[serde($($done)*)]] $($item)* }
    };

    // The spec of a kind, by kube's derive.
    (@item ($by:ident $case:tt $fields:tt) [kube] [$($kept:tt)*] {} $vis:vis struct $name:ident $body:tt) => {
        #[derive(
            Clone,
            Debug,
            $crate::derive::CustomResource,
            $crate::derive::Deserialize,
            $crate::derive::JsonSchema,
            $crate::derive::Serialize,
        )]
        #[serde(crate = "machinery::serde", rename_all = $case)]
        #[schemars(crate = "machinery::schemars")]
        #[kube(crates(
            kube_core = "::machinery::kube_core",
            k8s_openapi = "::machinery::k8s_openapi",
            schemars = "::machinery::schemars",
            serde = "::machinery::serde",
            serde_json = "::machinery::serde_json",
        ))]
        $($kept)*
        $vis struct $name $body
    };

    (@item ($by:ident $case:tt $fields:tt) [kind $($kind:tt)*] $kept:tt {} $vis:vis struct $name:ident $body:tt) => {
        $crate::kind_object! { $case [$($kind)*] $kept $vis struct $name $body }
    };

    // Nested types. The values of an enum keep their names, unless the type has a case of its own.
    (@item ($by:ident $case:tt $fields:tt) [] [$($kept:tt)*] {} $vis:vis struct $($item:tt)*) => {
        $crate::kinds! { @nested #[serde(rename_all = $case)] $($kept)* $vis struct $($item)* }
    };
    (@item (block $case:tt $fields:tt) [] [$($kept:tt)*] {} $vis:vis enum $name:ident {
        $($(#[$($attr:tt)*])* $value:ident $(= $number:expr)?),* $(,)?
    }) => {
        $crate::kinds! {
            @nested $($kept)* $vis enum $name { $($(#[$($attr)*])* $value $(= $number)?),* }
        }
    };
    (@item (tagged $case:tt $fields:tt) $($item:tt)*) => {
        $crate::kinds! { @item (own "PascalCase" $fields) $($item)* }
    };
    (@item ($by:ident $case:tt $fields:tt) [] [$($kept:tt)*] {} $vis:vis enum $($item:tt)*) => {
        $crate::kinds! {
            @nested #[serde(rename_all = $case, rename_all_fields = $fields)] $($kept)* $vis enum $($item)*
        }
    };
    (@nested $($item:tt)*) => {
        #[derive(
            Clone,
            Debug,
            $crate::derive::Deserialize,
            $crate::derive::JsonSchema,
            $crate::derive::Serialize,
        )]
        #[serde(crate = "machinery::serde")]
        #[schemars(crate = "machinery::schemars")]
        $($item)*
    };

    (@$step:ident $($item:tt)*) => {
        compile_error!(concat!(
            "kinds! cannot read this item: ", stringify!($($item)*), "; items are structs and enums with ",
            "named fields and without generics"
        ));
    };
    ($($items:tt)*) => { $crate::kinds! { @items "camelCase" $($items)* } };
}

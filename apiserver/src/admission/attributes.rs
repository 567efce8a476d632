//! What somebody asks for, as who is asked about it sees it.

use serde_json::Value;

use crate::auth::Identity;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// An object is made.
    Create,
    /// An object, or a part of one, is replaced or patched.
    Update,
    /// An object is deleted. Of many that are deleted at once, each is asked about.
    Delete,
}

impl Operation {
    /// `CREATE`, as rules and reviews have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// What somebody asks for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a Identity,
    /// What for.
    pub operation: Operation,
    /// The API group; empty for the oldest.
    pub group: &'a str,
    /// The version that is asked for.
    pub version: &'a str,
    /// The kind of the object: `Scale`, where it is about how many.
    pub kind: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// `status`, `scale` or `finalize`; empty for the object itself.
    pub subresource: &'a str,
    /// Of the object. That of a namespace is itself.
    pub namespace: Option<&'a str>,
    /// The object's; a generated one is there already.
    pub name: &'a str,
    /// The object as it would be stored. None in [`mutate`](super::Admission::mutate), which has it, and where one is deleted.
    pub object: Option<&'a Value>,
    /// The object as it is. None for a new one.
    pub old: Option<&'a Value>,
    /// Whether everything is done but the last: then nothing else may be changed either.
    pub dry_run: bool,
}

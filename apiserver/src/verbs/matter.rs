//! What something is to be done with, whether a request came for it or the program itself asks.

use std::sync::Arc;

use machinery_objects::Traceparent;
use serde_json::Value;

use crate::admission::Notes;
use crate::auth::Identity;
use crate::auth::rbac::GROUP;
use crate::change::{Change, Rests};
use crate::fence::Fence;
use crate::kind::{Kind, Subresource};
use crate::meta::finalizer_warnings;
use crate::quota;
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::strategy::metadata;

/// Which object, or which objects, of a kind that there is; and who asks.
pub(crate) struct Matter<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) kind: &'a Arc<Kind>,
    pub(crate) part: Subresource,
    pub(crate) identity: &'a Identity,
    /// Under what it is to be done.
    pub(crate) fence: Option<&'a Fence>,
    /// In which trace.
    pub(crate) trace: Option<Traceparent>,
    /// Where is noted what is said of it, besides the answer.
    pub(crate) notes: Option<&'a Notes<'a>>,
    pub(crate) namespace: Option<&'a str>,
    /// Empty where it is about many, or about one that has no name yet.
    pub(crate) name: &'a str,
}

impl Matter<'_> {
    pub(crate) const fn namespace(&self) -> Option<&str> {
        self.namespace
    }

    pub(crate) const fn name(&self) -> &str {
        self.name
    }

    /// Whether who asks may give what a role or a binding gives. Of other objects there is nothing to say.
    pub(crate) fn may_grant(&self, object: &Value, old: Option<&Value>) -> Result<(), Refusal> {
        match &self.shared.rules {
            Some(rules) if &*self.kind.group == GROUP => rules.load().may_grant(self.identity, object, old),
            _ => Ok(()),
        }
    }

    /// What who writes this should know: what is allowed and unwise, or not held here.
    pub(crate) fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = finalizer_warnings(metadata(new), old.map(metadata));
        if quota::is_quota(self.kind) && self.part == Subresource::Main {
            warnings.extend(quota::warnings(&self.shared.kinds(), new));
        }
        warnings
    }

    /// A change of an object of this kind, under what it is to be done.
    pub(crate) fn change<'c>(&'c self, key: &'c Arc<str>, dry_run: bool) -> Change<'c> {
        let rests = Rests { fence: self.fence, ..Rests::default() };
        Change { shared: self.shared, kind: self.kind, key, rests, dry_run }
    }

    pub(crate) fn key(&self) -> Arc<str> {
        self.kind.place.key(self.namespace, self.name)
    }
}

//! The limit of update entries in `managedFields`: the oldest are merged into one.

use std::collections::BTreeMap;

use super::FieldSet;
use super::entry::{Managed, Manager, Owned};

const UPDATERS: usize = 10;
const OLD: &str = "ancient-changes";

/// Merges the oldest entries of updates, version by version, until there are few enough or one of
/// each version.
pub(super) fn cap(managed: &mut Managed) {
    if managed.len() <= UPDATERS {
        return;
    }
    let mut updaters: Vec<_> = managed
        .iter()
        .filter(|(manager, _)| !manager.applied)
        .map(|(manager, owned)| (owned.time.clone(), manager.clone()))
        .collect();
    updaters.sort();
    let mut left = updaters.len();
    let mut firsts = BTreeMap::<String, Manager>::new();
    for (time, manager) in updaters {
        if left <= UPDATERS {
            return;
        }
        let bucket =
            Manager { name: OLD.into(), api_version: manager.api_version.clone(), ..Manager::default() };
        let Some(first) = firsts.get(&manager.api_version).cloned() else {
            firsts.insert(manager.api_version.clone(), manager);
            continue;
        };
        let mut set = FieldSet::default();
        for one in [&bucket, &first, &manager] {
            if let Some(owned) = managed.remove(one) {
                left -= 1;
                set = if set.is_empty() { owned.set } else { set.union(owned.set) };
            }
        }
        left += 1;
        firsts.insert(manager.api_version.clone(), bucket.clone());
        managed.insert(bucket, Owned { set, api_version: manager.api_version, time });
    }
}

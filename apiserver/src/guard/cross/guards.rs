//! The guards over several kinds of a server.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery_objects::NameRule;

use super::builder::{CrossKindGuard, Member};
use super::member::MemberGuard;
use crate::guard::Guard;
use crate::server::StartError;
use crate::storage::Place;

/// The guards over several kinds of a server, by member kind.
#[derive(Default)]
pub(crate) struct CrossGuards {
    by_place: BTreeMap<Place, Vec<Arc<dyn Guard>>>,
}

impl CrossGuards {
    /// Builds the guards.
    ///
    /// # Errors
    /// A guard has no valid or no unique name, no member, a member twice, or no check.
    pub(crate) fn build(guards: Vec<CrossKindGuard>) -> Result<Self, StartError> {
        check_names(guards.iter().map(|guard| guard.name.as_str()))
            .map_err(|(name, why)| StartError::Guard { name, why })?;
        let mut by_place: BTreeMap<Place, Vec<Arc<dyn Guard>>> = BTreeMap::new();
        for guard in guards {
            let CrossKindGuard { name, members, checks_deletions, check } = guard;
            let refused = |why: &str| StartError::Guard { name: name.clone(), why: why.into() };
            let check = check.ok_or_else(|| refused("it has no check: set one by `check`"))?;
            if members.is_empty() {
                return Err(refused("it has no member: add a kind by `member`"));
            }
            let (prefix, places) =
                (Arc::from(format!("*{name}")), members.iter().map(|one| one.place.clone()));
            let places: Arc<[Place]> = places.collect();
            for (at, Member { place, keys }) in members.into_iter().enumerate() {
                if places.iter().take(at).any(|before| *before == place) {
                    return Err(refused("a kind is a member twice: return all of its keys by one function"));
                }
                let (prefix, check) = (Arc::clone(&prefix), check.clone());
                let member = MemberGuard { prefix, keys, members: places.clone(), checks_deletions, check };
                by_place.entry(place).or_default().push(Arc::new(member));
            }
        }
        Ok(Self { by_place })
    }

    /// Returns the guards with this kind as a member.
    pub(crate) fn of(&self, place: &Place) -> &[Arc<dyn Guard>] {
        self.by_place.get(place).map_or(&[], |guards| guards)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// Returns the prefix of each guard.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &str> {
        self.by_place.values().flat_map(|guards| guards.iter()).map(|guard| guard.prefix())
    }
}

/// Checks that each guard has a valid and unique name.
///
/// # Errors
/// The name, and the reason with its remedy.
pub(crate) fn check_names<'g>(names: impl Iterator<Item = &'g str>) -> Result<(), (String, String)> {
    let mut before: Vec<&str> = Vec::new();
    for name in names {
        if let Err(error) = NameRule::DnsLabel.check(name) {
            return Err((name.into(), format!("{name:?} can be no guard's name: {error}")));
        }
        if before.contains(&name) {
            return Err((name.into(), format!("two guards are called {name:?}: rename one")));
        }
        before.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery_objects::InvalidField;
    use serde_json::Value;

    fn guard(name: &str, plurals: &[&str], has_check: bool) -> CrossKindGuard {
        let keys = |_: &Value| vec![String::from("k")];
        let guard = CrossKindGuard::new(name);
        let guard = plurals.iter().fold(guard, |guard, plural| guard.member_of("", plural, keys));
        match has_check {
            true => guard.check(|_, _| Vec::<InvalidField>::new()),
            false => guard,
        }
    }

    #[test]
    fn an_incomplete_guard_is_refused_with_the_remedy() {
        let check = |guards: Vec<CrossKindGuard>, expected: &str| {
            let error = CrossGuards::build(guards).err().expect("refused").to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(vec![guard("A b", &["pods"], true)], "can be no guard's name");
        check(vec![guard("a", &["pods"], true), guard("a", &["pods"], true)], "two guards are called \"a\"");
        check(vec![guard("a", &[], true)], "add a kind by `member`");
        check(vec![guard("a", &["pods"], false)], "set one by `check`");
        check(vec![guard("a", &["pods", "pods"], true)], "a member twice");
        let guards = vec![guard("a", &["pods", "secrets"], true), guard("b", &["pods"], true)];
        let built = CrossGuards::build(guards).expect("built");
        assert_eq!(built.of(&Place::of("", "pods")).len(), 2);
        assert_eq!(built.of(&Place::of("", "services")).len(), 0);
    }
}

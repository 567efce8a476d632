//! Naming conflicts of definitions: within a group, each name is accepted for one of them.

use std::collections::BTreeMap;

use crate::kind::KindNames;

/// The owners of names, by group. Plural, singular and short names share a namespace; kinds and
/// list kinds share another.
#[derive(Default)]
pub(crate) struct NameReservations(BTreeMap<(String, Set, String), usize>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Set {
    Resources,
    Kinds,
}

/// The accepted names of a definition, with the reason and message of a conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) names: KindNames,
    pub(crate) conflict: Option<(&'static str, String)>,
}

impl NameReservations {
    /// Records the names that a definition had before.
    pub(crate) fn note(&mut self, owner: usize, group: &str, had: &KindNames) {
        for (set, name) in all(had) {
            self.0.entry((group.into(), set, name.into())).or_insert(owner);
        }
    }

    /// Accepts the wanted names that are free; of a conflicting one the previous name is kept.
    pub(crate) fn accept(
        &mut self,
        owner: usize,
        group: &str,
        requested: &KindNames,
        had: &KindNames,
    ) -> Accepted {
        let taken = |set: Set, name: &str| {
            let by = self.0.get(&(group.to_owned(), set, name.to_owned()));
            by.is_some_and(|by| *by != owner).then(|| format!("{name:?} is already in use"))
        };
        let mut conflict = None;
        let mut one = |set: Set, requested: &str, had: &str, reason: &'static str| match taken(set, requested)
        {
            None => requested.to_owned(),
            Some(why) => {
                conflict = Some((reason, why));
                had.to_owned()
            }
        };
        let plural = one(Set::Resources, &requested.plural, &had.plural, "PluralConflict");
        let singular = one(Set::Resources, &requested.singular, &had.singular, "SingularConflict");
        let kind = one(Set::Kinds, &requested.kind, &had.kind, "KindConflict");
        let list_kind = one(Set::Kinds, &requested.list_kind, &had.list_kind, "ListKindConflict");
        let clashes: Vec<String> =
            requested.short_names.iter().filter_map(|name| taken(Set::Resources, name)).collect();
        let short_names = match clashes.as_slice() {
            [] => requested.short_names.clone(),
            _ => had.short_names.clone(),
        };
        if !clashes.is_empty() {
            let why = match clashes.as_slice() {
                [one] => one.clone(),
                _ => format!("[{}]", clashes.join(", ")),
            };
            // Of several conflicts, that of the kind names is reported.
            conflict =
                conflict.filter(|(reason, _)| reason.contains("Kind")).or(Some(("ShortNamesConflict", why)));
        }
        let categories = requested.categories.clone();
        let names = KindNames { kind, list_kind, plural, singular, short_names, categories };
        self.0.retain(|_, by| *by != owner);
        self.note(owner, group, &names);
        Accepted { names, conflict }
    }

    /// Returns whether `owner` holds all of these names.
    pub(crate) fn has(&self, owner: usize, group: &str, names: &KindNames) -> bool {
        let by =
            |(set, name): (Set, &str)| self.0.get(&(group.to_owned(), set, name.to_owned())) == Some(&owner);
        !names.plural.is_empty() && !names.kind.is_empty() && all(names).all(by)
    }
}

fn all(names: &KindNames) -> impl Iterator<Item = (Set, &str)> {
    let resources = [&names.plural, &names.singular].into_iter().chain(&names.short_names);
    let resources = resources.map(|name| (Set::Resources, name.as_str()));
    let kinds = [&names.kind, &names.list_kind].map(|name| (Set::Kinds, name.as_str()));
    resources.chain(kinds).filter(|(_, name)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plural: &str, kind: &str, short: &[&str]) -> KindNames {
        KindNames {
            kind: kind.into(),
            list_kind: format!("{kind}List"),
            plural: plural.into(),
            singular: kind.to_lowercase(),
            short_names: short.iter().map(|name| (*name).to_owned()).collect(),
            categories: Vec::new(),
        }
    }

    #[track_caller]
    fn check(
        taken: &mut NameReservations,
        requested: &KindNames,
        had: &KindNames,
        plural: &str,
        kind: &str,
        reason: Option<&str>,
    ) {
        let found = taken.accept(1, "g", requested, had);
        assert_eq!((&*found.names.plural, &*found.names.kind), (plural, kind));
        assert_eq!(found.conflict.map(|(reason, _)| reason), reason);
    }

    #[test]
    fn a_name_is_accepted_for_one_definition() {
        let mut taken = NameReservations::default();
        let first = names("firsts", "First", &["f"]);
        assert_eq!(taken.accept(0, "g", &first, &KindNames::default()).conflict, None);
        let none = KindNames::default();
        check(&mut taken, &names("seconds", "First", &["f"]), &none, "seconds", "", Some("ListKindConflict"));
        check(&mut taken, &names("f", "Second", &[]), &none, "", "Second", Some("PluralConflict"));
        check(
            &mut taken,
            &names("seconds", "Second", &["f"]),
            &none,
            "seconds",
            "Second",
            Some("ShortNamesConflict"),
        );
        check(&mut taken, &names("seconds", "Second", &["s"]), &none, "seconds", "Second", None);
        assert_eq!(taken.accept(2, "other", &first, &none).conflict, None);
    }

    #[test]
    fn accepted_names_are_kept() {
        let mut taken = NameReservations::default();
        let later = names("laters", "Later", &["l"]);
        taken.note(1, "g", &later);
        let greedy = taken.accept(0, "g", &names("firsts", "First", &["l"]), &KindNames::default());
        assert_eq!(greedy.conflict, Some(("ShortNamesConflict", "\"l\" is already in use".into())));
        check(&mut taken, &later, &later, "laters", "Later", None);
        let freed = names("laters", "Later", &[]);
        check(&mut taken, &freed, &later, "laters", "Later", None);
        assert_eq!(
            taken.accept(0, "g", &names("firsts", "First", &["l"]), &KindNames::default()).conflict,
            None
        );
    }
}

//! Type metadata that strategic merge needs: merge keys and patch strategies.

/// The fields of one type. Where nothing is known of a field, maps are merged and lists are
/// replaced.
pub(crate) trait PatchMeta {
    /// Returns the patch metadata of a field; `None` for an unknown one.
    fn field(&self, name: &str) -> Option<FieldPatch<'_>>;
}

/// The merge strategy, merge key and type of a field.
#[derive(Clone, Copy)]
pub(crate) struct FieldPatch<'a> {
    pub(crate) strategy: Strategy,
    /// The merge key: the field that identifies the items of a merged list of maps.
    pub(crate) merge_key: Option<&'a str>,
    /// The field's own type, or that of its items.
    pub(crate) child: Option<&'a dyn PatchMeta>,
}

/// The merge strategy of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Maps are merged, lists are replaced.
    #[default]
    Default,
    /// Lists are merged too.
    Merge,
    /// Maps are replaced too.
    Replace,
}

impl Strategy {
    /// Parses the tag `patchStrategy` of a Go type. `retainKeys` in it concerns patch generation
    /// only: the directive `$retainKeys` applies without it, too.
    pub(crate) fn from_tag(tag: &str) -> Self {
        let has = |name| tag.split(',').any(|one| one.trim() == name);
        match (has("merge"), has("replace")) {
            (true, _) => Self::Merge,
            (false, true) => Self::Replace,
            (false, false) => Self::Default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Strategy;

    #[test]
    fn tags_are_read() {
        for (tag, expected) in [
            ("", Strategy::Default),
            ("retainKeys", Strategy::Default),
            ("merge", Strategy::Merge),
            ("merge,retainKeys", Strategy::Merge),
            ("replace", Strategy::Replace),
        ] {
            assert_eq!(Strategy::from_tag(tag), expected, "{tag}");
        }
    }
}

//! Keys of stored objects, in the order in which Kubernetes lists objects.

use std::sync::Arc;

use machinery_store::KeySpan;

/// The key prefix of the objects of one kind, in any version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// `GROUP/PLURAL/`. The oldest group, which has no name, is `core`; no other can be called so,
    /// as it has no dot and is not one of Kubernetes'.
    prefix: Arc<str>,
}

impl Place {
    pub(crate) fn of(group: &str, plural: &str) -> Self {
        let group = if group.is_empty() { "core" } else { group };
        Self { prefix: format!("{group}/{plural}/").into() }
    }

    /// Returns the group and plural of the object under a store key. None for keys of other
    /// records, such as those of guards.
    pub(crate) fn resource(key: &str) -> Option<(&str, &str)> {
        let (group, names) = key.split_once('/').filter(|(group, _)| !group.is_empty())?;
        let (plural, _) = names.split_once('/')?;
        Some((if group == "core" { "" } else { group }, plural))
    }

    /// The prefix of all keys.
    #[cfg(test)]
    pub(crate) fn everywhere() -> Self {
        Self { prefix: "".into() }
    }

    /// The key of one object. The names are checked: none has a slash.
    pub(crate) fn key(&self, namespace: Option<&str>, name: &str) -> Arc<str> {
        match namespace {
            Some(namespace) => format!("{}{namespace}/{name}", self.prefix).into(),
            None => format!("{}{name}", self.prefix).into(),
        }
    }

    /// Returns the range of all objects, or of those in one namespace.
    pub(crate) fn span(&self, namespace: Option<&str>) -> KeySpan {
        KeySpan::Prefix(self.start(namespace))
    }

    /// Returns the common prefix of these keys.
    pub(crate) fn start(&self, namespace: Option<&str>) -> Arc<str> {
        namespace
            .map_or_else(|| self.prefix.clone(), |namespace| format!("{}{namespace}/", self.prefix).into())
    }

    /// The namespace and the name in a key of this kind.
    pub(crate) fn names<'k>(&self, key: &'k str) -> (Option<&'k str>, &'k str) {
        let names = key.strip_prefix(&*self.prefix).unwrap_or(key);
        names.split_once('/').map_or((None, names), |(namespace, name)| (Some(namespace), name))
    }
}

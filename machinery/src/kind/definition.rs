//! The definition of a kind: the options of `kinds!`.

use kube_core::GroupVersionKind;
use kube_core::discovery::ApiResource;

use super::rules::Rule;
use super::sections::SectionPaths;

/// The definition of a kind: each option of `#[kind(…)]` in [`kinds!`](crate::kinds) is a method.
///
/// Paths are JSONPaths as in Kubernetes, `.spec.nodeName`. A path to an unknown field is reported
/// when a server reads the definition: it names the field and refuses the kind.
#[derive(Clone, Debug)]
#[must_use = "a definition is nothing until a server has it"]
pub struct KindDefinition {
    pub(super) kind: &'static str,
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    /// Further versions.
    pub(super) served: Vec<&'static str>,
    pub(super) name: String,
    api_version: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) scope: &'static str,
    pub(super) has_status: bool,
    pub(super) shortnames: Vec<&'static str>,
    pub(super) categories: Vec<&'static str>,
    pub(super) selectable: Vec<&'static str>,
    pub(super) columns: Vec<PrinterColumn>,
    pub(super) rules: Vec<Rule>,
    pub(super) deprecated: Vec<&'static str>,
    pub(super) scale: Option<[&'static str; 3]>,
    pub(super) sections: SectionPaths,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PrinterColumn {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// Shown by `kubectl get -o wide` only.
    pub(super) is_wide: bool,
}

impl KindDefinition {
    /// Creates the definition of a cluster-scoped kind with these top-level fields.
    #[doc(hidden)]
    pub fn new(kind: &'static str, group: &'static str, version: &'static str, fields: &[&str]) -> Self {
        let singular = kind.to_ascii_lowercase();
        let plural = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)).plural;
        Self {
            kind,
            group,
            version,
            served: Vec::new(),
            name: format!("{plural}.{group}"),
            api_version: format!("{group}/{version}"),
            plural,
            singular,
            scope: "Cluster",
            has_status: fields.contains(&"status"),
            shortnames: Vec::new(),
            categories: Vec::new(),
            selectable: Vec::new(),
            columns: Vec::new(),
            rules: Vec::new(),
            deprecated: Vec::new(),
            scale: None,
            sections: SectionPaths::default(),
        }
    }

    /// Sets the scope: objects are in namespaces.
    pub fn namespaced(self) -> Self {
        Self { scope: "Namespaced", ..self }
    }

    /// Sets the scope: objects are in none.
    pub fn cluster(self) -> Self {
        Self { scope: "Cluster", ..self }
    }

    /// Sets the name of the kind. Default: that of the struct.
    pub fn kind_name(self, kind: &'static str) -> Self {
        let Self { name, plural, singular, .. } = Self::new(kind, self.group, self.version, &[]);
        Self { kind, name, plural, singular, ..self }
    }

    /// Sets the resource name, as in URL paths. Default: the lower-case plural of the kind.
    pub fn plural(self, plural: &str) -> Self {
        Self { name: format!("{plural}.{}", self.group), plural: plural.into(), ..self }
    }

    /// Sets the singular resource name. Default: the lower-case kind.
    pub fn singular(self, singular: &str) -> Self {
        Self { singular: singular.into(), ..self }
    }

    /// Adds a short name for kubectl.
    pub fn shortname(mut self, name: &'static str) -> Self {
        self.shortnames.push(name);
        self
    }

    /// Adds the kind to a category, such as `all`.
    pub fn category(mut self, name: &'static str) -> Self {
        self.categories.push(name);
        self
    }

    /// Adds a field to those that field selectors may name.
    pub fn selectable(mut self, path: &'static str) -> Self {
        self.selectable.push(path);
        self
    }

    /// Adds a printer column. Type and description are those of the field. A kind with columns has
    /// the column `Age` at the end.
    pub fn column(mut self, name: &'static str, path: &'static str) -> Self {
        self.columns.push(PrinterColumn { name, path, is_wide: false });
        self
    }

    /// Adds a printer column that only `kubectl get -o wide` shows.
    pub fn wide_column(mut self, name: &'static str, path: &'static str) -> Self {
        self.columns.push(PrinterColumn { name, path, is_wide: true });
        self
    }

    /// Adds a validation rule in CEL to a field; `self` is its value, `oldSelf` the previous one.
    pub fn rule(mut self, path: &'static str, rule: &'static str, message: &'static str) -> Self {
        self.rules.push(Rule::Cel { path, rule, message });
        self
    }

    /// Makes a field immutable. If it is optional, it can be neither added nor removed later.
    pub fn immutable(mut self, path: &'static str) -> Self {
        self.rules.push(Rule::Immutable { path });
        self
    }

    /// Serves a further version, with the same schema. The type reads and writes its own version,
    /// which is the stored one.
    pub fn served(mut self, version: &'static str) -> Self {
        self.served.push(version);
        self
    }

    /// Deprecates a version: the server warns clients that use it.
    pub fn deprecated(mut self, version: &'static str) -> Self {
        self.deprecated.push(version);
        self
    }

    /// Adds the subresource `scale`, by the paths of the desired and the actual number of replicas,
    /// and of the label selector of the pods as text.
    pub fn scale(self, desired: &'static str, actual: &'static str, selector: &'static str) -> Self {
        Self { scale: Some([desired, actual, selector]), ..self }
    }

    /// Sets the field in which the server records the write times of sections: its type is
    /// [`SectionWrites`](super::SectionWrites).
    pub fn sections(mut self, path: &'static str) -> Self {
        self.sections.at = path.into();
        self
    }

    /// Adds a section: the server records when a write changes one of these fields. Absent fields
    /// equal empty ones.
    pub fn section<const N: usize>(mut self, name: &'static str, paths: [&'static str; N]) -> Self {
        self.sections.sections.push((name.into(), paths.map(str::to_owned).into()));
        self
    }
}

impl KindDefinition {
    /// Returns the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns the API group.
    #[must_use]
    pub const fn group(&self) -> &'static str {
        self.group
    }

    /// Returns the stored version.
    #[must_use]
    pub const fn version(&self) -> &'static str {
        self.version
    }

    /// Returns the group and the stored version.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// Returns the resource name.
    #[must_use]
    pub fn plural_name(&self) -> &str {
        &self.plural
    }

    /// Returns the name of the definition: `hosts.example.com`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the short names.
    #[must_use]
    pub fn shortnames(&self) -> &[&'static str] {
        &self.shortnames
    }
}

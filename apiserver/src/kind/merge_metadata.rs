//! Merge metadata of kinds: field ownership and merge strategies by schema.

use serde_json::Value;

use super::{Kind, KindSchema};
use crate::builtin::{self, Base, Merge, MessageField, Omit, Type, table};
use crate::managed::{EMBEDDED_METADATA, EMPTY, ListMeta, ListType, Versions};
use crate::patch::{FieldPatch, PatchMeta, Strategy};
use crate::schema::{self, Additional, MapType, Schema};

impl KindSchema {
    pub(crate) fn lists(&self) -> &dyn ListMeta {
        match self {
            Self::Custom(schema) => &**schema,
            Self::Typed(of) => *of,
        }
    }
}

impl Versions for Kind {
    fn lists(&self, api_version: &str) -> Option<&dyn ListMeta> {
        if api_version == self.api_version {
            return Some(self.shape.lists());
        }
        self.forms.get(api_version).map(|form| form.shape.lists())
    }

    fn converted(&self, object: &Value, api_version: &str) -> Value {
        let mut object = object.clone();
        let form = self.forms.get(api_version).map(|form| &form.hooks);
        form.unwrap_or(&self.hooks).convert(&mut object);
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), api_version.into());
        }
        object
    }
}

impl Kind {
    /// Returns the strategic merge metadata; custom resources have none.
    pub(crate) fn patched_by(&self) -> Option<&dyn PatchMeta> {
        match &self.shape {
            KindSchema::Custom(_) if self.built_in => Some(&MetadataAlone),
            KindSchema::Custom(_) => None,
            KindSchema::Typed(of) => Some(*of),
        }
    }
}

/// The merge metadata of CustomResourceDefinitions: only their ObjectMeta has merge keys.
struct MetadataAlone;

impl PatchMeta for MetadataAlone {
    fn field(&self, name: &str) -> Option<FieldPatch<'_>> {
        let metadata = table().named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")?;
        let of = FieldPatch { strategy: Strategy::Default, merge_key: None, child: Some(metadata) };
        (name == "metadata").then_some(of)
    }
}

impl ListMeta for Schema {
    fn list_type(&self) -> ListType<'_> {
        match self.list {
            Some(schema::DeclaredListType::Set) => ListType::Set,
            Some(schema::DeclaredListType::Map) => {
                ListType::Map(self.list_keys.iter().map(String::as_str).collect())
            }
            Some(schema::DeclaredListType::Atomic) | None => ListType::Atomic,
        }
    }

    fn atomic_map(&self) -> bool {
        self.map == Some(MapType::Atomic)
    }

    fn field(&self, name: &str) -> Option<&dyn ListMeta> {
        if self.embedded && name == "metadata" {
            return Some(&EMBEDDED_METADATA);
        }
        self.properties.get(name).map(|schema| schema as &dyn ListMeta)
    }

    fn items(&self) -> Option<&dyn ListMeta> {
        match (&self.items, &self.additional) {
            (Some(items), _) => Some(&**items),
            (None, Some(Additional::Of(values))) => Some(&**values),
            _ => None,
        }
    }

    fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }
}

impl ListMeta for &'static Type {
    fn field(&self, name: &str) -> Option<&dyn ListMeta> {
        table().field(self, name).map(|field| field as &dyn ListMeta)
    }
}

impl ListMeta for Type {
    fn atomic_map(&self) -> bool {
        self.is_atomic
    }

    fn field(&self, name: &str) -> Option<&dyn ListMeta> {
        table().field(self, name).map(|field| field as &dyn ListMeta)
    }
}

impl ListMeta for MessageField {
    fn list_type(&self) -> ListType<'_> {
        match &self.merge {
            Merge::Set => ListType::Set,
            Merge::Keyed(keys) => ListType::Map(keys.iter().map(String::as_str).collect()),
            Merge::Plainly | Merge::Atomic => ListType::Atomic,
        }
    }

    fn atomic_map(&self) -> bool {
        let message = || matches!(self.base, Base::Message(of) if table().get(of).is_atomic);
        self.merge == Merge::Atomic || self.shape == builtin::Cardinality::One && message()
    }

    fn default_value(&self) -> Option<&Value> {
        self.key_default.as_ref()
    }

    fn always_there(&self) -> Option<&'static Value> {
        match (self.shape, self.base, self.omit) {
            _ if self.pointer => None,
            (builtin::Cardinality::One, Base::Message(_), Omit::Never | Omit::Empty) => Some(&EMPTY),
            (builtin::Cardinality::List | builtin::Cardinality::Map, _, Omit::Never) => Some(&Value::Null),
            _ => None,
        }
    }

    fn field(&self, name: &str) -> Option<&dyn ListMeta> {
        match (self.shape, self.base) {
            (builtin::Cardinality::One, Base::Message(of)) => {
                table().field(table().get(of), name).map(|field| field as &dyn ListMeta)
            }
            _ => None,
        }
    }

    fn items(&self) -> Option<&dyn ListMeta> {
        match (self.shape, self.base) {
            (builtin::Cardinality::List | builtin::Cardinality::Map, Base::Message(of)) => {
                Some(table().get(of))
            }
            _ => None,
        }
    }
}

impl PatchMeta for Type {
    fn field(&self, name: &str) -> Option<FieldPatch<'_>> {
        let field = table().field(self, name)?;
        let child = match field.base {
            Base::Message(of) => Some(table().get(of) as &dyn PatchMeta),
            _ => None,
        };
        let strategy = Strategy::from_tag(field.patch_strategy.as_deref().unwrap_or_default());
        Some(FieldPatch { strategy, merge_key: field.patch_merge_key.as_deref(), child })
    }
}

//! The types of a host's values: what a schema says, as far as expressions see it, and how large a value may be.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::escape::escape;
use crate::limits::REQUEST_BYTES;
use crate::types::{Type, opaque};

/// The declared type of a value that comes as JSON: how it is read, how large it may be, how lists are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredType {
    pub(crate) form: Form,
    /// How many characters, items or entries it has at most. What has none has 0, as upstream counts it.
    pub(crate) max: u64,
    /// How few bytes it has as JSON.
    min_bytes: u64,
    nullable: bool,
    ty: Type,
}

/// What a declared value is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    Bool,
    Int,
    Double,
    String,
    /// Base 64.
    Bytes,
    Date,
    DateTime,
    Duration,
    IntOrString,
    /// Any JSON, as it is.
    Dyn,
    /// No type, and only what equals it can be asked: `x-kubernetes-preserve-unknown-fields` without a type.
    Unknown,
    /// No JSON at all: what the host binds otherwise.
    Host,
    List(Arc<DeclaredType>, Order),
    Map(Arc<DeclaredType>),
    Object(Arc<ObjectType>),
}

/// What `==` and `+` mean for a list: its `x-kubernetes-list-type`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    Atomic,
    Set,
    /// By these properties of its items.
    Keys(Vec<String>),
}

/// Fields that a host has declared.
#[derive(Debug, PartialEq)]
pub struct ObjectType {
    pub(crate) name: String,
    /// By the name that expressions use.
    pub(crate) fields: BTreeMap<String, Field>,
    /// What the schema says of properties that expressions do not see, for comparisons, by the name of the property.
    pub(crate) hidden: BTreeMap<String, Arc<DeclaredType>>,
}

/// A field, and the property that holds it.
#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) property: String,
    pub(crate) declared: Arc<DeclaredType>,
}

impl DeclaredType {
    /// Any JSON: looked at when the expression runs.
    pub fn any() -> Self {
        Self::new(Form::Dyn, Type::Dyn, REQUEST_BYTES - 2, 1)
    }

    /// An [`Authorizer`](crate::Authorizer), which [`Bindings::with_authorizer`](crate::Bindings::with_authorizer) binds.
    pub fn authorizer() -> Self {
        Self::new(Form::Host, Type::Opaque(opaque::AUTHORIZER), 0, 0)
    }

    /// A question about a resource that lacks its verb only, which [`Bindings::with_resource`](crate::Bindings::with_resource) binds.
    pub fn resource_check() -> Self {
        Self::new(Form::Host, Type::Opaque(opaque::RESOURCE_CHECK), 0, 0)
    }

    /// What a structural schema of OpenAPI v3 declares, or None where expressions see nothing of it: no type is given,
    /// or a list or map has items of such.
    ///
    /// At the root of a resource `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are there in any case.
    /// `name` names the types of objects in errors, with the path: `self.spec`.
    pub fn from_schema(schema: &Value, resource_root: bool, name: &str) -> Option<Self> {
        Schema(schema).declared(resource_root, name)
    }

    /// Its type in expressions.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// How many values of it one request can hold: what a rule below unbounded lists may run as often as.
    pub fn max_cardinality(&self) -> u64 {
        REQUEST_BYTES / (self.min_bytes + 1)
    }

    /// How many items or entries it has at most, by schema or by the size of a request; None where it is no list or map.
    pub fn max_items(&self) -> Option<u64> {
        matches!(self.form, Form::List(..) | Form::Map(_)).then_some(self.max)
    }

    pub(crate) fn nullable(&self) -> bool {
        self.nullable
    }

    fn new(form: Form, ty: Type, max: u64, min_bytes: u64) -> Self {
        Self { form, max, min_bytes, nullable: false, ty }
    }

    /// What a part of a path leads to, as the estimate of costs names it.
    pub(crate) fn step(&self, part: &str) -> Option<&Self> {
        match (&self.form, part) {
            (Form::List(item, _), "@items") => Some(item),
            (Form::Map(value), "@values") => Some(value),
            (Form::Object(object), name) => object.fields.get(name).map(|it| &*it.declared),
            _ => None,
        }
    }
}

impl ObjectType {
    /// The names of its fields, as expressions write them.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &DeclaredType)> {
        self.fields.iter().map(|(name, field)| (name.as_str(), &*field.declared))
    }
}

#[derive(Clone, Copy)]
struct Schema<'s>(&'s Value);

impl<'s> Schema<'s> {
    fn text(self, key: &str) -> &'s str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn is(self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A limit; a negative one is 0.
    fn limit(self, key: &str) -> Option<u64> {
        let limit = self.0.get(key)?;
        limit.as_u64().or_else(|| limit.as_i64().map(|_| 0)).or_else(|| limit.as_f64().map(|it| it as u64))
    }

    fn declared(self, resource_root: bool, name: &str) -> Option<DeclaredType> {
        let mut declared = self.not_null(resource_root, name)?;
        declared.nullable = self.is("nullable");
        Some(declared)
    }

    fn not_null(self, resource_root: bool, name: &str) -> Option<DeclaredType> {
        if self.is("x-kubernetes-int-or-string") {
            let max = self.limit("maxLength").map_or(REQUEST_BYTES - 2, |it| it.saturating_mul(4));
            return Some(DeclaredType::new(Form::IntOrString, Type::Dyn, max, 1));
        }
        match self.text("type") {
            "array" => self.array(name),
            "object" => self.object(resource_root, name),
            "string" => Some(self.string()),
            "boolean" => Some(DeclaredType::new(Form::Bool, Type::Bool, 0, 4)),
            "number" => Some(DeclaredType::new(Form::Double, Type::Double, 0, 1)),
            "integer" => Some(DeclaredType::new(Form::Int, Type::Int, 0, 1)),
            _ => None,
        }
    }

    fn string(self) -> DeclaredType {
        let longest = REQUEST_BYTES - 2;
        match self.text("format") {
            "byte" => {
                DeclaredType::new(Form::Bytes, Type::Bytes, self.limit("maxLength").unwrap_or(longest), 2)
            }
            "duration" => DeclaredType::new(Form::Duration, Type::Duration, 32, 3),
            "date" => DeclaredType::new(Form::Date, Type::Timestamp, 12, 12),
            "date-time" => DeclaredType::new(Form::DateTime, Type::Timestamp, 32, 21),
            _ => {
                let names = self.0.get("enum").and_then(Value::as_array).filter(|it| !it.is_empty());
                let named = names
                    .map(|it| it.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or(0) as u64);
                let limit = self.limit("maxLength").map(|it| it.saturating_mul(4));
                DeclaredType::new(Form::String, Type::String, limit.or(named).unwrap_or(longest), 2)
            }
        }
    }

    fn array(self, name: &str) -> Option<DeclaredType> {
        let items = Schema(self.0.get("items")?);
        let item = items.declared(items.is("x-kubernetes-embedded-resource"), &format!("{name}.@idx"))?;
        let max = self.limit("maxItems").unwrap_or((REQUEST_BYTES - 2) / (item.min_bytes + 1));
        let order = match self.text("x-kubernetes-list-type") {
            "set" => Order::Set,
            "map" => {
                let keys = self.0.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                let keys = keys.into_iter().flatten().filter_map(Value::as_str);
                Order::Keys(keys.map(str::to_owned).collect())
            }
            _ => Order::Atomic,
        };
        let ty = Type::list(item.ty.clone());
        Some(DeclaredType::new(Form::List(Arc::new(item), order), ty, max, 2))
    }

    fn object(self, resource_root: bool, name: &str) -> Option<DeclaredType> {
        if let Some(values) = self.0.get("additionalProperties").filter(|it| it.is_object()) {
            let values = Schema(values);
            let value =
                values.declared(values.is("x-kubernetes-embedded-resource"), &format!("{name}.@elem"))?;
            let max = self.limit("maxProperties").unwrap_or((REQUEST_BYTES - 2) / (value.min_bytes + 6));
            let ty = Type::map(Type::String, value.ty.clone());
            return Some(DeclaredType::new(Form::Map(Arc::new(value)), ty, max, 2));
        }
        let mut object =
            ObjectType { name: name.to_owned(), fields: BTreeMap::new(), hidden: BTreeMap::new() };
        let required = self.0.get("required").and_then(Value::as_array);
        let mut min_bytes = 2;
        for (property, schema) in self.0.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let schema = Schema(schema);
            let path = format!("{name}.{property}");
            let Some(declared) = schema.declared(schema.is("x-kubernetes-embedded-resource"), &path) else {
                let unknown = DeclaredType::new(Form::Unknown, Type::Dyn, REQUEST_BYTES - 2, 1);
                object.hidden.insert(property.clone(), Arc::new(unknown));
                continue;
            };
            let needed = required.is_some_and(|it| it.iter().any(|it| it.as_str() == Some(property)));
            if needed && schema.0.get("default").is_none() {
                min_bytes += property.len() as u64 + declared.min_bytes + 4;
            }
            object.add(property, declared);
        }
        if resource_root {
            object.add_metadata(self);
        }
        let object = Arc::new(object);
        Some(DeclaredType::new(Form::Object(object.clone()), Type::Object(object), 0, min_bytes))
    }
}

impl ObjectType {
    /// The field that an expression names so. A reserved word is one of a field, too, since what follows a dot is a field.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let plain = self.fields.get(name);
        plain.or_else(|| self.fields.get(&*escape(name).filter(|_| crate::escape::is_reserved(name))?))
    }

    /// What is declared of a property, whether or not expressions see it.
    pub(crate) fn of(&self, property: &str) -> Option<&DeclaredType> {
        let seen = escape(property).and_then(|name| self.fields.get(&*name)).map(|it| &*it.declared);
        seen.or_else(|| self.hidden.get(property).map(|it| &**it))
    }

    fn add(&mut self, property: &str, declared: DeclaredType) {
        let declared = Arc::new(declared);
        match escape(property) {
            Some(name) => {
                let field = Field { property: property.to_owned(), declared };
                self.fields.insert(name.into_owned(), field);
            }
            None => {
                self.hidden.insert(property.to_owned(), declared);
            }
        }
    }

    /// What every resource has. Of `metadata`, expressions see the names and nothing else, whatever the schema says.
    fn add_metadata(&mut self, schema: Schema<'_>) {
        let text = || DeclaredType::new(Form::String, Type::String, REQUEST_BYTES - 2, 2);
        let name = format!("{}.metadata", self.name);
        let mut metadata = Self { name, fields: BTreeMap::new(), hidden: BTreeMap::new() };
        // Names are subdomains, and to a generated one at least a character is added; a schema may allow less.
        let properties = schema.0.pointer("/properties/metadata/properties");
        for (property, longest) in [("name", 253), ("generateName", 252)] {
            let limit =
                properties.and_then(|it| it.get(property)).and_then(|it| Schema(it).limit("maxLength"));
            let max = limit.map_or(longest, |it| it.min(longest)).saturating_mul(4);
            metadata.add(property, DeclaredType::new(Form::String, Type::String, max, 2));
        }
        let metadata = Arc::new(metadata);
        let declared = DeclaredType::new(Form::Object(metadata.clone()), Type::Object(metadata), 0, 2);
        self.add("kind", text());
        self.add("apiVersion", text());
        self.add("metadata", declared);
    }
}

//! Declared types of the host's values: the part of a schema that expressions see, with size
//! limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::escape::escape;
use crate::limits::REQUEST_BYTES;
use crate::types::{Type, opaque};

/// The declared type of a JSON value: its representation, its maximum size, and the semantics of
/// its lists.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredType {
    pub(crate) form: Form,
    /// Maximum number of characters, items or entries; 0 for scalars, as upstream.
    pub(crate) max: u64,
    /// Minimum size as JSON, in bytes.
    min_bytes: u64,
    nullable: bool,
    ty: Type,
}

/// The form of a declared value.
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
    /// Any JSON.
    Dyn,
    /// Untyped, only comparable: `x-kubernetes-preserve-unknown-fields` without a type.
    Unknown,
    /// Not JSON: bound by the host.
    Host,
    List(Arc<DeclaredType>, Order),
    Map(Arc<DeclaredType>),
    Object(Arc<ObjectType>),
}

/// The semantics of `==` and `+` for a list: its `x-kubernetes-list-type`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    Atomic,
    Set,
    /// A map by these properties of its items.
    Keys(Vec<String>),
}

/// The fields of a declared object.
#[derive(Debug, PartialEq)]
pub struct ObjectType {
    pub(crate) name: String,
    /// Fields by their names in expressions.
    pub(crate) fields: BTreeMap<String, Field>,
    /// Declared properties that expressions do not see, for comparisons, by property name.
    pub(crate) hidden: BTreeMap<String, Arc<DeclaredType>>,
}

/// A field, and its property.
#[derive(Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) property: String,
    pub(crate) declared: Arc<DeclaredType>,
}

impl DeclaredType {
    /// Returns the type of any JSON, checked at run time.
    pub fn any() -> Self {
        Self::new(Form::Dyn, Type::Dyn, REQUEST_BYTES - 2, 1)
    }

    /// Returns the type of an [`Authorizer`](crate::Authorizer), bound by
    /// [`Bindings::with_authorizer`](crate::Bindings::with_authorizer).
    pub fn authorizer() -> Self {
        Self::new(Form::Host, Type::Opaque(opaque::AUTHORIZER), 0, 0)
    }

    /// Returns the type of a resource check without a verb, bound by
    /// [`Bindings::with_resource`](crate::Bindings::with_resource).
    pub fn resource_check() -> Self {
        Self::new(Form::Host, Type::Opaque(opaque::RESOURCE_CHECK), 0, 0)
    }

    /// Returns the declared type of a structural OpenAPI v3 schema, or `None` if it has no type, or
    /// is a list or map of items without one.
    ///
    /// The root of a resource always has `apiVersion`, `kind`, `metadata.name` and
    /// `metadata.generateName`. Errors name object types by `name` and their path: `self.spec`.
    pub fn from_schema(schema: &Value, resource_root: bool, name: &str) -> Option<Self> {
        Schema(schema).declared(resource_root, name)
    }

    /// Returns the type in expressions.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the maximum number of such values in one request, which bounds how often a rule
    /// below unbounded lists runs.
    pub fn max_cardinality(&self) -> u64 {
        REQUEST_BYTES / (self.min_bytes + 1)
    }

    /// Returns the maximum number of items or entries, by the schema or the size of a request;
    /// `None` for other types.
    pub fn max_items(&self) -> Option<u64> {
        matches!(self.form, Form::List(..) | Form::Map(_)).then_some(self.max)
    }

    pub(crate) fn nullable(&self) -> bool {
        self.nullable
    }

    fn new(form: Form, ty: Type, max: u64, min_bytes: u64) -> Self {
        Self { form, max, min_bytes, nullable: false, ty }
    }

    /// Returns the type of one step of a path, as cost estimates name it.
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
    /// Returns the fields by their names in expressions.
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

    /// Returns a limit; a negative one is 0.
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
        // The quotes of the JSON text are two bytes of the request.
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
                // `maxLength` counts characters, of up to four bytes each.
                let limit = self.limit("maxLength").map(|it| it.saturating_mul(4));
                DeclaredType::new(Form::String, Type::String, limit.or(named).unwrap_or(longest), 2)
            }
        }
    }

    fn array(self, name: &str) -> Option<DeclaredType> {
        let items = Schema(self.0.get("items")?);
        let item = items.declared(items.is("x-kubernetes-embedded-resource"), &format!("{name}.@idx"))?;
        // Without a limit, as many as a request can hold, with a comma for each.
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
            // A property with a default may be absent from the request.
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
    /// Returns the field of this name. Reserved words are included, since they may follow a dot.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let plain = self.fields.get(name);
        plain.or_else(|| self.fields.get(&*escape(name).filter(|_| crate::escape::is_reserved(name))?))
    }

    /// Returns the declared type of a property, visible to expressions or not.
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

    /// Adds the fields of every resource. Of `metadata`, expressions see the names only, whatever
    /// the schema declares.
    fn add_metadata(&mut self, schema: Schema<'_>) {
        let text = || DeclaredType::new(Form::String, Type::String, REQUEST_BYTES - 2, 2);
        let name = format!("{}.metadata", self.name);
        let mut metadata = Self { name, fields: BTreeMap::new(), hidden: BTreeMap::new() };
        // Names are DNS subdomains, and a generated name has at least one more character; a schema
        // may allow less.
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

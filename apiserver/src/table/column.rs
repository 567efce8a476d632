//! The columns of a kind: built-in, or from a CustomResourceDefinition.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{age, object_age};
use super::builtin::BuiltIn;
use super::path::{ColumnPath, shown};
use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};

/// The columns that a kind's objects are shown in.
#[derive(Clone, Debug)]
pub(crate) enum Columns {
    /// The name, and the defined columns.
    Defined(Vec<Column>),
    /// The columns of a built-in kind.
    BuiltIn(&'static BuiltIn),
}

/// A column that a CustomResourceDefinition names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: CellKind,
    pub(crate) format: String,
    pub(crate) description: String,
    /// Above 0 is shown with `-o wide` only.
    pub(crate) priority: i64,
    pub(crate) path: ColumnPath,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellKind {
    Integer,
    Number,
    Text,
    Boolean,
    Date,
}

/// Description of the name column in `columnDefinitions`.
pub(super) const NAME: &str = "The name of the object, unique among those of its kind in its namespace.";
pub(super) const CREATED: &str = "When the server made the object, in UTC.";

/// Returns the columns of a version of a CustomResourceDefinition: `additionalPrinterColumns`, or
/// the age if there are none. As in Kubernetes, a column with an invalid path ends them; the second
/// value is its name and error.
pub(crate) fn crd_columns(additional: &Value) -> (Columns, Option<String>) {
    let listed = additional.as_array().filter(|columns| !columns.is_empty());
    let Some(listed) = listed else { return (Columns::Defined(vec![Column::age()]), None) };
    let mut columns = Vec::new();
    for column in listed {
        match Column::read(column) {
            Ok(column) => columns.push(column),
            Err(why) => return (Columns::Defined(columns), Some(why)),
        }
    }
    (Columns::Defined(columns), None)
}

/// Returns Kubernetes' validation errors of `additionalPrinterColumns`; `at` is their path.
pub(crate) fn check_columns(additional: &Value, at: &str) -> Vec<FieldError> {
    let columns = additional.as_array().into_iter().flatten().enumerate();
    let errors: FieldErrors =
        columns.flat_map(|(index, column)| check(column, &format!("{at}[{index}]"))).collect();
    errors.into_list()
}

impl Columns {
    /// Returns the `columnDefinitions` of a table.
    pub(crate) fn definitions(&self) -> Value {
        match self {
            Self::BuiltIn(built_in) => built_in.definitions(),
            Self::Defined(columns) => {
                let name = definition("Name", "string", "name", NAME, 0);
                std::iter::once(name).chain(columns.iter().map(Column::definition)).collect()
            }
        }
    }

    /// The cells of a row.
    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match self {
            Self::BuiltIn(built_in) => (built_in.cells)(object, now),
            Self::Defined(columns) => {
                let name = text(&object["metadata"]["name"]);
                std::iter::once(name).chain(columns.iter().map(|column| column.cell(object, now))).collect()
            }
        }
    }

    /// Returns the `conditions` of a row.
    pub(super) fn conditions(&self, object: &Value) -> Option<Value> {
        match self {
            Self::BuiltIn(built_in) => (built_in.conditions)(object),
            Self::Defined(_) => None,
        }
    }
}

/// A column's entry in `columnDefinitions`.
pub(super) fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
}

/// Returns a string value, or an empty text.
pub(super) fn text(value: &Value) -> Value {
    value.as_str().unwrap_or_default().into()
}

impl Column {
    fn new(name: &str, kind: CellKind, path: &str) -> Self {
        let path = ColumnPath::parse(path).expect("only constants come here");
        Self { name: name.into(), kind, format: String::new(), description: String::new(), priority: 0, path }
    }

    fn age() -> Self {
        Self {
            description: CREATED.into(),
            ..Self::new("Age", CellKind::Date, ".metadata.creationTimestamp")
        }
    }

    fn read(column: &Value) -> Result<Self, String> {
        let part = |key: &str| column[key].as_str().unwrap_or_default();
        let json_path = part("jsonPath");
        let unrecognized = |why: String| format!("unrecognized column definition {json_path:?}: {why}");
        if json_path.contains(['{', '}']) {
            return Err(unrecognized("braces make no column".into()));
        }
        let path = ColumnPath::parse(json_path).map_err(unrecognized)?;
        let kind = part("type");
        let kind = CellKind::named(kind).ok_or_else(|| unrecognized(format!("no column type {kind:?}")))?;
        let description = match part("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {json_path}"),
            said => said.into(),
        };
        let priority = column["priority"].as_i64().unwrap_or(0);
        Ok(Self {
            name: part("name").into(),
            kind,
            format: part("format").into(),
            description,
            priority,
            path,
        })
    }

    fn definition(&self) -> Value {
        definition(&self.name, self.kind.name(), &self.format, &self.description, self.priority)
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        self.path.first(object).map_or(Value::Null, |value| self.kind.cell(value, now))
    }
}

impl CellKind {
    const ALL: [Self; 5] = [Self::Boolean, Self::Date, Self::Integer, Self::Number, Self::Text];

    const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "string",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A value that is not of the column's type is not shown, but anything can be a text.
    fn cell(self, value: &Value, now: Timestamp) -> Value {
        match (self, value) {
            (Self::Text, value) => shown(value).into(),
            (Self::Boolean, Value::Bool(_)) => value.clone(),
            (Self::Date, Value::String(text)) => age(Some(text), now).into(),
            (Self::Integer, Value::Number(number)) => whole(number).map_or(Value::Null, Value::from),
            (Self::Number, Value::Number(number)) => match number.as_f64() {
                Some(float) if float.fract() == 0.0 => {
                    whole(number).map_or_else(|| value.clone(), Value::from)
                }
                _ => value.clone(),
            },
            _ => Value::Null,
        }
    }
}

/// The whole part, where it fits.
fn whole(number: &serde_json::Number) -> Option<i64> {
    // Every f64 below 2^63 in magnitude has a whole part that is an i64.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    number
        .as_i64()
        .or_else(|| number.as_f64().filter(|float| float.abs() < LIMIT).map(|float| float.trunc() as i64))
}

const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

fn check(column: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let part = |key: &str| column[key].as_str().unwrap_or_default();
    let mut wrong = |field: &str, problem: Problem, detail: String| {
        errors.push(FieldError::new(format!("{at}.{field}"), problem, detail));
    };
    let invalid = |text: &str| Problem::Invalid(text.into());
    if part("name").is_empty() {
        wrong("name", Problem::Required, String::new());
    }
    let kinds = || format!("must be one of {}", CellKind::ALL.map(CellKind::name).join(","));
    match part("type") {
        "" => wrong("type", Problem::Required, kinds()),
        kind if CellKind::named(kind).is_none() => wrong("type", invalid(kind), kinds()),
        _ => {}
    }
    let format = part("format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        wrong("format", invalid(format), format!("must be one of {}", FORMATS.join(",")));
    }
    match part("jsonPath") {
        "" => wrong("JSONPath", Problem::Required, String::new()),
        path if !path.starts_with('.') => {
            wrong("JSONPath", invalid(path), "must be a simple json path starting with .".into());
        }
        _ => {}
    }
    errors
}

/// The name and the age, which many kinds begin and end with.
pub(super) fn name_and_age(object: &Value, now: Timestamp) -> (Value, Value) {
    (text(&object["metadata"]["name"]), object_age(object, now).into())
}

#[cfg(test)]
mod tests;

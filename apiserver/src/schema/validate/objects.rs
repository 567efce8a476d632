//! Validation of lists and objects: their lengths, items and fields.

use serde_json::{Map, Value};

use super::Validation;
use super::outcome::Outcome;
use crate::bounded::short;
use crate::invalid::{FieldError, Problem};
use crate::schema::correlate::OldItems;
use crate::schema::node::{Additional, Schema};
use crate::schema::path::ValuePath;

impl Validation<'_> {
    pub(super) fn items(
        self,
        schema: &Schema,
        items: &[Value],
        old: Option<&Value>,
        path: &ValuePath<'_>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(each) = &schema.items {
            let old = OldItems::of(schema, old);
            for (i, item) in items.iter().enumerate() {
                outcome.merge(self.value(each, item, old.like(item), &path.index(i)));
                if outcome.is_full() {
                    break;
                }
            }
        }
        let (least, most) = (schema.rules.min_items, schema.rules.max_items);
        outcome.errors.extend(self.too_few(items.len(), least, "items", path));
        outcome.errors.extend(self.too_many(items.len(), most, path));
        outcome.matches += 1;
        outcome
    }

    pub(super) fn fields(
        self,
        schema: &Schema,
        fields: &Map<String, Value>,
        old: Option<&Value>,
        path: &ValuePath<'_>,
    ) -> Outcome {
        let (least, most) = (schema.rules.min_properties, schema.rules.max_properties);
        let few = self.too_few(fields.len(), least, "properties", path);
        let mut outcome = Outcome::of(few.into_iter().chain(self.too_many(fields.len(), most, path)));
        for (name, field) in fields {
            if outcome.is_full() {
                break;
            }
            let whole =
                path.is_empty() && self.at.is_none() && ["apiVersion", "kind"].contains(&name.as_str());
            let old = old.filter(|_| !whole).and_then(|old| old.as_object()?.get(name));
            match (schema.properties.get(name), &schema.additional) {
                (Some(property), _) => {
                    outcome.merge(self.value(property, field, old, &path.field(name)));
                }
                (None, Some(Additional::Of(each))) => {
                    outcome.merge(self.value(each, field, old, &path.entry(name)));
                }
                (None, Some(Additional::Nothing)) => {
                    let problem = Problem::Invalid(name.clone().into());
                    let detail = format!("{path}.{} in body is a forbidden property", short(name));
                    outcome.add(|| self.error(path, problem, detail));
                }
                _ => {}
            }
        }
        for name in schema.rules.required.iter().filter(|name| !fields.contains_key(*name)) {
            outcome.add(|| self.error(&path.entry(name), Problem::Required, ""));
        }
        outcome
    }

    fn too_few(
        self,
        count: usize,
        least: Option<i64>,
        what: &str,
        path: &ValuePath<'_>,
    ) -> Option<FieldError> {
        let least = least.filter(|least| i64::try_from(count).is_ok_and(|count| count < *least))?;
        Some(self.invalid(path, count, &format!("should have at least {least} {what}")))
    }

    fn too_many(self, count: usize, most: Option<i64>, path: &ValuePath<'_>) -> Option<FieldError> {
        let most = most.filter(|most| i64::try_from(count).is_ok_and(|count| count > *most))?;
        let items = if most == 1 { "item" } else { "items" };
        let detail = match most {
            0.. => format!("must have at most {most} {items}"),
            _ => "has too many items".into(),
        };
        Some(self.error(path, Problem::TooMany(count), detail))
    }
}

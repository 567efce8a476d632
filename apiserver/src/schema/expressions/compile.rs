//! All rules of a schema, compiled.

use std::sync::Arc;

use machinery_cel::{DeclaredType, Env};
use serde_json::Value;

use super::Known;
use super::cost::{Costs, times};
use super::rule::{self, RuleContext};
use crate::bounded::{FieldErrors, short};
use crate::invalid::{FieldError, Problem};
use crate::schema::node::{Additional, DeclaredListType, JsonType, Schema};

/// Compiles the rules of a valid schema and attaches them to its nodes, or returns the errors.
/// `json` is the JSON form of the schema. A rule in `known` that does not compile is attached with
/// its error.
pub(crate) fn compile(schema: &mut Schema, json: &Value, at: &str, known: &Known) -> Vec<FieldError> {
    let mut work =
        Compiler { errors: FieldErrors::default(), costs: Costs::default(), known, unenforced: false };
    work.node(schema, json, at, &Above { is_root: true, cardinality: Some(1), uncorrelated: None });
    let Compiler { mut errors, costs, unenforced, .. } = work;
    errors.extend(costs.errors(at));
    if errors.is_empty() && !unenforced {
        check_defaults(schema, at, &mut errors);
    }
    errors.into_list()
}

struct Compiler<'a> {
    errors: FieldErrors,
    costs: Costs,
    known: &'a Known,
    /// Whether a previously accepted rule no longer compiles.
    unenforced: bool,
}

/// The context from enclosing schemas.
#[derive(Clone, Copy)]
struct Above<'a> {
    is_root: bool,
    /// Maximum number of values of the schema in one object, if bounded.
    cardinality: Option<u64>,
    /// The first enclosing path without correlated old values.
    uncorrelated: Option<&'a str>,
}

impl Compiler<'_> {
    fn node(&mut self, schema: &mut Schema, json: &Value, at: &str, above: &Above<'_>) {
        let below = Above { is_root: false, cardinality: within(schema, above.cardinality), ..*above };
        let mut has_rules = !schema.validations.is_empty();
        if let Some(Additional::Of(values)) = &mut schema.additional {
            self.node(values, &json["additionalProperties"], &format!("{at}.additionalProperties"), &below);
            has_rules |= values.has_rules;
        }
        for (name, property) in &mut schema.properties {
            self.node(
                property,
                &json["properties"][name],
                &format!("{at}.properties[{}]", short(name)),
                &below,
            );
            has_rules |= property.has_rules;
        }
        let is_map = schema.list == Some(DeclaredListType::Map);
        if let Some(items) = &mut schema.items {
            let uncorrelated = above.uncorrelated.or_else(|| (!is_map).then_some(at));
            self.node(items, &json["items"], &format!("{at}.items"), &Above { uncorrelated, ..below });
            has_rules |= items.has_rules;
        }
        schema.has_rules = has_rules;
        if !schema.validations.is_empty() {
            self.rules(schema, json, &format!("{at}.x-kubernetes-validations"), above);
        }
    }

    fn rules(&mut self, schema: &mut Schema, json: &Value, at: &str, above: &Above<'_>) {
        let wrong: Vec<_> = schema
            .validations
            .iter()
            .enumerate()
            .flat_map(|(i, said)| rule::problems(said, schema, &format!("{at}[{i}]")))
            .collect();
        if !wrong.is_empty() {
            self.errors.extend(wrong);
            if !self.known.is_all() {
                return;
            }
        }
        let Some(declared) = DeclaredType::from_schema(json, above.is_root || schema.embedded, "selfType")
        else {
            let detail = "expressions see nothing here: give the value, and all that is in it, a type";
            self.errors.push(FieldError::new(at, Problem::Forbidden, detail));
            schema.unenforced.push(format!("rule compile error: {detail}"));
            return;
        };
        let declared = Arc::new(declared);
        let env = Env::new().with("self", declared.clone());
        let around = RuleContext {
            schema,
            known: self.known,
            env: &env.clone().with("oldSelf", declared.clone()),
            optional: &env.with_optional("oldSelf", declared.clone()),
            cardinality: above.cardinality.unwrap_or_else(|| declared.max_cardinality()),
            uncorrelated: above.uncorrelated,
        };
        let (mut compiled, mut unenforced) = (Vec::new(), Vec::new());
        for (i, said) in schema.validations.iter().enumerate() {
            // The first errors suffice, and each rule costs its compilation.
            if self.known.has_too_many_states() || self.errors.is_full() && !self.known.is_all() {
                break;
            }
            let (rule, errors) = rule::compiled(said, &around, &format!("{at}[{i}]"), &mut self.costs);
            let is_held = rule.is_some();
            compiled.extend(rule);
            if !is_held && self.known.has(said) {
                unenforced.extend(errors.iter().map(|error| format!("rule compile error: {}", error.detail)));
                self.unenforced = true;
            }
            if is_held || !self.known.has(said) || self.known.is_all() {
                self.errors.extend(errors);
            }
        }
        schema.expressions = compiled;
        schema.unenforced = unenforced;
    }
}

/// Returns the maximum number of values below a value of this schema.
fn within(schema: &Schema, cardinality: Option<u64>) -> Option<u64> {
    let bound = |bound: Option<i64>| bound.map(|bound| u64::try_from(bound).unwrap_or(0));
    let each = match schema.kind {
        Some(JsonType::Object) if schema.additional.is_some() => bound(schema.rules.max_properties)?,
        Some(JsonType::Array) => bound(schema.rules.max_items)?,
        _ => 1,
    };
    Some(times(cardinality?, each))
}

/// Defaults must satisfy the rules. Kubernetes accepts defaults below `additionalProperties`
/// unseen.
fn check_defaults(schema: &Schema, at: &str, errors: &mut FieldErrors) {
    if let Some(default) = schema.default.as_ref().filter(|_| schema.has_rules) {
        errors.extend(schema.break_rules_at(default, &format!("{at}.default")));
    }
    for (name, property) in &schema.properties {
        check_defaults(property, &format!("{at}.properties[{}]", short(name)), errors);
    }
    if let Some(items) = &schema.items {
        check_defaults(items, &format!("{at}.items"), errors);
    }
}

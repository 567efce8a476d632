//! One CEL validation rule: its fields, compilation and message.

use std::sync::Arc;

use machinery_cel::{Env, Program, Type};
use serde_json::{Value, json};

use super::cost::{Costs, beyond, times};
use super::{Known, field_path};
use crate::invalid::{FieldError, Problem};
use crate::json::go_json;
use crate::schema::node::Schema;
use crate::schema::read::{forbidden, not_supported, required, wrong};

/// A compiled rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(super) program: Arc<Program>,
    pub(super) uses_old: bool,
    /// Whether the rule is evaluated without an old value, too.
    pub(super) optional_old: bool,
    /// The message to users, or else the rule's text.
    pub(super) said: String,
    pub(super) message: Option<String>,
    pub(super) message_expression: Option<(String, Arc<Program>)>,
    pub(super) reason: Option<String>,
    /// The path below the validated value: `a.b[c]`.
    pub(super) field_path: Option<String>,
}

/// The context of a rule.
pub(super) struct RuleContext<'a> {
    pub(super) schema: &'a Schema,
    pub(super) env: &'a Env,
    /// The environment in which `oldSelf` is optional.
    pub(super) optional: &'a Env,
    pub(super) known: &'a Known,
    /// The maximum number of values that the rule validates.
    pub(super) cardinality: u64,
    /// The first enclosing path without a correlated old value.
    pub(super) uncorrelated: Option<&'a str>,
}

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Returns the errors of a rule apart from its expressions.
pub(super) fn problems(rule: &Value, schema: &Schema, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let given = |name: &str| text(rule, name);
    let field = |name: &str| format!("{at}.{name}");
    let breaks = |text: &str| text.contains(['\n', '\r']);
    let (message, message_expression, path) =
        (given("message"), given("messageExpression"), given("fieldPath"));
    let (said, text) = (message.trim(), given("rule").trim());
    if text.is_empty() {
        errors.push(required(&field("rule"), "rule is not specified"));
    } else if !message.is_empty() && said.is_empty() {
        errors.push(wrong(&field("message"), message, "must be non-empty if specified"));
    } else if breaks(said) {
        errors.push(wrong(&field("message"), message, "must not contain line breaks"));
    } else if breaks(text) && said.is_empty() {
        errors.push(required(&field("message"), "message must be specified if rule contains line breaks"));
    }
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(required(&field("messageExpression"), detail));
    }
    if let Some(reason) = rule["reason"].as_str().filter(|reason| !REASONS.contains(reason)) {
        errors.push(not_supported(&field("reason"), reason.into(), &REASONS));
    }
    if !path.is_empty() {
        if path.trim().is_empty() {
            errors.push(wrong(&field("fieldPath"), path, "must be non-empty if specified"));
        }
        if breaks(path) {
            errors.push(wrong(&field("fieldPath"), path, "must not contain line breaks"));
        }
        if field_path::normal(path, schema).is_none() {
            errors.push(wrong(&field("fieldPath"), path, "must be a valid path"));
        }
    }
    errors
}

/// Compiles a rule without other errors, and returns the errors of its expressions. `None` if the
/// rule itself does not compile.
pub(super) fn compiled(
    rule: &Value,
    around: &RuleContext<'_>,
    at: &str,
    costs: &mut Costs,
) -> (Option<Rule>, Vec<FieldError>) {
    let (source, message, message_source) =
        (text(rule, "rule"), text(rule, "message"), text(rule, "messageExpression"));
    let optional = rule["optionalOldSelf"].as_bool();
    let env = if optional == Some(true) { around.optional } else { around.env };
    let here = |name: &str| format!("{at}.{name}");
    let refused = |name: &str, detail: String| {
        FieldError::new(here(name), Problem::InvalidAs(as_go_writes_it(rule)), detail)
    };
    let program = match env.compile(source) {
        Err(errors) => return (None, vec![refused("rule", format!("compilation failed: {errors}"))]),
        Ok(program) if *program.result_type() != Type::Bool => {
            return (None, vec![refused("rule", "cel expression must evaluate to a bool".into())]);
        }
        Ok(program) => program,
    };
    let mut errors: Vec<FieldError> =
        around.known.add_states(program.pattern_states(), &here("rule")).into_iter().collect();
    let cost = times(program.estimate().max, around.cardinality);
    errors.extend(beyond("estimated rule cost", cost).map(|detail| forbidden(&here("rule"), &detail)));
    costs.add(&here("rule"), cost);
    let message_expression = match message_source {
        "" => None,
        source => match env.compile(source) {
            Err(why) => {
                errors.push(refused(
                    "messageExpression",
                    format!("messageExpression compilation failed: {why}"),
                ));
                None
            }
            Ok(program) if *program.result_type() != Type::String => {
                errors
                    .push(refused("messageExpression", "messageExpression must evaluate to a string".into()));
                None
            }
            Ok(program) => {
                errors.extend(around.known.add_states(program.pattern_states(), &here("messageExpression")));
                let cost = program.estimate().max;
                let detail = beyond("estimated messageExpression cost", cost);
                errors.extend(detail.map(|detail| forbidden(&here("messageExpression"), &detail)));
                costs.add(&here("messageExpression"), cost);
                Some((source.to_owned(), Arc::new(program)))
            }
        },
    };
    let uses_old = program.uses("oldSelf");
    if let (true, Some(place)) = (uses_old, around.uncorrelated) {
        let detail =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {place}");
        errors.push(wrong(&here("rule"), source, detail));
    }
    if let (false, Some(optional)) = (uses_old, optional) {
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(wrong(&here("optionalOldSelf"), optional, detail));
    }
    let rule = Rule {
        program: Arc::new(program),
        uses_old,
        optional_old: optional == Some(true),
        said: if message.is_empty() { source.trim().into() } else { message.trim().into() },
        message: (!message.is_empty()).then(|| message.trim().to_owned()),
        message_expression,
        reason: rule["reason"].as_str().map(str::to_owned),
        field_path: field_path::normal(text(rule, "fieldPath"), around.schema),
    };
    (Some(rule), errors)
}

fn text<'a>(rule: &'a Value, name: &str) -> &'a str {
    rule[name].as_str().unwrap_or_default()
}

fn as_go_writes_it(rule: &Value) -> String {
    let said = |name: &str| go_json(&text(rule, name).into());
    let or_null = |name: &str| rule.get(name).cloned().unwrap_or(json!(null)).to_string();
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        said("rule"),
        said("message"),
        said("messageExpression"),
        or_null("reason"),
        said("fieldPath"),
        or_null("optionalOldSelf"),
    )
}

//! Evaluation of rules over objects, with the messages of Kubernetes.

use machinery_cel::{Bindings, Budget, RunError, Val};
use serde_json::Value;

use super::Rule;
use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};
use crate::same::same_but;
use crate::schema::correlate::{OldItems, same};
use crate::schema::node::{Additional, JsonType, Schema};
use crate::schema::path::ValuePath;

/// Maximum length of a message from a `messageExpression`.
const LONGEST_MESSAGE: usize = 5 * 1024;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

impl Schema {
    /// Returns the violated rules of an object; and separately those that are tolerated by
    /// ratcheting, as their values are those of `old`. If another error prevents the evaluation of
    /// a rule, that is reported instead.
    pub(crate) fn broken_rules(
        &self,
        object: &Value,
        old: Option<&Value>,
        wrong: &[FieldError],
    ) -> (Vec<FieldError>, Vec<FieldError>) {
        if !self.has_rules {
            return Default::default();
        }
        if wrong.iter().any(blocks) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to \
                          complete validation";
            return (vec![FieldError::new("<nil>", Problem::Invalid(Value::Null), detail)], Vec::new());
        }
        let mut run = RuleEvaluation::default();
        run.value(self, object, old, &Was::root(self, object, old), &ValuePath::start(""));
        (run.errors.into_list(), run.tolerated.into_list())
    }

    /// Returns the rules that a default violates: at the default itself, or else where it is filled
    /// in.
    pub(super) fn break_rules_at(&self, default: &Value, at: &str) -> Vec<FieldError> {
        let broken = |old: Option<&Value>| {
            let mut run = RuleEvaluation::default();
            run.value(self, default, old, &Was::default(), &ValuePath::start(at));
            run.errors.into_list()
        };
        let errors = broken(Some(default));
        if errors.is_empty() { broken(None) } else { errors }
    }
}

fn blocks(error: &FieldError) -> bool {
    use Problem::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    matches!(error.problem, NotSupported(_) | Required | TooLong | TooMany(_) | TypeInvalid(_))
}

/// The old state of a value, for ratcheting.
#[derive(Clone, Copy, Default)]
struct Was<'a> {
    here: Option<(&'a Schema, &'a Value, &'a Value)>,
    /// The enclosing value, where the value itself has no correlated old one.
    around: Option<(&'a Schema, &'a Value, &'a Value)>,
}

impl<'a> Was<'a> {
    fn root(schema: &'a Schema, object: &'a Value, old: Option<&'a Value>) -> Self {
        Self { here: old.map(|old| (schema, object, old)), around: None }
    }

    fn within(self, schema: &'a Schema, value: &'a Value, old: Option<&'a Value>) -> Self {
        match self.here {
            None => self,
            Some(around) => Self { here: old.map(|old| (schema, value, old)), around: Some(around) },
        }
    }

    fn is_same(self) -> bool {
        self.here.or(self.around).is_some_and(|(schema, new, old)| same(schema, new, old))
    }
}

struct RuleEvaluation {
    budget: Budget,
    errors: FieldErrors,
    /// Errors tolerated by ratcheting.
    tolerated: FieldErrors,
    /// Whether evaluation has ended.
    is_over: bool,
}

impl Default for RuleEvaluation {
    fn default() -> Self {
        Self {
            budget: Budget::object(),
            errors: FieldErrors::default(),
            tolerated: FieldErrors::default(),
            is_over: false,
        }
    }
}

impl RuleEvaluation {
    fn value<'a>(
        &mut self,
        schema: &'a Schema,
        value: &'a Value,
        old: Option<&'a Value>,
        was: &Was<'a>,
        path: &ValuePath<'_>,
    ) {
        if self.is_over || !schema.has_rules || value.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        for why in &schema.unenforced {
            let kind = Problem::Invalid(schema.kind.map_or("", JsonType::name).into());
            let error = FieldError::new(at(path, None), kind, why.as_str());
            let is_let_be = was.is_same() || path.is_empty() && same_but_for_metadata(value, old);
            if is_let_be { &mut self.tolerated } else { &mut self.errors }.push(error);
        }
        for rule in &schema.expressions {
            self.rule(rule, schema, value, old, was, path);
            if self.is_over {
                return;
            }
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(Additional::Of(values)) = &schema.additional {
                        self.value(values, field, old, &was.within(values, field, old), &path.key(name));
                    }
                    if let Some(property) = schema.properties.get(name) {
                        self.value(
                            property,
                            field,
                            old,
                            &was.within(property, field, old),
                            &path.field(name),
                        );
                    }
                }
            }
            Value::Array(all) => {
                let Some(items) = &schema.items else { return };
                let before = OldItems::of(schema, old);
                for (i, item) in all.iter().enumerate() {
                    let old = before.like(item);
                    self.value(items, item, old, &was.within(items, item, old), &path.index(i));
                }
            }
            _ => {}
        }
    }

    fn rule(
        &mut self,
        rule: &Rule,
        schema: &Schema,
        value: &Value,
        old: Option<&Value>,
        was: &Was<'_>,
        path: &ValuePath<'_>,
    ) {
        if rule.uses_old && old.is_none() && !rule.optional_old {
            return;
        }
        let bindings = Bindings::new().with("self", value);
        let bindings = match old {
            Some(old) => bindings.with("oldSelf", old),
            None => bindings,
        };
        let kind = || Problem::Invalid(schema.kind.map_or("", JsonType::name).into());
        let said = &rule.said;
        match rule.program.run(&bindings, &mut self.budget) {
            Ok(Val::Bool(true)) => {}
            Ok(_) => {
                let error = self.broken(rule, schema, value, &bindings, path);
                let is_let_be = !rule.uses_old && !path.is_empty() && was.is_same();
                if is_let_be { &mut self.tolerated } else { &mut self.errors }.push(error);
            }
            Err(RunError::BudgetExceeded) => {
                self.stop(FieldError::new(at(path, None), kind(), OUT_OF_BUDGET))
            }
            Err(RunError::CostExceeded) => {
                let why = "operation cancelled: actual cost limit exceeded";
                let detail = format!(
                    "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: {said}"
                );
                self.stop(FieldError::new(at(path, None), kind(), detail));
            }
            Err(why) => {
                let why = why.to_string();
                let detail = if why.starts_with("no such overload") {
                    format!(
                        "'{why}': call arguments did not match a supported operator, function or macro signature for rule: {said}"
                    )
                } else {
                    format!("{why} evaluating rule: {said}")
                };
                self.errors.push(FieldError::new(at(path, None), kind(), detail));
            }
        }
    }

    fn stop(&mut self, error: FieldError) {
        self.errors.push(error);
        self.is_over = true;
    }

    /// Returns the error of a violated rule.
    fn broken(
        &mut self,
        rule: &Rule,
        schema: &Schema,
        value: &Value,
        bindings: &Bindings<'_>,
        path: &ValuePath<'_>,
    ) -> FieldError {
        let at = at(path, rule.field_path.as_deref());
        let made = match self.made_message(rule, bindings) {
            Ok(made) => made,
            Err(detail) => {
                self.is_over = true;
                return FieldError::new(
                    at,
                    Problem::Invalid(schema.kind.map_or("", JsonType::name).into()),
                    detail,
                );
            }
        };
        let detail =
            made.or_else(|| rule.message.clone()).unwrap_or_else(|| format!("failed rule: {}", rule.said));
        let plain = !matches!(schema.kind, Some(JsonType::Object | JsonType::Array));
        let value = plain.then(|| value.clone());
        match rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldError::new(at, Problem::Forbidden, detail),
            Some("FieldValueRequired") => FieldError::new(at, Problem::Required, detail),
            Some("FieldValueDuplicate") => {
                FieldError::new(at, value.map_or(Problem::DuplicateAsItIs, Problem::Duplicate), "")
            }
            _ => FieldError::new(at, value.map_or(Problem::InvalidAsItIs, Problem::Invalid), detail),
        }
    }

    /// Evaluates a `messageExpression`; returns nothing if it yields no usable text. An error ends
    /// the evaluation of all rules.
    fn made_message(&mut self, rule: &Rule, bindings: &Bindings<'_>) -> Result<Option<String>, String> {
        let Some((source, program)) = &rule.message_expression else { return Ok(None) };
        match program.run(bindings, &mut self.budget) {
            Ok(Val::String(text)) => {
                let text = text.as_str().trim();
                let fits = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
                Ok(fits.then(|| text.to_owned()))
            }
            Err(RunError::BudgetExceeded) => {
                Err("messageExpression evaluation failed due to running out of cost budget, no further \
                                                  validation rules will be run"
                    .into())
            }
            Err(RunError::CostExceeded) => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {source:?}"
            )),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

/// Returns whether a whole object is unchanged, apart from its always mutable metadata.
fn same_but_for_metadata(object: &Value, old: Option<&Value>) -> bool {
    let fields = |object: &Value| object.as_object().cloned().unwrap_or_default();
    old.is_some_and(|old| same_but(&["metadata"], &fields(object), &fields(old)))
}

fn at(path: &ValuePath<'_>, below: Option<&str>) -> String {
    let path = path.to_string();
    match (path.trim_start_matches('.'), below) {
        ("", None) => "<nil>".into(),
        ("", Some(below)) => below.into(),
        (path, None) => path.into(),
        (path, Some(below)) => format!("{path}.{below}"),
    }
}

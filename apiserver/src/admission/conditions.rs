//! `matchConditions`: expressions in CEL that say of a request whether a webhook is asked about it.

use std::sync::{Arc, LazyLock};

use machinery_cel::{Bindings, Budget, Declared, Env, Program, Type, Val};
use serde_json::{Value, json};

/// How many a webhook may have.
pub(super) const MOST: usize = 64;

/// All conditions of a webhook.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions(Vec<(String, Arc<Program>)>);

impl Conditions {
    /// Those of a webhook; or why one of them is none.
    pub(super) fn of(webhook: &Value) -> Result<Self, String> {
        let all = webhook["matchConditions"].as_array().into_iter().flatten();
        let one = |condition: &Value| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default();
            Ok((text("name").to_owned(), Arc::new(compiled(text("expression"))?)))
        };
        all.map(one).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all hold of the request of a review. One that does not settles it, also where another one fails.
    pub(super) fn hold(&self, request: &Value) -> Result<bool, String> {
        const NOTHING: &Value = &Value::Null;
        let mut alone = request.clone();
        for field in ["object", "oldObject"] {
            alone.as_object_mut().map(|alone| alone.remove(field));
        }
        let part = |field: &str| request.get(field).unwrap_or(NOTHING);
        let bindings = Bindings::new()
            .with("object", part("object"))
            .with("oldObject", part("oldObject"))
            .with("request", &alone);
        let mut budget = Budget::object();
        let mut failed = None;
        for (name, program) in &self.0 {
            match program.run(&bindings, &mut budget) {
                Ok(Val::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(why) => {
                    failed = failed.or(Some(format!("expression of the condition {name:?} failed: {why}")))
                }
            }
        }
        failed.map_or(Ok(true), Err)
    }
}

/// An expression over `object`, `oldObject` and `request`, which is true or false.
pub(super) fn compiled(expression: &str) -> Result<Program, String> {
    let program = ENV.compile(expression).map_err(|errors| format!("compilation failed: {errors}"))?;
    if *program.result_type() == Type::Bool { Ok(program) } else { Err("must evaluate to bool".into()) }
}

static ENV: LazyLock<Env> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let texts = |names: [&str; 3]| {
        let fields = names.map(|name| (name.to_owned(), text.clone()));
        json!({"type": "object", "properties": serde_json::Map::from_iter(fields)})
    };
    let kind = texts(["group", "version", "kind"]);
    let resource = texts(["group", "version", "resource"]);
    let request = json!({"type": "object", "properties": {
        "uid": text, "kind": kind, "resource": resource, "subResource": text,
        "requestKind": kind, "requestResource": resource, "requestSubResource": text,
        "name": text, "namespace": text, "operation": text, "dryRun": {"type": "boolean"},
        "userInfo": {"type": "object", "properties": {
            "username": text, "uid": text, "groups": {"type": "array", "items": text},
            "extra": {"type": "object", "additionalProperties": {"type": "array", "items": text}},
        }},
        "options": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let request =
        Declared::from_schema(&request, false, "kubernetes.AdmissionRequest").unwrap_or_else(Declared::any);
    Env::new()
        .with("object", Arc::new(Declared::any()))
        .with("oldObject", Arc::new(Declared::any()))
        .with("request", Arc::new(request))
});

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expressions: &[&str], expected: Result<bool, &str>) {
        let conditions: Vec<_> = expressions
            .iter()
            .enumerate()
            .map(|(i, said)| json!({"name": i.to_string(), "expression": said}))
            .collect();
        let conditions = Conditions::of(&json!({"matchConditions": conditions})).unwrap();
        let request = json!({
            "operation": "CREATE", "name": "a", "dryRun": false, "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "userInfo": {"username": "u", "groups": ["g"]}, "object": {"spec": {"n": 3}}, "oldObject": null, "options": {},
        });
        let found = conditions.hold(&request);
        assert_eq!(found.as_ref().map_err(String::as_str).copied(), expected, "{expressions:?}");
    }

    #[test]
    fn conditions_look_at_the_request_and_its_objects() {
        check(&[], Ok(true));
        check(&["object.spec.n == 3", "oldObject == null", "request.operation == 'CREATE'"], Ok(true));
        check(&["'g' in request.userInfo.groups", "request.kind.kind == 'Pod'", "!request.dryRun"], Ok(true));
        check(&["!(request.userInfo.username.startsWith('system:'))", "object.spec.n > 5"], Ok(false));
    }

    #[test]
    fn one_that_fails_is_told_unless_another_settles_it() {
        check(&["object.spec.m == 3"], Err("expression of the condition \"0\" failed: no such key: m"));
        check(&["object.spec.m == 3", "false"], Ok(false));
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for (expression, said) in [
            ("1", "must evaluate to bool"),
            ("object.", "compilation failed"),
            ("request.nothing == ''", "undefined field 'nothing'"),
            (
                "authorizer.group('').resource('pods').check('get').allowed()",
                "undeclared reference to 'authorizer'",
            ),
        ] {
            let refused = compiled(expression).err().unwrap();
            assert!(refused.contains(said), "{expression}: {refused}");
        }
    }
}

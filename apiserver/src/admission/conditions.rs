//! `matchConditions`: CEL expressions that decide whether a request matches a webhook.

use std::sync::{Arc, LazyLock};

use machinery_cel::{
    Authorizer, Bindings, Budget, DeclaredType, Env, Program, ResourceAttributes, RunError, Type, Val,
};
use serde_json::{Value, json};

/// Limit per webhook, as in Kubernetes.
pub(super) const MOST: usize = 64;

const AUTHORIZER: &str = "authorizer";
const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// The match conditions of a webhook.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions(Vec<(String, Arc<Program>)>);

/// The authorizer of conditions and its default resource.
pub(super) struct ConditionAuthorizer {
    pub(super) authorizer: Arc<dyn Authorizer>,
    pub(super) resource: ResourceAttributes,
}

impl Conditions {
    /// Compiles the conditions of a webhook.
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

    /// Returns whether a condition uses an authorizer.
    pub(super) fn use_authorizer(&self) -> bool {
        self.0.iter().any(|(_, program)| program.uses(AUTHORIZER) || program.uses(REQUEST_RESOURCE))
    }

    /// Returns whether all conditions hold for a request. A false condition decides even if another
    /// one fails, but not if the cost budget is exceeded.
    pub(super) fn hold(
        &self,
        request: &Value,
        default: Option<&ConditionAuthorizer>,
    ) -> Result<bool, String> {
        const NOTHING: &Value = &Value::Null;
        let mut alone = request.clone();
        for field in ["object", "oldObject"] {
            alone.as_object_mut().map(|alone| alone.remove(field));
        }
        let part = |field: &str| request.get(field).unwrap_or(NOTHING);
        let mut bindings = Bindings::new()
            .with("object", part("object"))
            .with("oldObject", part("oldObject"))
            .with("request", &alone);
        if let Some(ConditionAuthorizer { authorizer, resource }) = default {
            bindings = bindings.with_authorizer(AUTHORIZER, authorizer).with_resource(
                REQUEST_RESOURCE,
                authorizer,
                resource.clone(),
            );
        }
        let mut budget = Budget::conditions();
        let (mut holds, mut failed) = (true, None);
        for (name, program) in &self.0 {
            match program.run(&bindings, &mut budget) {
                Ok(Val::Bool(true)) => {}
                Ok(_) => holds = false,
                Err(why) => {
                    let said = format!("expression of the condition {name:?} failed: {why}");
                    if why == RunError::BudgetExceeded {
                        return Err(said);
                    }
                    failed = failed.or(Some(said));
                }
            }
        }
        if holds { failed.map_or(Ok(true), Err) } else { Ok(false) }
    }
}

/// Compiles a boolean expression over `object`, `oldObject`, `request` and `authorizer`.
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
    let request = DeclaredType::from_schema(&request, false, "kubernetes.AdmissionRequest")
        .unwrap_or_else(DeclaredType::any);
    Env::new()
        .with("object", Arc::new(DeclaredType::any()))
        .with("oldObject", Arc::new(DeclaredType::any()))
        .with("request", Arc::new(request))
        .with(AUTHORIZER, Arc::new(DeclaredType::authorizer()))
        .with(REQUEST_RESOURCE, Arc::new(DeclaredType::resource_check()))
});

#[cfg(test)]
mod tests {
    use machinery_cel::{AccessCheck, Decision};

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
        let authorizer = conditions.use_authorizer().then(|| {
            let resource = ResourceAttributes {
                resource: "pods".into(),
                namespace: "n".into(),
                ..ResourceAttributes::default()
            };
            ConditionAuthorizer { authorizer: Arc::new(Gets), resource }
        });
        let found = conditions.hold(&request, authorizer.as_ref());
        assert_eq!(found.as_ref().map_err(String::as_str).copied(), expected, "{expressions:?}");
    }

    /// Allows every `get`.
    struct Gets;

    impl Authorizer for Gets {
        fn decide(&self, check: &AccessCheck) -> Decision {
            Decision { allowed: check.verb == "get", ..Decision::default() }
        }
    }

    #[test]
    fn conditions_use_the_authorizer() {
        check(&["authorizer.requestResource.check('get').allowed()"], Ok(true));
        check(&["authorizer.path('/a').check('post').allowed()"], Ok(false));
        check(
            &["authorizer.group('').resource('').check('get').allowed()"],
            Err("expression of the condition \"0\" failed: resource must not be empty"),
        );
    }

    #[test]
    fn conditions_share_a_cost_budget() {
        let two =
            "authorizer.path('/a').check('get').allowed() && authorizer.path('/b').check('get').allowed()";
        check(&[two, two, two], Ok(true));
        check(
            &["false", two, two, two, two],
            Err(
                "expression of the condition \"4\" failed: validation failed due to running out of cost budget, no further validation \
             rules will be run",
            ),
        );
    }

    #[test]
    fn conditions_read_the_request_and_its_objects() {
        check(&[], Ok(true));
        check(&["object.spec.n == 3", "oldObject == null", "request.operation == 'CREATE'"], Ok(true));
        check(&["'g' in request.userInfo.groups", "request.kind.kind == 'Pod'", "!request.dryRun"], Ok(true));
        check(&["!(request.userInfo.username.startsWith('system:'))", "object.spec.n > 5"], Ok(false));
    }

    #[test]
    fn a_false_condition_overrides_a_failing_one() {
        check(&["object.spec.m == 3"], Err("expression of the condition \"0\" failed: no such key: m"));
        check(&["object.spec.m == 3", "false"], Ok(false));
    }

    #[test]
    fn invalid_conditions_are_refused() {
        for (expression, said) in [
            ("1", "must evaluate to bool"),
            ("object.", "compilation failed"),
            ("request.nothing == ''", "undefined field 'nothing'"),
            ("authorizer.group('').check('get').allowed()", "found no matching overload for 'check'"),
            ("authorizer.nothing", "unexpected failed resolution"),
        ] {
            let refused = compiled(expression).err().unwrap();
            assert!(refused.contains(said), "{expression}: {refused}");
        }
    }
}

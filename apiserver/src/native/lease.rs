//! Leases: their validation, and fields of a feature that is off.

use serde_json::Value;

use crate::invalid::{FieldError, Problem};
use crate::kind::{KindHooks, Subresource};

pub(super) struct Leases;

/// Fields of coordinated leader election, which is off by default in Kubernetes.
const COORDINATED: [&str; 2] = ["strategy", "preferredHolder"];

impl KindHooks for Leases {
    fn creating(&self, new: &mut Value) {
        drop_fields(new, |_| true);
    }

    fn updating(&self, new: &mut Value, old: &Value, _: Subresource) {
        drop_fields(new, |field| old["spec"].get(field).is_none());
    }

    fn validate(&self, new: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let least = |field: &str, least: i64, detail: &str| {
            let number = new["spec"][field].as_i64().filter(|number| *number < least)?;
            Some(FieldError::new(format!("spec.{field}"), Problem::Invalid(number.into()), detail))
        };
        let errors = [
            least("leaseDurationSeconds", 1, "must be greater than 0"),
            least("leaseTransitions", 0, "must be greater than or equal to 0"),
        ];
        errors.into_iter().flatten().collect()
    }
}

fn drop_fields(lease: &mut Value, is_dropped: impl Fn(&str) -> bool) {
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|field, _| !COORDINATED.contains(&field.as_str()) || !is_dropped(field));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_positive_and_transitions_are_not_negative() {
        let check = |spec: Value, expected: &[&str]| {
            let errors = Leases.validate(&json!({"spec": spec}), None);
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        };
        check(json!({}), &[]);
        check(json!({"leaseDurationSeconds": 1, "leaseTransitions": 0}), &[]);
        check(
            json!({"leaseDurationSeconds": 0, "leaseTransitions": -1}),
            &[
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
            ],
        );
    }

    #[test]
    fn fields_of_coordinated_election_are_dropped() {
        let mut lease = json!({"spec": {"strategy": "a", "preferredHolder": "b", "holderIdentity": "c"}});
        Leases.creating(&mut lease);
        assert_eq!(lease, json!({"spec": {"holderIdentity": "c"}}));
        let old = json!({"spec": {"strategy": "a"}});
        let mut new = json!({"spec": {"strategy": "b", "preferredHolder": "b"}});
        Leases.updating(&mut new, &old, Subresource::Main);
        assert_eq!(new, json!({"spec": {"strategy": "b"}}));
    }
}

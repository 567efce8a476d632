//! Roles and bindings: their differences from most kinds.

use serde_json::Value;

use crate::auth::rbac::validate;
use crate::invalid::FieldError;
use crate::kind::KindHooks;

pub(super) struct Rules;

impl KindHooks for Rules {
    fn default(&self, object: &mut Value) {
        validate::fill_in(object);
    }

    fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::validate(new, old)
    }
}

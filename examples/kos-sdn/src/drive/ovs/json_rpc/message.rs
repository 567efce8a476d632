//! The messages of JSON-RPC 1.0.

use serde_json::{Value, json};

use super::error::RpcError;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum RpcMessage {
    /// A call, which needs a reply.
    Request {
        /// Identifies the reply.
        id: Value,
        /// Name of the method.
        method: String,
        /// Parameters.
        params: Vec<Value>,
    },
    /// A call without reply.
    Notification {
        /// Name of the method.
        method: String,
        /// Parameters.
        params: Vec<Value>,
    },
    /// The reply to a request.
    Reply {
        /// The `id` of the request.
        id: Value,
        /// The result or the error.
        result: Result<Value, Value>,
    },
}

impl RpcMessage {
    /// Makes a request.
    pub fn request(id: u64, method: impl Into<String>, params: Vec<Value>) -> Self {
        Self::Request { id: json!(id), method: method.into(), params }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The object is no message.
    pub fn from_json(json: Value) -> Result<Self, RpcError> {
        let malformed = |reason: &str| RpcError::Malformed { reason: reason.to_owned() };
        let Value::Object(mut members) = json else { return Err(malformed("a message is no object")) };
        let answers = members.contains_key("result") || members.contains_key("error");
        let mut take = |name: &str| members.remove(name).unwrap_or_default();
        let id = take("id");
        match take("method") {
            Value::Null => {}
            Value::String(method) => {
                let Value::Array(params) = take("params") else {
                    return Err(malformed("params is no array"));
                };
                return Ok(match id {
                    Value::Null => Self::Notification { method, params },
                    id => Self::Request { id, method, params },
                });
            }
            _ => return Err(malformed("method is no string")),
        }
        match (id, take("result"), take("error")) {
            (Value::Null, ..) => Err(malformed("a reply has no id")),
            _ if !answers => Err(malformed("a message has neither method nor result")),
            (id, result, Value::Null) => Ok(Self::Reply { id, result: Ok(result) }),
            (id, Value::Null, error) => Ok(Self::Reply { id, result: Err(error) }),
            _ => Err(malformed("a reply has a result and an error")),
        }
    }

    /// Returns the JSON of the message.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Request { id, method, params } => json!({"id": id, "method": method, "params": params}),
            Self::Notification { method, params } => json!({"id": null, "method": method, "params": params}),
            Self::Reply { id, result: Ok(result) } => json!({"id": id, "result": result, "error": null}),
            Self::Reply { id, result: Err(error) } => json!({"id": id, "result": null, "error": error}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for message in [
            RpcMessage::request(7, "transact", vec![json!("x")]),
            RpcMessage::Notification { method: "update3".to_owned(), params: vec![] },
            RpcMessage::Reply { id: json!("echo"), result: Ok(json!([])) },
            RpcMessage::Reply { id: json!(1), result: Err(json!("unknown method")) },
        ] {
            assert_eq!(RpcMessage::from_json(message.to_json()).unwrap(), message);
        }
    }

    #[test]
    fn malformed_messages_are_rejected() {
        for json in [
            json!([]),
            json!({}),
            json!({"id": 1, "method": 2, "params": []}),
            json!({"id": 1, "method": "x"}),
            json!({"id": 1}),
            json!({"id": null, "result": 1, "error": null}),
            json!({"id": 1, "result": 1, "error": 2}),
        ] {
            let result = RpcMessage::from_json(json.clone());
            assert!(matches!(result, Err(RpcError::Malformed { .. })), "{json}: {result:?}");
        }
    }
}

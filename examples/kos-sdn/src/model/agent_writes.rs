//! Limits of the writes of node agents: each writes only attachments and probes of its own node.
//!
//! RBAC has no rule that compares a user with a field of an object. Our server enforces these rules
//! by [`AgentWrites`], other clusters by [`agent_policy`](super::agent_policy).

use async_trait::async_trait;
use machinery::apiserver::{Admission, Attributes, Denied, Identity, Operation};
use serde::Deserialize as _;
use serde_json::Value;

use super::AttachmentStatus;
use super::definition::GROUP;
use super::roles::AGENTS;

/// Prefix of the users of node agents; the rest is the name of the node.
pub(super) const AGENT_PREFIX: &str = "kos-agent:";

/// Returns the user of a node's agent.
#[must_use]
pub fn agent_of(node: &str) -> String {
    format!("{AGENT_PREFIX}{node}")
}

/// Returns the identity of a node's agent: its user in the group of the agents.
#[must_use]
pub fn agent_identity(node: &str) -> Identity {
    Identity::new(agent_of(node)).in_group(AGENTS)
}

/// Denies writes of a node agent to objects of other nodes.
///
/// A user is a node agent by its name, `kos-agent:NODE`, or its group, `kos-agents`. It updates
/// attachments and probes with its node in `spec.node`, and deletes the finished ones of these
/// probes. It never changes a spec or the address of an attachment, and creates nothing. Writes of
/// other users and of other API groups pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentWrites;

#[async_trait]
impl Admission for AgentWrites {
    async fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Denied> {
        let Attributes { user, operation, group, resource, object, old, .. } = *attributes;
        if group != GROUP || !is_agent(user) {
            return Ok(());
        }
        let write = AgentWrite { node: node_of(user), operation, resource, old, new: object };
        write.refusal().map_or(Ok(()), |reason| Err(Denied::new(reason)))
    }
}

/// A write of an object of this API group by a node agent.
struct AgentWrite<'a> {
    /// The node of the agent; `None` for a member of the group without a name of an agent.
    node: Option<&'a str>,
    operation: Operation,
    resource: &'a str,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
}

impl AgentWrite<'_> {
    /// Returns the reason to deny the write, if there is one.
    fn refusal(&self) -> Option<String> {
        let Some(node) = self.node else {
            return Some(format!("an agent writes as the user {AGENT_PREFIX}NODE"));
        };
        let Some(old) = self.old else { return Some("an agent creates nothing in this group".into()) };
        let is_attachment = self.resource == "networkattachments";
        if !is_attachment && self.resource != "probes" {
            return Some("an agent writes attachments and probes only".into());
        }
        if old["spec"]["node"] != node {
            return Some(format!("its node is {}, and this agent is of {node}", old["spec"]["node"]));
        }
        match self.operation {
            Operation::Create => Some("an agent creates nothing in this group".into()),
            Operation::Delete if !is_attachment && old["status"]["finished"] == true => None,
            Operation::Delete => Some("an agent deletes finished probes only".into()),
            Operation::Update => {
                let new = self.new.unwrap_or(&Value::Null);
                if new["spec"] != old["spec"] {
                    return Some("an agent does not change a spec".into());
                }
                let keeps_address = !is_attachment || same_address(&new["status"], &old["status"]);
                (!keeps_address).then(|| "an agent does not change the address of an attachment".into())
            }
        }
    }
}

/// Returns true if two statuses of an attachment have the same address section. A malformed one
/// equals none.
fn same_address(one: &Value, other: &Value) -> bool {
    let read = |status: &Value| match status {
        Value::Null => Some(AttachmentStatus::default()),
        status => AttachmentStatus::deserialize(status).ok(),
    };
    matches!((read(one), read(other)), (Some(one), Some(other)) if address(&one) == address(&other))
}

fn address(status: &AttachmentStatus) -> impl PartialEq {
    let AttachmentStatus { lock_uid, address_vni, ipv4, prefix_length, address_contention, .. } = status;
    let place = (lock_uid, address_vni, ipv4, prefix_length);
    (place, address_contention, &status.subnet_creation_time, &status.errors.ipam)
}

fn is_agent(user: &Identity) -> bool {
    user.is_in(AGENTS) || user.user.starts_with(AGENT_PREFIX)
}

fn node_of(user: &Identity) -> Option<&str> {
    user.user.strip_prefix(AGENT_PREFIX).filter(|node| !node.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(node: &str, status: &Value) -> Value {
        json!({"spec": {"node": node}, "status": status})
    }

    #[test]
    fn agent_writes_its_own_node_only() {
        let old = object("a", &json!({"ipv4": "10.0.0.2", "addressVNI": 1}));
        let reported =
            json!({"ipv4": "10.0.0.2", "addressVNI": 1, "ifcName": "kos0", "errors": {"host": ["x"]}});
        let moved = json!({"ipv4": "10.0.0.3", "addressVNI": 1});
        let finished = json!({"finished": true});
        let update = |old: &Value, new: &Value| (Operation::Update, Some(old.clone()), Some(new.clone()));
        let delete = |old: &Value| (Operation::Delete, Some(old.clone()), None);
        let create = (Operation::Create, None, Some(old.clone()));
        for (resource, (operation, old, new), expected) in [
            ("networkattachments", update(&old, &object("a", &reported)), None),
            ("networkattachments", update(&old, &object("a", &moved)), Some("the address")),
            ("networkattachments", update(&old, &object("b", &reported)), Some("a spec")),
            (
                "networkattachments",
                update(&object("b", &reported), &object("b", &moved)),
                Some("its node is \"b\""),
            ),
            ("networkattachments", create.clone(), Some("creates nothing")),
            ("networkattachments", delete(&object("a", &finished)), Some("finished probes")),
            ("probes", update(&object("a", &Value::Null), &object("a", &finished)), None),
            (
                "probes",
                update(&object("b", &Value::Null), &object("b", &finished)),
                Some("its node is \"b\""),
            ),
            ("probes", create, Some("creates nothing")),
            ("probes", delete(&object("a", &finished)), None),
            ("probes", delete(&object("a", &Value::Null)), Some("finished probes")),
            ("probes", delete(&object("b", &finished)), Some("its node is \"b\"")),
            (
                "iplocks",
                update(&object("a", &Value::Null), &object("a", &Value::Null)),
                Some("attachments and"),
            ),
        ] {
            let write =
                AgentWrite { node: Some("a"), operation, resource, old: old.as_ref(), new: new.as_ref() };
            let found = write.refusal();
            let is_expected = match expected {
                None => found.is_none(),
                Some(text) => found.as_ref().is_some_and(|found| found.contains(text)),
            };
            assert!(is_expected, "{resource} {operation:?} {old:?} {new:?}: {found:?}");
        }
    }

    #[test]
    fn agents_are_known_by_name_or_group() {
        assert_eq!(node_of(&agent_identity("n")), Some("n"));
        for (user, expected) in [
            (agent_identity("n"), true),
            (Identity::new("kos-agent:n"), true),
            (Identity::new("x").in_group(AGENTS), true),
            (Identity::new("kos-agents"), false),
            (Identity::admin(), false),
        ] {
            assert_eq!(is_agent(&user), expected, "{user:?}");
        }
        assert_eq!(node_of(&Identity::new("kos-agent:")), None);
    }
}

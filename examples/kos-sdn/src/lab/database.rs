//! The database of a host's Open vSwitch.

use serde_json::json;

use super::requirements::SCHEMA;
use super::{LabError, LabHost, tools};

/// Creates the database, with a bridge `underlay` that has the host's address and `eth0`. The
/// bridge runs in user space, so that no kernel module is needed.
pub(super) async fn create(id: &str, host: &LabHost) -> Result<(), LabError> {
    let path = host.file("conf.db");
    let path = path.to_string_lossy();
    tools::run(id, "ovsdb-tool", &["create", &path, SCHEMA], "").await?;
    let interface = |name: &str, kind: &str, uuid: &str| {
        let row = json!({ "name": name, "type": kind });
        json!({ "op": "insert", "table": "Interface", "row": row, "uuid-name": uuid })
    };
    let port = |name: &str, interface: &str, uuid: &str| {
        let row = json!({ "name": name, "interfaces": ["named-uuid", interface] });
        json!({ "op": "insert", "table": "Port", "row": row, "uuid-name": uuid })
    };
    let ports = json!(["set", [["named-uuid", "port0"], ["named-uuid", "port1"]]]);
    let bridge = json!({ "name": "underlay", "datapath_type": "netdev", "ports": ports });
    let transaction = json!([
        "Open_vSwitch",
        interface("underlay", "internal", "interface0"),
        interface("eth0", "", "interface1"),
        port("underlay", "interface0", "port0"),
        port("eth0", "interface1", "port1"),
        { "op": "insert", "table": "Bridge", "row": bridge, "uuid-name": "bridge0" },
        { "op": "insert", "table": "Open_vSwitch", "row": { "bridges": ["named-uuid", "bridge0"] } },
    ]);
    let transaction = transaction.to_string();
    let answer = tools::run(id, "ovsdb-tool", &["transact", &path, &transaction], "").await?;
    match answer.contains("\"error\"") {
        true => Err(LabError::Tool { command: "ovsdb-tool transact".into(), output: answer }),
        false => Ok(()),
    }
}

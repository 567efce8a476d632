//! Rows of the database as `ovs-vsctl` shows them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::hosts::Host;

/// A row by column.
pub(super) struct Row(BTreeMap<String, Value>);

impl Row {
    /// Returns a value as text: atoms as they are, maps and sets as Rust shows them.
    pub(super) fn text(&self, column: &str) -> Option<String> {
        let of = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = self.0.get(column)?;
        let Some([kind, elements]) = value.as_array().map(Vec::as_slice) else { return Some(of(value)) };
        let elements = elements.as_array()?;
        match kind.as_str()? {
            "map" => {
                let pairs = elements.iter().map(|pair| (of(&pair[0]), of(&pair[1])));
                Some(format!("{:?}", pairs.collect::<BTreeMap<_, _>>()))
            }
            _ => Some(elements.iter().map(of).collect::<Vec<_>>().join(" ")),
        }
    }

    /// Returns the columns that are configuration: the switch writes the others.
    pub(super) fn configuration(&self) -> BTreeMap<&str, String> {
        let is_state = |column: &str| STATE.contains(&column);
        let columns = self.0.keys().filter(|column| !is_state(column));
        columns.map(|column| (&**column, self.text(column).unwrap_or_default())).collect()
    }
}

/// Columns that ovs-vswitchd writes.
const STATE: [&str; 20] = [
    "_uuid",
    "admin_state",
    "bond_active_slave",
    "cfm_fault",
    "duplex",
    "error",
    "ifindex",
    "link_resets",
    "link_speed",
    "link_state",
    "mac_in_use",
    "mtu",
    "ofport",
    "rstp_statistics",
    "rstp_status",
    "statistics",
    "status",
    "datapath_id",
    "datapath_version",
    "rstp_port_statistics",
];

/// Reads a table of a host's database.
pub(super) fn table(host: &Host, name: &str) -> Result<Vec<Row>, String> {
    let text = host.daemons.try_vsctl(&format!("--format=json list {name}"))?;
    let table: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    let columns: Vec<_> =
        table["headings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let rows = table["data"].as_array().unwrap().iter().map(|row| {
        let values = row.as_array().unwrap().iter().cloned();
        Row(columns.iter().map(|column| (*column).to_owned()).zip(values).collect())
    });
    Ok(rows.collect())
}

//! A guard: an invariant over several objects, checked in the transaction of each write.
//! `cargo run -p machinery-apiserver --example guard`
//!
//! Two ranges of one network must not overlap. A webhook would admit both of two concurrent
//! creates: each review runs before the other object is stored.

use std::error::Error;
use std::sync::Arc;

use kube::CustomResource;
use machinery_apiserver::{ApiServer, Identity, KindOf};
use machinery_objects::{Conflict, InvalidField, WriteError, Writer};
use machinery_store::{Memory, Options};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The addresses `from` to `to` of one network.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Range", namespaced)]
pub struct RangeSpec {
    network: String,
    from: u32,
    to: u32,
}

fn range(name: &str, network: &str, from: u32, to: u32) -> Range {
    let mut range = Range::new(name, RangeSpec { network: network.into(), from, to });
    range.metadata.namespace = Some("default".into());
    range
}

/// Returns the violations of a range, given the others of its network.
fn overlaps(range: &Range, others: &[Arc<Range>]) -> Vec<InvalidField> {
    let overlaps = |other: &&Arc<Range>| range.spec.from <= other.spec.to && other.spec.from <= range.spec.to;
    let wrong = |other: &Arc<Range>| {
        let name = other.metadata.name.as_deref().unwrap_or_default();
        InvalidField { field: "spec.from".into(), reason: format!("overlaps with {name}") }
    };
    others.iter().find(overlaps).map(wrong).into_iter().collect()
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let network = |range: &Range| [format!("network/{}", range.spec.network)];
    let ranges = KindOf::<Range>::new().guard("disjoint", network, overlaps);
    let server = ApiServer::builder(Memory::new(Options::default())).kind(ranges).start().await?;
    let ranges = server.handle::<Range>(Identity::admin());

    ranges.create(&range("a", "blue", 0, 99), None).await?;
    ranges.create(&range("b", "red", 50, 60), None).await?; // of another network

    // Of concurrent creates that overlap, one is stored.
    let (c, d) = (range("c", "blue", 100, 199), range("d", "blue", 150, 249));
    let (one, other) = tokio::join!(ranges.create(&c, None), ranges.create(&d, None));
    assert_eq!(u8::from(one.is_ok()) + u8::from(other.is_ok()), 1);
    let refused = one.err().or(other.err()).ok_or("one is refused")?;
    assert!(matches!(refused, WriteError::Conflict(Conflict::Guard { .. })), "{refused}");
    println!("{refused}");

    server.stop().await;
    Ok(())
}

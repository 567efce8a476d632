//! Times at which nodes learned of attachments, compared with the server's timestamps.

use super::plan::node;
use crate::measure::{Figures, count};
use kos::model::{NetworkAttachment, Section};
use kos::plan::RemoteInterface;
use machinery::Plane;
use machinery::objects::Filter;
use machinery_sync::Mutex;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Default)]
pub(super) struct AttachmentLog {
    remotes: Mutex<Vec<KnownAttachment>>,
    locals: AtomicUsize,
}

/// A node learned of an address.
struct KnownAttachment {
    node: u32,
    vni: u32,
    address: Ipv4Addr,
    at_us: i64,
}

impl AttachmentLog {
    pub(super) fn remote(&self, node: u32, of: &RemoteInterface) {
        let known = KnownAttachment { node, vni: of.vni.number(), address: of.address, at_us: now_us() };
        self.remotes.lock().push(known);
    }

    pub(super) fn local(&self) {
        self.locals.fetch_add(1, Relaxed);
    }

    /// Returns the number of remote and of local interfaces created.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.remotes.lock().len(), self.locals.load(Relaxed))
    }
}

fn now_us() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

/// The server's timestamps of an attachment.
struct ServerTimes {
    node: String,
    made: i64,
    addressed: i64,
    implemented: i64,
}

pub(super) async fn report(plane: &Plane, noted: &AttachmentLog) -> machinery::Result<Figures> {
    let attachments = plane.objects::<NetworkAttachment>()?.list(&Filter::default()).await?;
    let mut times = BTreeMap::new();
    let mut first = BTreeMap::new();
    for attachment in &attachments {
        let written =
            |section| attachment.extended_metadata.written(section).map(|time| time.as_microsecond());
        let all = written(Section::Spec).zip(written(Section::Address)).zip(written(Section::Implementation));
        let Some(((made, addressed), implemented)) = all else {
            return Err(format!("{:?} is not wholly there", attachment.metadata.name).into());
        };
        let (vni, node) = (attachment.status.address_vni, attachment.spec.node.clone());
        let address: Ipv4Addr = attachment.status.ipv4.parse()?;
        let earliest: &mut i64 = first.entry((vni, node.clone())).or_insert(made);
        *earliest = made.min(*earliest);
        times.insert((vni, address), ServerTimes { node, made, addressed, implemented });
    }
    let (mut known, mut from_implemented, mut irrelevant) = (Vec::new(), Vec::new(), 0_usize);
    let mut last = 0;
    for one in &*noted.remotes.lock() {
        let here = node(usize::try_from(one.node)?);
        let relevant = first.get(&(one.vni, here.clone()));
        let (Some(there), Some(relevant)) =
            (times.get(&(one.vni, one.address)).filter(|there| there.node != here), relevant)
        else {
            irrelevant += 1;
            continue;
        };
        // From the later of the client's two relevant writes.
        known.push(one.at_us - there.made.max(*relevant));
        if there.implemented >= *relevant {
            from_implemented.push(one.at_us - there.implemented);
        }
        last = last.max(one.at_us);
    }
    let begun = times.values().map(|times| times.made).min().unwrap_or_default();
    let addressed: Vec<i64> = times.values().map(|times| times.addressed - times.made).collect();
    let implemented: Vec<i64> = times.values().map(|times| times.implemented - times.made).collect();
    let mut figures = Figures::default()
        .with("irrelevant", count(irrelevant))
        .with("per_second", count(times.len()) * 1e6 / number(last - begun));
    let all = [
        ("addressed", addressed),
        ("implemented", implemented),
        ("known", known),
        ("heard", from_implemented),
    ];
    for (name, mut samples) in all {
        samples.sort_unstable();
        for (percent, rank) in [(50, 0.5), (90, 0.9), (99, 0.99)] {
            figures = figures.with(&format!("{name}_p{percent}_ms"), ranked(&samples, rank) / 1e3);
        }
    }
    Ok(figures)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank among few millions")]
fn ranked(sorted: &[i64], rank: f64) -> f64 {
    let at = (count(sorted.len()) * rank) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(f64::NAN, |us| number(*us))
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of some hours")]
fn number(us: i64) -> f64 {
    us as f64
}

//! `kos trace`: why frames get from one attachment to another, or do not.

use std::process::ExitCode;
use std::time::Duration;

use machinery::objects::ObjectKey;

use super::cluster::Cluster;
use crate::model::{IPLock, NetworkAttachment, Subnet};
use crate::plan::{Checked, Happened, checks, seconds, story};
use crate::probe::Asks;

/// Why it works or not, step by step: what the objects say and how they came about, then which flows decide at each node.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: Cluster,
    /// So many seconds each agent has to answer
    #[arg(long, value_name = "S", default_value_t = 10)]
    wait: u64,
    /// From: NAMESPACE/NAME
    from: ObjectKey,
    /// To: NAMESPACE/NAME
    to: ObjectKey,
}

pub(super) async fn run(arguments: Arguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let traced = trace(&arguments, &plane).await;
    plane.stop().await;
    traced
}

async fn trace(arguments: &Arguments, plane: &machinery::Plane) -> machinery::Result<ExitCode> {
    let Arguments { from, to, wait, .. } = arguments;
    let (attachments, subnets) = (plane.objects::<NetworkAttachment>()?, plane.objects::<Subnet>()?);
    let (locks, asks) = (plane.objects::<IPLock>()?, Asks::new(plane, Duration::from_secs(*wait))?);
    asks.synced().await?;
    subnets.informer().synced().await?;
    locks.informer().synced().await?;
    let mut is_well = true;
    let (mut tell, mut found) = (|checked: Checked| is_well &= tell(&checked), Vec::new());
    for key in [from, to] {
        let attachment = attachments.get(key);
        let subnet = attachment
            .as_ref()
            .and_then(|one| subnets.get(&ObjectKey::new(key.namespace(), &one.spec.subnet).ok()?));
        let lock = attachment.as_ref().and_then(|one| {
            let locks = locks.read();
            locks
                .iter()
                .map(|(_, lock)| lock.clone())
                .find(|lock| lock.metadata.uid.as_deref() == Some(&one.status.lock_uid))
        });
        println!("{key}");
        checks(attachment.as_deref(), subnet.as_deref(), lock.as_deref()).into_iter().for_each(&mut tell);
        if let Some(attachment) = &attachment {
            println!("  how it came about");
            tell_story(&story(attachment, subnet.as_deref(), lock.as_deref()));
        }
        found.extend(attachment);
    }
    let [from, to] = &found[..] else { return Ok(ExitCode::FAILURE) };
    println!("both");
    let (a, b) = (from.status.address_vni, to.status.address_vni);
    tell(Checked { is_so: a == b, what: format!("in one network: {a} and {b}") });
    if !is_well {
        return Ok(ExitCode::FAILURE);
    }
    for (node, steps) in asks.trace(from, to).await? {
        println!("{node}");
        steps.iter().for_each(|step| println!("  {step}"));
    }
    let pinged = asks.ping(from, to, 1).await?;
    let is_answered = !pinged.round_trips.is_empty();
    println!(
        "a ping {}",
        if is_answered { "is answered".into() } else { format!("is not answered: {}", pinged.error) }
    );
    Ok(if is_answered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What happened, from the first on.
fn tell_story(story: &[Happened]) {
    let Some(first) = story.first() else {
        println!("    this server does not note when what was written");
        return;
    };
    for Happened { at, what, after } in story {
        let since = seconds(first.at, *at);
        let after = after.map(|(cause, took)| format!(", {:.1} ms after {cause}", took * 1e3));
        println!("    {since:>10.4} s  {what}{}", after.unwrap_or_default());
    }
}

fn tell(checked: &Checked) -> bool {
    println!("  {} {}", if checked.is_so { "ok  " } else { "FAIL" }, checked.what);
    checked.is_so
}

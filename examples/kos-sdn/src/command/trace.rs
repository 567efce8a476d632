//! `kos trace`: the path of frames between two attachments.

use std::process::ExitCode;
use std::time::Duration;

use machinery::objects::ObjectKey;

use super::cluster::ClusterArguments;
use crate::model::{IPLock, NetworkAttachment, Subnet};
use crate::plan::{CheckResult, TimelineEvent, checks, seconds, timeline};
use crate::probe::Prober;

/// Explain why frames reach an attachment or not: state and history of the objects, then the flows
/// on each node
#[derive(Debug, clap::Args)]
pub(super) struct TraceArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Seconds to wait for each agent
    #[arg(long, value_name = "S", default_value_t = 10)]
    wait: u64,
    /// From: NAMESPACE/NAME
    from: ObjectKey,
    /// To: NAMESPACE/NAME
    to: ObjectKey,
}

pub(super) async fn run(arguments: TraceArguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let traced = trace(&arguments, &plane).await;
    plane.stop().await;
    traced
}

async fn trace(arguments: &TraceArguments, plane: &machinery::Plane) -> machinery::Result<ExitCode> {
    let TraceArguments { from, to, wait, .. } = arguments;
    let (attachments, subnets) = (plane.objects::<NetworkAttachment>()?, plane.objects::<Subnet>()?);
    let (locks, prober) = (plane.objects::<IPLock>()?, Prober::new(plane, Duration::from_secs(*wait))?);
    prober.synced().await?;
    subnets.informer().synced().await?;
    locks.informer().synced().await?;
    let mut is_well = true;
    let (mut note, mut found) = (|checked: CheckResult| is_well &= print_check(&checked), Vec::new());
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
        checks(attachment.as_deref(), subnet.as_deref(), lock.as_deref()).into_iter().for_each(&mut note);
        if let Some(attachment) = &attachment {
            println!("  timeline");
            print_timeline(&timeline(attachment, subnet.as_deref(), lock.as_deref()));
        }
        found.extend(attachment);
    }
    let [from, to] = &found[..] else { return Ok(ExitCode::FAILURE) };
    println!("both");
    let (a, b) = (from.status.address_vni, to.status.address_vni);
    let is_one_network =
        print_check(&CheckResult { passed: a == b, text: format!("in one network: {a} and {b}") });
    if !is_well {
        return Ok(ExitCode::FAILURE);
    }
    for (node, steps) in prober.trace(from, to).await? {
        println!("{node}");
        steps.iter().for_each(|step| println!("  {step}"));
    }
    let pinged = prober.ping(from, to, 1).await?;
    let is_answered = !pinged.round_trips.is_empty();
    println!(
        "a ping {}",
        if is_answered { "is answered".into() } else { format!("is not answered: {}", pinged.error) }
    );
    Ok(if is_answered && is_one_network { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the writes, relative to the first.
fn print_timeline(events: &[TimelineEvent]) {
    let Some(first) = events.first() else {
        println!("    this server does not record write times");
        return;
    };
    for TimelineEvent { at, text, after } in events {
        let since = seconds(first.at, *at);
        let after = after.map(|(cause, took)| format!(", {:.1} ms after {cause}", took * 1e3));
        println!("    {since:>10.4} s  {text}{}", after.unwrap_or_default());
    }
}

fn print_check(checked: &CheckResult) -> bool {
    println!("  {} {}", if checked.passed { "ok  " } else { "FAIL" }, checked.text);
    checked.passed
}

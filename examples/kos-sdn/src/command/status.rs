//! `kos status`: the state of subnets and nodes.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use machinery::report::text_table;
use machinery::tokio::time::sleep;
use machinery::{Objects, Plane};

use super::cluster::ClusterArguments;
use crate::model::{NetworkAttachment, Subnet};
use crate::plan::{AttachmentCounts, Summary, summary};

/// Print the state of subnets and nodes, again on each change, until Ctrl-C
#[derive(Debug, clap::Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Print once, and exit: with 0 if every attachment has an interface
    #[arg(long)]
    once: bool,
}

/// Minimum interval between prints.
const PACE: Duration = Duration::from_millis(500);

pub(super) async fn run(arguments: StatusArguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let shown = show(&plane, arguments.once).await;
    plane.stop().await;
    shown
}

async fn show(plane: &Plane, once: bool) -> machinery::Result<ExitCode> {
    let (subnets, attachments): (Objects<Subnet>, Objects<NetworkAttachment>) =
        (plane.objects()?, plane.objects()?);
    subnets.informer().synced().await?;
    attachments.informer().synced().await?;
    if once {
        let now = now(&subnets, &attachments);
        print!("{}", text(&now));
        let is_well = now.nodes.values().all(|of| of.ready == of.all);
        return Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let stopping = plane.stopping().clone();
    let showing = async {
        let mut before = None;
        loop {
            let now = now(&subnets, &attachments);
            if before.as_ref() != Some(&now) {
                let clear = if io::stdout().is_terminal() { "\x1b[H\x1b[2J" } else { "" };
                println!("{clear}{}", text(&now));
                io::stdout().flush()?;
                before = Some(now);
            }
            sleep(PACE).await;
        }
    };
    machinery::tokio::select! {
        biased;
        ended = plane.shutdown_on_signal() => ended?,
        shown = stopping.run_until_cancelled(showing) => shown.unwrap_or(Ok::<(), machinery::Error>(()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn now(subnets: &Objects<Subnet>, attachments: &Objects<NetworkAttachment>) -> Summary {
    let (subnets, attachments) = (subnets.read(), attachments.read());
    summary(subnets.iter().map(|(_, one)| &**one), attachments.iter().map(|(_, one)| &**one))
}

fn text(now: &Summary) -> String {
    let subnets = now.subnets.iter().map(|of| {
        let (vni, taken) = (of.vni.to_string(), format!("{} of {}", of.tally.addressed, of.size));
        let [_, _, ready, error] = cells(&of.tally);
        [of.subnet.clone(), vni, of.block.clone(), of.state.clone(), taken, ready, error]
    });
    let subnets = text_table(&["SUBNET", "VNI", "BLOCK", "STATE", "ADDRESSES", "READY", "WRONG"], subnets);
    let nodes = now.nodes.iter().map(|(node, of)| {
        let [all, addressed, ready, error] = cells(of);
        [node.clone(), all, addressed, ready, of.deleting.to_string(), error]
    });
    let nodes = text_table(&["NODE", "ATTACHMENTS", "ADDRESSED", "READY", "GOING", "WRONG"], nodes);
    format!("{subnets}\n{nodes}")
}

fn cells(of: &AttachmentCounts) -> [String; 4] {
    let error = match of.failed {
        0 => String::new(),
        failed => format!("{failed}: {}", of.error),
    };
    [of.all.to_string(), of.addressed.to_string(), of.ready.to_string(), error]
}

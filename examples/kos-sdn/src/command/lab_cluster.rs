//! `kos up --fabric ovs`: a cluster on the switches of a lab, which ends with the command.

use std::pin::pin;
use std::process::ExitCode;

use futures::future::{Either, select};

use super::up::{UpArguments, ended, run_on};
use crate::lab::{Lab, LabSettings, down};
use crate::up::ClusterFabric;

/// Makes a lab, runs a cluster on its switches, and removes the lab.
pub(super) async fn run(arguments: &UpArguments) -> machinery::Result<ExitCode> {
    let mut settings = LabSettings::new(&arguments.lab_dir, arguments.nodes);
    settings.name.clone_from(&arguments.lab_name);
    let made = match select(pin!(Lab::up(settings)), pin!(ended())).await {
        Either::Left((made, _)) => made.map_err(machinery::Error::from),
        Either::Right((ended, _)) => Err(ended.err().unwrap_or_else(|| "interrupted".into())),
    };
    let lab = match made {
        Ok(lab) => lab,
        Err(error) => return Err(clean(arguments, error).await),
    };
    let ran = run_on(arguments, ClusterFabric::Ovs(lab.hosts().to_vec())).await;
    let removed = lab.down().await;
    let ran = ran?;
    removed?;
    Ok(ran)
}

/// Removes the part of a lab that this command made before an error.
async fn clean(arguments: &UpArguments, error: machinery::Error) -> machinery::Error {
    use crate::lab::LabError::{Busy, Exists, Hosts, Missing, NotEmpty, PathTooLong};
    // Then nothing was made, and the directory may have the lab of another command.
    let is_untouched = matches!(
        error.downcast_ref(),
        Some(
            Busy { .. }
                | Exists { .. }
                | Hosts { .. }
                | Missing { .. }
                | NotEmpty { .. }
                | PathTooLong { .. }
        )
    );
    if is_untouched {
        return error;
    }
    match down(&arguments.lab_dir).await {
        Ok(()) => error,
        Err(rest) => {
            format!("{error}; the rest of the lab remains: {rest}; `kos lab down` removes it").into()
        }
    }
}

//! Early errors for kinds and fields that the server does not have.

use machinery_objects::{InterestBy, Kind};

use super::error::PlaneError;
use super::handle::Plane;
use super::transport::Transport;

impl Plane {
    /// Refuses a kind that the embedded server does not serve: its informer would never sync. A
    /// cluster is known only by its answers, which fail the start of the controllers.
    #[cfg_attr(
        not(feature = "embedded"),
        expect(unused_variables, reason = "only embedded servers are checked")
    )]
    pub(super) fn check_served(&self, kind: &Kind) -> Result<(), PlaneError> {
        match self.transport() {
            #[cfg(feature = "embedded")]
            Transport::Embedded { server, .. } => server.check_kind(kind).map_err(|why| {
                PlaneError::Undeclared { kind: kind.to_string(), name: kind.name().into(), why }
            }),
            #[cfg(feature = "kube")]
            Transport::Cluster { .. } => Ok(()),
        }
    }

    /// Refuses keyed informers by a field that is not selectable at the embedded server.
    pub(super) fn check_selectable(&self, kind: &Kind, by: &InterestBy) -> Result<(), PlaneError> {
        self.check_served(kind)?;
        match self.transport() {
            #[cfg(feature = "embedded")]
            Transport::Embedded { server, .. } => {
                server.check_selectable(kind, by).map_err(|why| PlaneError::NotSelectable {
                    kind: kind.to_string(),
                    by: match by {
                        InterestBy::Field(field) => field.to_string(),
                        InterestBy::Label(label) => format!("the label {label}"),
                    },
                    why,
                })
            }
            #[cfg(feature = "kube")]
            Transport::Cluster { .. } => {
                let _ = by;
                Ok(())
            }
        }
    }
}

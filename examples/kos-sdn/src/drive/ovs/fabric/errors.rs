//! Errors of the connections as errors of the fabric.

use crate::drive::FabricError;
use crate::drive::ovs::links::LinkError;
use crate::drive::ovs::openflow::OpenFlowError;
use crate::drive::ovs::ovsdb::{ApplyError, TransactError};

impl From<TransactError> for FabricError {
    fn from(error: TransactError) -> Self {
        match error {
            TransactError::LockNotOwned { lock } => Self::LockLost { lock },
            TransactError::Refused { .. } | TransactError::TooBig { .. } => {
                Self::Refused { what: "a change of the OVS database".into(), reason: error.to_string() }
            }
            _ => Self::Unavailable { reason: error.to_string() },
        }
    }
}

impl From<ApplyError> for FabricError {
    fn from(error: ApplyError) -> Self {
        Self::Unavailable { reason: error.to_string() }
    }
}

impl From<OpenFlowError> for FabricError {
    fn from(error: OpenFlowError) -> Self {
        match error {
            OpenFlowError::RefusedFlow { flow, reason } => {
                Self::Refused { what: format!("the flow `{flow}`"), reason }
            }
            OpenFlowError::Refused { .. }
            | OpenFlowError::Unsupported { .. }
            | OpenFlowError::TooLarge { .. } => {
                Self::Refused { what: "a change of flows".into(), reason: error.to_string() }
            }
            OpenFlowError::Unavailable { reason } => Self::Unavailable { reason },
            _ => Self::Unavailable { reason: error.to_string() },
        }
    }
}

impl From<LinkError> for FabricError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::SwitchUnknown { .. } | LinkError::Closed => {
                Self::Unavailable { reason: error.to_string() }
            }
            LinkError::NamespaceTaken { ref name, .. } => {
                Self::Foreign { what: format!("the network namespace {name}"), remedy: error.to_string() }
            }
            _ => Self::Failed { what: "a change of links", reason: error.to_string() },
        }
    }
}

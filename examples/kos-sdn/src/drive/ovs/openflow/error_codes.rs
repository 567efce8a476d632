//! Error messages of a switch.

use std::fmt;

/// Type and code of an error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SwitchRefusal {
    pub(super) kind: u16,
    pub(super) code: u16,
}

const BAD_REQUEST: u16 = 1;
const BUNDLE_FAILED: u16 = 17;

/// The errors that a fabric may meet, named as in the specification.
const NAMES: [(u16, u16, &str); 35] = [
    (0, 0, "OFPHFC_INCOMPATIBLE"),
    (0, 1, "OFPHFC_EPERM"),
    (BAD_REQUEST, 0, "OFPBRC_BAD_VERSION"),
    (BAD_REQUEST, 1, "OFPBRC_BAD_TYPE"),
    (BAD_REQUEST, 2, "OFPBRC_BAD_MULTIPART"),
    (BAD_REQUEST, 3, "OFPBRC_BAD_EXPERIMENTER"),
    (BAD_REQUEST, 5, "OFPBRC_EPERM"),
    (BAD_REQUEST, 6, "OFPBRC_BAD_LEN"),
    (BAD_REQUEST, 9, "OFPBRC_BAD_TABLE_ID"),
    (BAD_REQUEST, 10, "OFPBRC_IS_SLAVE"),
    (2, 0, "OFPBAC_BAD_TYPE"),
    (2, 1, "OFPBAC_BAD_LEN"),
    (2, 4, "OFPBAC_BAD_OUT_PORT"),
    (2, 13, "OFPBAC_BAD_SET_TYPE"),
    (2, 14, "OFPBAC_BAD_SET_LEN"),
    (2, 15, "OFPBAC_BAD_SET_ARGUMENT"),
    (3, 0, "OFPBIC_UNKNOWN_INST"),
    (3, 2, "OFPBIC_BAD_TABLE_ID"),
    (4, 0, "OFPBMC_BAD_TYPE"),
    (4, 1, "OFPBMC_BAD_LEN"),
    (4, 6, "OFPBMC_BAD_FIELD"),
    (4, 7, "OFPBMC_BAD_VALUE"),
    (4, 9, "OFPBMC_BAD_PREREQ"),
    (5, 0, "OFPFMFC_UNKNOWN"),
    (5, 1, "OFPFMFC_TABLE_FULL"),
    (5, 2, "OFPFMFC_BAD_TABLE_ID"),
    (5, 3, "OFPFMFC_OVERLAP"),
    (5, 4, "OFPFMFC_EPERM"),
    (16, 0, "OFPMOFC_UNKNOWN"),
    (BUNDLE_FAILED, 0, "OFPBFC_UNKNOWN"),
    (BUNDLE_FAILED, 1, "OFPBFC_EPERM"),
    (BUNDLE_FAILED, 4, "OFPBFC_OUT_OF_BUNDLES"),
    (BUNDLE_FAILED, 8, "OFPBFC_MSG_BAD_LEN"),
    (BUNDLE_FAILED, 10, "OFPBFC_MSG_TOO_MANY"),
    (BUNDLE_FAILED, 11, "OFPBFC_MSG_FAILED"),
];

impl SwitchRefusal {
    /// Returns whether the switch does not know the type of the request.
    pub(super) const fn is_unknown_request(self) -> bool {
        self.kind == BAD_REQUEST && matches!(self.code, 1..=3)
    }
}

impl fmt::Display for SwitchRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(kind, code, _)| (*kind, *code) == (self.kind, self.code)) {
            Some((_, _, name)) => f.write_str(name),
            None => write!(f, "error of type {} and code {}", self.kind, self.code),
        }
    }
}

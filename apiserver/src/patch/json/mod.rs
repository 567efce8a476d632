//! JSON patches, RFC 6902.

mod equal;
mod limits;
mod operation;
mod pointer;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use operation::PatchOperation;
pub(super) use run::apply;

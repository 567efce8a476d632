//! ResourceQuotas: limits of the number of objects in a namespace, enforced as conditions of the
//! creating transaction.

mod count;
mod counted;
mod hold;
mod names;
mod read;
mod turn;
mod used;
mod validate;
mod warn;
mod watched;

pub(crate) use count::{count, is_about};
pub(crate) use counted::{Counted, Limit, counted, is_scoped, limits};
pub(crate) use hold::{Held, hold, is_quota};
pub(crate) use read::Quotas;
pub(crate) use turn::Turns;
pub(crate) use used::{Use, tell};
pub(crate) use validate::ResourceQuotas;
pub(crate) use warn::warnings;
pub(crate) use watched::Watched;

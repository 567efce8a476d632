//! ResourceQuotas: limits of the objects in a namespace and of the resources that they request,
//! enforced as conditions of the writing transaction.

mod amount;
mod charge;
mod count;
mod counted;
mod hold;
mod names;
mod read;
mod scopes;
mod turn;
mod usage;
mod used;
mod validate;
mod warn;
mod watched;

pub(crate) use amount::QuotaAmount;
pub(crate) use count::{count, is_about};
pub(crate) use counted::{Counted, Limit, Measure, counted, limits};
pub(crate) use hold::{Held, hold, is_quota};
pub(crate) use read::Quotas;
pub(crate) use scopes::QuotaScopes;
pub(crate) use turn::Turns;
pub(crate) use usage::{MeasuredKind, ObjectUsage};
pub(crate) use used::{Use, tell};
pub(crate) use validate::ResourceQuotas;
pub(crate) use warn::warnings;
pub(crate) use watched::Watched;

//! How many objects a namespace may have: ResourceQuotas.

mod names;
mod validate;

pub(crate) use validate::ResourceQuotas;

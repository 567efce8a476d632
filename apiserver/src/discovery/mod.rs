//! Discovery of kinds: `/api`, `/apis` and below, plain and aggregated.

mod aggregated;
mod groups;
mod info;
mod page;
mod plain;
mod version;

pub(crate) use groups::Discovery;
pub(crate) use info::{
    BUILT_IN_VERBS, CUSTOM_VERBS, KindInfo, SubresourceInfo, TERMINATING_VERBS, storage_version_hash,
};
pub(crate) use page::Page;
pub(crate) use version::{by_priority, group_priority};

#[cfg(test)]
mod tests;

//! A transactional key-value store with revisions and watches.

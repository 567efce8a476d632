//! A map with indexes that is read as of a moment while it is written.

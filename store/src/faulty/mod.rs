//! Faults as an input: a disk that loses and tears what is not synced, and a backend that fails as a network does.

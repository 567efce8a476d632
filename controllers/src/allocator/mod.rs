//! Allocator: each of many owners gets any one member of a pool.

mod allocation;
mod allocations;
mod allocator;
mod choice;
mod claim;
mod events;
mod member;
mod pool;
mod pool_queue;
mod pool_queues;
mod ranges;
mod runs;
mod scope;

pub use allocation::{AllocateError, Allocation, AllocationRequest, PoolWaiter};
pub use allocator::{Allocator, AllocatorSettings};
pub use member::Member;
pub use pool::{Pool, PoolError};

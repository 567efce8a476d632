//! Allocator: each of many owners gets any one member of a pool.

mod allocate;
mod allocation;
mod allocations;
mod choice;
mod events;
mod handle;
mod member;
mod pool;
mod pool_queue;
mod pool_queues;
#[cfg(test)]
mod races;
mod ranges;
mod runs;
mod scope;

pub use allocation::{AllocateError, Allocation, AllocationRequest, PoolWaiter};
pub use handle::{Allocator, AllocatorSettings, LockCall, LockOperation};
pub use member::Member;
pub use pool::{Pool, PoolError};

//! A fabric that only logs its calls, for control planes of any size on one machine.

use async_trait::async_trait;
use machinery::controllers::Progress;
use machinery::sync::Mutex;
use tracing::info;

use super::{Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceBook, InterfaceList};
use crate::plan::{LocalInterface, RemoteInterface};

/// A fabric that logs each call and keeps the interfaces in memory.
#[derive(Debug)]
pub struct LogFabric {
    book: Mutex<InterfaceBook>,
}

/// Maximum number of interfaces.
const LIMIT: usize = 1 << 20;

impl LogFabric {
    /// Creates a fabric without interfaces.
    #[must_use]
    pub fn new() -> Self {
        Self { book: Mutex::new(InterfaceBook::new(LIMIT)) }
    }
}

impl Default for LogFabric {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Fabric for LogFabric {
    fn name(&self) -> &'static str {
        "log"
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        info!(?interface, "create local");
        self.book.lock().add_local(interface)
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        info!(?interface, "delete local");
        self.book.lock().remove_local(interface);
        Ok(())
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        info!(?interface, "create remote");
        self.book.lock().add_remote(interface)
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        info!(?interface, "delete remote");
        self.book.lock().remove_remote(interface);
        Ok(())
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        Ok(self.book.lock().listed())
    }

    async fn repair(&self, _: &Progress) -> Result<FabricRepairs, FabricError> {
        Ok(FabricRepairs::default())
    }

    async fn status(&self) -> FabricStatus {
        let ports = self.book.lock().locals();
        FabricStatus { is_reachable: true, ports, ..FabricStatus::default() }
    }
}

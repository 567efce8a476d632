//! A fabric that does nothing, and says what it would have done: for control planes of any size on machines of any size.

use async_trait::async_trait;
use machinery::sync::Mutex;
use tracing::info;

use super::{Audit, Book, Fabric, FabricError, Listed};
use crate::plan::{Local, Remote};

/// A fabric that logs, and remembers while it is there.
#[derive(Debug)]
pub struct LogFabric {
    book: Mutex<Book>,
}

/// So many interfaces, unless it is said otherwise.
const LIMIT: usize = 1 << 20;

impl LogFabric {
    /// One without interfaces.
    #[must_use]
    pub fn new() -> Self {
        Self { book: Mutex::new(Book::new(LIMIT)) }
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

    async fn create_local(&self, interface: &Local) -> Result<(), FabricError> {
        info!(?interface, "create local");
        self.book.lock().add_local(interface)
    }

    async fn delete_local(&self, interface: &Local) -> Result<(), FabricError> {
        info!(?interface, "delete local");
        self.book.lock().remove_local(interface);
        Ok(())
    }

    async fn create_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        info!(?interface, "create remote");
        self.book.lock().add_remote(interface)
    }

    async fn delete_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        info!(?interface, "delete remote");
        self.book.lock().remove_remote(interface);
        Ok(())
    }

    async fn list(&self) -> Result<Listed, FabricError> {
        Ok(self.book.lock().listed())
    }

    async fn audit(&self) -> Result<Audit, FabricError> {
        Ok(Audit::default())
    }
}

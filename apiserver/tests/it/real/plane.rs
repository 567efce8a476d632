//! A typical server: on a disk, over TLS, with restarts.

use machinery_apiserver::{Access, ApiServer, Listen};
use machinery_store::{Disk, DiskOptions, Options, Retention};

/// A server that can be started again on its data, at its address.
pub(crate) struct Plane {
    home: tempfile::TempDir,
    options: DiskOptions,
    disk: Disk,
    server: ApiServer,
    pub(crate) access: Access,
}

impl Plane {
    pub(crate) async fn start() -> Self {
        Self::that_remembers(Retention::default()).await
    }

    /// A server with this retention of history.
    pub(crate) async fn that_remembers(retention: Retention) -> Self {
        let home = tempfile::tempdir().unwrap();
        let options =
            DiskOptions { store: Options { retention, ..Options::default() }, ..DiskOptions::default() };
        let (disk, server, access) = up(&home, &options, "127.0.0.1:0").await;
        Self { home, options, disk, server, access }
    }

    /// Ends the server in good order, and starts it again.
    pub(crate) async fn restart(self) -> Self {
        let Self { home, options, disk, server, access } = self;
        server.stop().await;
        disk.close().await.unwrap();
        let (disk, server, access) = up(&home, &options, &access.address.to_string()).await;
        Self { home, options, disk, server, access }
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
        self.disk.close().await.unwrap();
    }
}

async fn up(home: &tempfile::TempDir, options: &DiskOptions, address: &str) -> (Disk, ApiServer, Access) {
    let disk = Disk::open(home.path().join("store"), options.clone()).unwrap();
    let server = ApiServer::builder(disk.clone()).rbac().start().await.unwrap();
    let listen = Listen::at(address.parse().unwrap(), home.path().join("pki"));
    let access = server.listen(listen).await.unwrap();
    (disk, server, access)
}

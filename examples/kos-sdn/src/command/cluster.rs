//! Which cluster a command speaks to.

use std::path::PathBuf;

use machinery::Plane;

/// Where the objects are.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Cluster {
    /// How the cluster is reached. Without it: the file that KUBECONFIG names, or else the one that `kos up` writes
    #[arg(long, value_name = "F")]
    kubeconfig: Option<PathBuf>,
}

impl Cluster {
    /// A plane on it. It brings no definitions: they are there, or `kos crds` has them.
    pub(super) async fn plane(&self) -> machinery::Result<Plane> {
        let file = self.file();
        match machinery::kubeconfig(&file).start().await {
            Ok(plane) => Ok(plane),
            Err(error) => {
                let hint = "is `kos up` running? --kubeconfig names another cluster";
                Err(format!("no cluster by {}: {error}; {hint}", file.display()).into())
            }
        }
    }

    fn file(&self) -> PathBuf {
        let named = std::env::var_os("KUBECONFIG").filter(|file| !file.is_empty()).map(PathBuf::from);
        self.kubeconfig.clone().or(named).unwrap_or_else(|| home().join("kubeconfig"))
    }
}

/// Where `kos up` keeps how it is reached.
pub(super) fn home() -> PathBuf {
    std::env::home_dir().unwrap_or_else(std::env::temp_dir).join(".kos")
}

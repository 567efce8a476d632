//! Selection of the cluster that a command connects to.

use std::path::PathBuf;

use machinery::Plane;

/// The options that select a cluster.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ClusterArguments {
    /// The kubeconfig. Default: the file in KUBECONFIG, or else the one that `sdewan up` writes
    #[arg(long, value_name = "F")]
    kubeconfig: Option<PathBuf>,
}

impl ClusterArguments {
    /// Connects a plane. The cluster must have the definitions: `sdewan crds` prints them.
    pub(super) async fn plane(&self) -> machinery::Result<Plane> {
        let file = self.file();
        match machinery::kubeconfig(&file).start().await {
            Ok(plane) => Ok(plane),
            Err(error) => {
                let hint = "is `sdewan up` running? --kubeconfig names another cluster";
                Err(format!("no cluster by {}: {error}; {hint}", file.display()).into())
            }
        }
    }

    fn file(&self) -> PathBuf {
        let named = std::env::var_os("KUBECONFIG").filter(|file| !file.is_empty()).map(PathBuf::from);
        self.kubeconfig.clone().or(named).unwrap_or_else(|| home().join("kubeconfig"))
    }
}

/// Returns the directory of kubeconfigs and data.
pub(super) fn home() -> PathBuf {
    std::env::home_dir().unwrap_or_else(std::env::temp_dir).join(".sdewan")
}

//! The audit log of `machinery serve`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use machinery::apiserver::{Audit, AuditFile, AuditPolicy};

/// Flags of the audit log, named as in kube-apiserver.
#[derive(clap::Args)]
pub(crate) struct AuditArgs {
    /// Audit policy: a Policy of audit.k8s.io/v1. Without it nothing is logged
    #[arg(long, value_name = "F", requires = "audit_log_path")]
    audit_policy_file: Option<PathBuf>,
    /// Audit log: one JSON event per line. "-" is the standard output
    #[arg(long, value_name = "F", requires = "audit_policy_file")]
    audit_log_path: Option<PathBuf>,
    /// Size at which the log is rotated, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    audit_log_maxsize: u64,
    /// Days to keep a rotated log. 0: no limit
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    audit_log_maxage: u32,
    /// Number of rotated logs to keep. 0: all
    #[arg(long, value_name = "N", default_value_t = 0)]
    audit_log_maxbackup: usize,
    /// Handling of requests that cannot be logged at arrival
    #[arg(long, value_name = "M", value_enum, default_value_t = AuditLogMode::Blocking)]
    audit_log_mode: AuditLogMode,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum AuditLogMode {
    /// Serve the request and count the error
    Blocking,
    /// Refuse the request
    BlockingStrict,
}

impl AuditArgs {
    /// Reads the audit policy, if one is configured.
    pub(crate) fn policy(&self) -> anyhow::Result<Option<AuditPolicy>> {
        let Some(path) = &self.audit_policy_file else { return Ok(None) };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the audit policy {}", path.display()))?;
        let policy =
            AuditPolicy::read(&text).with_context(|| format!("fix the audit policy {}", path.display()))?;
        Ok(Some(policy))
    }

    /// Opens the audit log, creating its file.
    pub(crate) fn open(&self, policy: AuditPolicy) -> anyhow::Result<Audit> {
        let audit = match &self.audit_log_path {
            Some(path) if path.as_os_str() != "-" => Audit::new(policy, self.file(path)?),
            _ => Audit::new(policy, std::io::stdout()),
        };
        Ok(match self.audit_log_mode {
            AuditLogMode::Blocking => audit,
            AuditLogMode::BlockingStrict => audit.strict(),
        })
    }

    fn file(&self, path: &Path) -> anyhow::Result<AuditFile> {
        let file = AuditFile::open(path).with_context(|| {
            format!(
                "cannot open the audit log {}: create its directory, or choose another path",
                path.display()
            )
        })?;
        let mut file = file.max_bytes(self.audit_log_maxsize << 20);
        if self.audit_log_maxage > 0 {
            file = file.max_age_days(self.audit_log_maxage);
        }
        if self.audit_log_maxbackup > 0 {
            file = file.max_backups(self.audit_log_maxbackup);
        }
        Ok(file)
    }
}

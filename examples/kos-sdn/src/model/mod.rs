//! The API kinds, and the validation and stamping of their objects.

mod agent_policy;
mod agent_writes;
mod attachment;
mod cidr;
mod definition;
mod extended;
mod guard;
mod kind;
mod lock;
mod peer;
mod probe;
mod roles;
mod served;
mod stamp;
mod subnet;
mod validate;
mod vni;

pub use agent_policy::agent_policy;
pub use agent_writes::{AgentWrites, agent_identity, agent_of};
pub use attachment::{AttachmentErrors, AttachmentSpec, AttachmentStatus, ExecReport, NetworkAttachment};
pub use cidr::{Cidr, CidrError};
pub use definition::{manifest, manifests};
pub use extended::{ExtendedMetadata, Section, SectionWrite};
pub use guard::{conflicts_with_others, networks, overlap};
pub use kind::{API_VERSION, GROUP, KindNames, KosKind, VERSION};
pub use lock::{IPLock, LockSpec};
pub use peer::{MicroTimestamp, Peer, PeerStatus, PeerWrites};
pub use probe::{Probe, ProbeQuestion, ProbeSpec, ProbeStatus};
pub use roles::{AGENTS, CONTROLLERS, agents, controllers, role_manifests};
pub use served::{ip_locks, network_attachments, probes, subnets, webhook_hooks};
pub use stamp::{stamp_attachment, stamp_lock, stamp_subnet};
pub use subnet::{Subnet, SubnetSpec, SubnetStatus};
pub use validate::{validate_attachment, validate_lock, validate_subnet};
pub use vni::{Vni, VniError};

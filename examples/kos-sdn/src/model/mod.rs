//! The API kinds, and the validation and stamping of their objects.

mod agent_policy;
mod agent_writes;
mod attachment;
mod cidr;
mod definition;
mod guard;
mod lock;
mod peer;
mod probe;
mod roles;
mod sections;
mod served;
mod subnet;
mod validate;
mod vni;

pub use agent_policy::agent_policy;
pub use agent_writes::{AgentWrites, agent_identity, agent_of};
pub use attachment::{
    AGENT_FIELDS, AttachmentErrors, AttachmentSpec, AttachmentStatus, ExecReport, IPAM_FIELDS,
    NetworkAttachment, SILENCE_FIELDS,
};
pub use cidr::{Cidr, CidrError};
pub use definition::{API_VERSION, GROUP, VERSION, manifests};
pub use guard::{conflicts_with_others, networks, overlap};
pub use lock::{IPLock, LockSpec};
pub use peer::{MicroTimestamp, Peer, PeerStatus, PeerWrites};
pub use probe::{PROBE_FIELDS, Probe, ProbeQuestion, ProbeSpec, ProbeStatus};
pub use roles::{AGENTS, CONTROLLERS, agents, controllers, role_manifests};
pub use sections::Section;
pub use served::{ip_locks, network_attachments, probes, subnets, webhook_hooks};
pub use subnet::{Subnet, SubnetSpec, SubnetStatus, VALIDATOR_FIELDS};
pub use validate::{validate_attachment, validate_lock, validate_subnet};
pub use vni::{Vni, VniError};

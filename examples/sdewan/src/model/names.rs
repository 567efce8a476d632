//! Names that the original gives to groups, labels and states.

/// The API group of all kinds.
pub const GROUP: &str = "batch.sdewan.akraino.org";
/// The second group of the IPsec kinds, as on the page.
pub const PAGE_GROUP: &str = "sdewan.akraino.org";
/// The API version of both groups.
pub const VERSION: &str = "v1alpha1";
/// The category of all kinds: `kubectl get sdewan`.
pub const CATEGORY: &str = "sdewan";

/// The label of a CR, a Deployment and its pods: the CNF to which they belong.
pub const PURPOSE_LABEL: &str = "sdewanPurpose";
/// The label of a CR that the bucket permissions are about.
pub const BUCKET_LABEL: &str = "sdewan-bucket-type";
/// The label of a CR: its place among the rules of a collection, 0 to 999999 ascending.
pub const ORDER_LABEL: &str = "sdewan/order";
/// The label of a pod: the Secret with the password of its CNF, under the key `password`.
pub const ACCOUNT_SECRET_LABEL: &str = "cnf-account-secret";
/// The label of a pod: the Secret with the certificate authority of its CNF, under the key `ca.crt`.
pub const CERT_SECRET_LABEL: &str = "cnf-cert-secret";
/// The annotation of a pod template: the networks of a CNF and their NICs, as JSON.
pub const NETWORKS_ANNOTATION: &str = "k8s.plugin.opnfv.org/nfn-network";

/// The state of a CR that every pod of its CNF holds.
pub const IN_SYNC: &str = "In Sync";
/// The state of a CR without a CNF.
pub const IDLE: &str = "Idle";
/// The state of a CR while anything fails or is awaited.
pub const TRYING: &str = "Trying to apply";
/// The state of a CR that is being deleted.
pub const DELETING: &str = "Being delete";
/// The state of a CR whose purpose two Deployments have.
pub const UNKNOWN: &str = "Unknown status";

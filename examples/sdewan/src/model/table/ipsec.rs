//! IPsec: proposals, and remotes with their connections.

use super::words::{DH_GROUPS, ENCRYPTIONS, HASHES};
use super::{RULE, SdewanKind};
use crate::model::check::Check;
use crate::model::collection::CollectionId;
use crate::model::field::{Field, Reference, Shape};
use crate::model::kind::ObjectRule;

pub(in crate::model) const IPSEC_PROPOSAL: SdewanKind = SdewanKind {
    kind: "IpsecProposal",
    plural: "ipsecproposals",
    about: "A proposal of IPsec: algorithms that both ends agree on.",
    finalizer: "proposal.finalizers.sdewan.akraino.org",
    collection: Some(CollectionId::Proposals),
    fields: &[
        Field::text("name", "Ignored: the name of the object is used.").cr_only(),
        Field::text("encryption_algorithm", "The encryption algorithm, as aes256 or aes256gcm16.")
            .required()
            .check(Check::OneOf(ENCRYPTIONS), "invalid encryption_algorithm"),
        Field::text("hash_algorithm", "The hash algorithm, as sha256.")
            .required()
            .check(Check::OneOf(HASHES), "invalid hash_algorithm"),
        Field::text("dh_group", "The Diffie-Hellman group, as modp3072.")
            .required()
            .check(Check::OneOf(DH_GROUPS), "invalid dh_group"),
    ],
    is_in_page_group: true,
    ..RULE
};

const PROPOSALS: Reference = Reference::Object(CollectionId::Proposals);

const NAME: Field = Field::text("name", "Ignored: the name of the object is used.").cr_only();
const TYPE: Field = Field::text("type", "VTI-based or policy-based.")
    .check(Check::OneOf(&["VTI-based", "policy-based"]), "invalid type");
const REMOTE: Field =
    Field::text("remote", "The address of the peer; `%any` for every peer.").required().renamed("gateway");
const AUTHENTICATION: Field = Field::text("authentication_method", "psk or pubkey.")
    .required()
    .check(Check::OneOf(&["psk", "pubkey"]), "Invalid authentication method");
const CRYPTO_PROPOSAL: Field = Field::list("crypto_proposal", "The names of proposals for IKE.")
    .required_by_cr()
    .refers_to(PROPOSALS)
    .check(Check::Any, "invalid crypto_proposal");
const FORCE: Field =
    Field::number("force_crypto_proposal", "Whether only these proposals count: \"1\" or \"0\".")
        .check(Check::Boolean, "invalid input for ForceCryptoProposal");
const PRE_SHARED_KEY: Field =
    Field::text("pre_shared_key", "The key of the method psk; better in a Secret.").secret();
const PUBLIC_CERT: Field = Field::text("local_public_cert", "The own certificates, base64 of PEM.")
    .from_secret()
    .check(Check::Certificates, "invalid local_public_cert");
const PRIVATE_CERT: Field =
    Field::text("local_private_cert", "The own private keys, base64 of PEM; better in a Secret.")
        .secret()
        .check(Check::Certificates, "invalid local_private_cert");
const SHARED_CA: Field = Field::text("shared_ca", "The certificate authorities, base64 of PEM.")
    .from_secret()
    .check(Check::Certificates, "invalid shared_ca");
const LOCAL_ID: Field = Field::text("local_identifier", "The own identity of IKE.");
const REMOTE_ID: Field = Field::text("remote_identifier", "The identity of the peer.");

const CONNECTION_NAME: Field = Field::text("name", "The name of the connection: of one remote only.")
    .required()
    .spelled(&["connection_name"]);
const CONN_TYPE: Field = Field::text("conn_type", "tunnel or transport.")
    .required()
    .spelled(&["type"])
    .check(Check::OneOf(&["tunnel", "transport"]), "invalid type");
const MODE: Field = Field::text("mode", "start, add or route.")
    .required()
    .check(Check::OneOf(&["start", "add", "route"]), "invalid connection mode");
const LOCAL_SUBNET: Field = Field::text("local_subnet", "The own prefixes, with commas between them.");
const LOCAL_NAT: Field = Field::text("local_nat", "The own prefixes behind NAT.").rest_only();
const LOCAL_SOURCEIP: Field =
    Field::text("local_sourceip", "The own virtual address; `%config` requests one.");
const LOCAL_UPDOWN: Field = Field::text("local_updown", "The built-in action on changes of the tunnel.");
const LOCAL_FIREWALL: Field =
    Field::text("local_firewall", "Whether the firewall admits the tunnel: yes or no.")
        .check(Check::YesNo, "invalid local_firewall");
const REMOTE_SUBNET: Field =
    Field::text("remote_subnet", "The prefixes of the peer, with commas between them.");
const REMOTE_SOURCEIP: Field =
    Field::text("remote_sourceip", "The address, range or prefix from which peers get virtual addresses.");
const REMOTE_UPDOWN: Field = Field::text("remote_updown", "The action of the peer on changes of the tunnel.");
const REMOTE_FIREWALL: Field =
    Field::text("remote_firewall", "Whether the firewall of the peer admits the tunnel: yes or no.")
        .check(Check::YesNo, "invalid remote_firewall");
const ESP_PROPOSAL: Field = Field::list("crypto_proposal", "The names of proposals for ESP.")
    .refers_to(PROPOSALS)
    .check(Check::Any, "invalid crypto_proposal");
const MARK: Field =
    Field::number("mark", "The mark of packets of a VTI-based tunnel.").check(Check::Mark, "invalid mark");
const IF_ID: Field = Field::number("if_id", "The id of the XFRM interface; the original's CNF drops it.")
    .check(Check::Mark, "invalid if_id");

const HOST_CONNECTION: &[Field] = &[
    CONNECTION_NAME,
    CONN_TYPE,
    MODE,
    LOCAL_SUBNET.rest_only(),
    LOCAL_NAT,
    LOCAL_SOURCEIP,
    LOCAL_UPDOWN,
    LOCAL_FIREWALL,
    REMOTE_SUBNET,
    REMOTE_SOURCEIP,
    REMOTE_UPDOWN,
    REMOTE_FIREWALL,
    ESP_PROPOSAL,
    MARK,
    IF_ID,
];
const SITE_CONNECTION: &[Field] = &[
    CONNECTION_NAME,
    CONN_TYPE,
    MODE,
    LOCAL_SUBNET.required_by_cr(),
    LOCAL_NAT,
    LOCAL_SOURCEIP.rest_only(),
    LOCAL_UPDOWN,
    LOCAL_FIREWALL,
    REMOTE_SUBNET,
    REMOTE_SOURCEIP,
    REMOTE_UPDOWN,
    REMOTE_FIREWALL,
    ESP_PROPOSAL,
    MARK,
    IF_ID,
];

const ABOUT_CONNECTIONS: &str = "The connections to the peer: one child security association each.";

const NO_SECRET_PSK: &str = "Secret does not exists for the authentication method: psk";
const NO_SECRET_PUBKEY: &str = "Secret does not exists for the authentication method: pubkey";

const fn needs(
    method: &'static [(&'static str, &'static str)],
    field: &'static [&'static str],
    message: &'static str,
) -> ObjectRule {
    ObjectRule { when: method, needs_one_of: field, message }
}

const AUTHENTICATION_RULES: &[ObjectRule] = &[
    needs(&[("authentication_method", "psk")], &["pre_shared_key"], NO_SECRET_PSK),
    needs(&[("authentication_method", "pubkey")], &["local_public_cert"], NO_SECRET_PUBKEY),
    needs(&[("authentication_method", "pubkey")], &["local_private_cert"], NO_SECRET_PUBKEY),
    needs(&[("authentication_method", "pubkey")], &["shared_ca"], NO_SECRET_PUBKEY),
];

pub(in crate::model) const IPSEC_HOST: SdewanKind = SdewanKind {
    kind: "IpsecHost",
    plural: "ipsechosts",
    about: "A remote of IPsec to which the CNF is a roadwarrior: it asks for a virtual address.",
    finalizer: "ipsec.host.finalizers.sdewan.akraino.org",
    fields: &remote_fields(HOST_CONNECTION),
    ..REMOTE_KIND
};

pub(in crate::model) const IPSEC_SITE: SdewanKind = SdewanKind {
    kind: "IpsecSite",
    plural: "ipsecsites",
    about: "A remote of IPsec for which the CNF is a gateway: it answers, with subnets on its side.",
    finalizer: "ipsec.site.finalizers.sdewan.akraino.org",
    fields: &remote_fields(SITE_CONNECTION),
    ..REMOTE_KIND
};

/// The parts that both kinds of remotes share.
const REMOTE_KIND: SdewanKind = SdewanKind {
    collection: Some(CollectionId::Remotes),
    rules: AUTHENTICATION_RULES,
    is_in_page_group: true,
    ..RULE
};

const fn remote_fields(connection: &'static [Field]) -> [Field; 13] {
    [
        NAME,
        TYPE,
        REMOTE,
        AUTHENTICATION,
        CRYPTO_PROPOSAL,
        FORCE,
        PRE_SHARED_KEY,
        PUBLIC_CERT,
        PRIVATE_CERT,
        SHARED_CA,
        LOCAL_ID,
        REMOTE_ID,
        Field::of("connections", Shape::Objects(connection), ABOUT_CONNECTIONS)
            .required()
            .check(Check::Any, "invalid connection"),
    ]
}

//! Kinds that this server stores, validates by their types and serves, without a controller.

use std::sync::Arc;

use machinery_objects::NameRule::PathSegment;

use super::{Native, native};
use crate::native::api_service::ApiServices;
use crate::native::autoscaling::AutoscalerForm;
use crate::native::certificates::SigningRequests;

const BATCH: &str = "batch";
const CERTIFICATES: &str = "certificates.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const STORAGE: &str = "storage.k8s.io";

/// A workload: it has a status, counts its generations, and is in the category `all`.
const fn workload(group: &'static str, kind: &'static str, plural: &'static str) -> Native {
    Native { status: true, generation: true, all: true, ..native(group, kind, plural) }
}

pub(super) const RECORDS: &[Native] = &[
    Native { short: &["ep"], ..native("", "Endpoints", "endpoints") },
    Native { short: &["limits"], ..native("", "LimitRange", "limitranges") },
    Native {
        short: &["pv"],
        namespaced: false,
        status: true,
        returns_deleted: true,
        fields: &["name"],
        ..native("", "PersistentVolume", "persistentvolumes")
    },
    Native {
        short: &["pvc"],
        status: true,
        returns_deleted: true,
        fields: &["name"],
        ..native("", "PersistentVolumeClaim", "persistentvolumeclaims")
    },
    Native { generation: true, returns_deleted: true, ..native("", "PodTemplate", "podtemplates") },
    Native {
        short: &["rc"],
        scale: true,
        fields: &["status.replicas"],
        ..workload("", "ReplicationController", "replicationcontrollers")
    },
    Native { short: &["ds"], ..workload("apps", "DaemonSet", "daemonsets") },
    Native { short: &["sts"], scale: true, ..workload("apps", "StatefulSet", "statefulsets") },
    Native { short: &["cj"], ..workload(BATCH, "CronJob", "cronjobs") },
    Native { fields: &["status.successful"], ..workload(BATCH, "Job", "jobs") },
    Native {
        short: &["hpa"],
        hooks: || Arc::new(AutoscalerForm::First),
        ..workload("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
    },
    Native {
        version: "v2",
        short: &["hpa"],
        hooks: || Arc::new(AutoscalerForm::Second),
        ..workload("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
    },
    Native {
        short: &["csr"],
        namespaced: false,
        status: true,
        names: PathSegment,
        fields: &["spec.signerName"],
        hooks: || Arc::new(SigningRequests),
        ..native(CERTIFICATES, "CertificateSigningRequest", "certificatesigningrequests")
    },
    Native { generation: true, ..native("discovery.k8s.io", "EndpointSlice", "endpointslices") },
    Native { short: &["ing"], status: true, generation: true, ..native(NETWORKING, "Ingress", "ingresses") },
    Native { short: &["netpol"], generation: true, ..native(NETWORKING, "NetworkPolicy", "networkpolicies") },
    Native { namespaced: false, careful: true, ..native("node.k8s.io", "RuntimeClass", "runtimeclasses") },
    Native {
        short: &["pdb"],
        status: true,
        generation: true,
        careful: true,
        ..native("policy", "PodDisruptionBudget", "poddisruptionbudgets")
    },
    Native {
        short: &["pc"],
        namespaced: false,
        generation: true,
        ..native("scheduling.k8s.io", "PriorityClass", "priorityclasses")
    },
    Native {
        namespaced: false,
        careful: true,
        returns_deleted: true,
        ..native(STORAGE, "CSINode", "csinodes")
    },
    Native {
        short: &["sc"],
        namespaced: false,
        returns_deleted: true,
        ..native(STORAGE, "StorageClass", "storageclasses")
    },
    Native {
        namespaced: false,
        status: true,
        careful: true,
        names: PathSegment,
        hooks: || Arc::new(ApiServices),
        ..native(crate::native::api_service::GROUP, "APIService", "apiservices")
    },
];

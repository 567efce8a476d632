//! The cluster given by the environment.

use machinery::k8s_openapi::api::core::v1::Namespace;
use machinery::kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use machinery::kube::kube_client::{Client, Config};
use machinery::kube::{Connections, Remote, ServerProfile};
use machinery::objects::{Kind, Writer};

pub(crate) async fn client() -> Client {
    let path = std::env::var("KUBERNETES_UNDER_TEST").expect("`cargo xtask kubernetes` says where it is");
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    machinery::kube::client(config, Connections::default()).unwrap()
}

/// Creates a namespace.
pub(crate) async fn namespace(client: &Client, name: &str) -> String {
    let namespaces = Remote::<Namespace>::new(
        client.clone(),
        Kind::of::<Namespace>().unwrap(),
        ServerProfile::kubernetes(),
    );
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.into());
    namespaces.create(&namespace, None).await.unwrap();
    name.to_owned()
}

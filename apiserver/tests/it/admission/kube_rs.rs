//! A webhook that is written with kube-rs: its types of reviews, both ways.

use kube::core::DynamicObject;
use kube::core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation};
use kube_client::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube_client::{Api, ResourceExt};
use machinery_apiserver::Identity;
use serde_json::{Value, json};

use super::hook::{Hook, Reply, configure, mutating, webhook};
use crate::client::widgets;
use crate::typed::{Widget, widget};

/// Greens are refused; others are labelled.
fn answer(review: &Value) -> Value {
    let review: AdmissionReview<DynamicObject> = serde_json::from_value(review.clone()).unwrap();
    let request: AdmissionRequest<DynamicObject> = match review.try_into() {
        Ok(request) => request,
        Err(error) => return serde_json::to_value(AdmissionResponse::invalid(error).into_review()).unwrap(),
    };
    let mut response = AdmissionResponse::from(&request);
    let Some(object) = &request.object else {
        assert!(request.operation == Operation::Delete && request.old_object.is_some());
        return serde_json::to_value(response.into_review()).unwrap();
    };
    if object.data["spec"]["color"] == "green" {
        response = response.deny("no green");
    } else if !object.labels().contains_key("admitted") {
        let patch =
            json!([{"op": "add", "path": "/metadata/labels/admitted", "value": request.user_info.username}]);
        response = response.with_patch(serde_json::from_value(patch).unwrap()).unwrap();
    }
    serde_json::to_value(response.into_review()).unwrap()
}

#[tokio::test]
async fn a_webhook_with_the_types_of_kube_rs_works() {
    let hook = Hook::new(|_, review| Reply::Bytes(200, answer(review).to_string().into_bytes())).await;
    let (server, client) = widgets().await;
    configure(&client, &mutating("all", &[webhook("all", &hook.at("/mutate"), &json!({}))])).await;
    let api: Api<Widget> =
        Api::default_namespaced(kube_client::Client::new(server.service(Identity::admin()), "default"));
    let made = api.create(&PostParams::default(), &widget("a", "red")).await.unwrap();
    assert_eq!(made.labels()["admitted"], "admin");
    let error = api.create(&PostParams::default(), &widget("b", "green")).await.unwrap_err();
    let kube_client::Error::Api(status) = error else { panic!("{error:?}") };
    assert_eq!(status.message, "admission webhook \"all.example.com\" denied the request: no green");
    let patch = Patch::Merge(json!({"spec": {"color": "blue"}}));
    assert_eq!(api.patch("a", &PatchParams::default(), &patch).await.unwrap().spec.color.unwrap(), "blue");
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(hook.seen().len(), 4);
}

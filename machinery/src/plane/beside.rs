//! Further planes on the server of a plane.

use super::builder::{ObjectLocation, PlaneBuilder};
use super::handle::Plane;

impl Plane {
    /// Returns a builder of another plane on the same server, as a second process would have it:
    /// with its own informers, controllers and shutdown. An embedded server runs until the plane
    /// that started it stops, and serves that plane's kinds. Its user is that of this plane, unless
    /// [`identity`](PlaneBuilder::identity) sets another one.
    ///
    /// ```
    /// # #[cfg(feature = "embedded")] async fn example() -> machinery::Result {
    /// # use machinery::k8s_openapi::api::core::v1::ConfigMap;
    /// let plane = machinery::embedded().start().await?;
    /// let other = plane.beside().start().await?;
    /// other.stop().await;                                         // the server still runs
    /// assert!(plane.objects::<ConfigMap>()?.list(&Default::default()).await.is_ok());
    /// # Ok(()) }
    /// # #[cfg(feature = "embedded")]
    /// # machinery::tokio::runtime::Builder::new_current_thread()
    /// #     .enable_all()
    /// #     .build()
    /// #     .unwrap()
    /// #     .block_on(example())
    /// #     .unwrap();
    /// ```
    pub fn beside(&self) -> PlaneBuilder {
        let mut builder = PlaneBuilder::at(ObjectLocation::Shared(Box::new(self.transport().share())));
        builder.surroundings = self.0.surroundings.beside();
        #[cfg(feature = "embedded")]
        if let Some(identity) = self.transport().identity() {
            builder.identity = identity.clone();
        }
        builder
    }
}

//! Live lists, bypassing the cache.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery_objects::{Filter, ListError, ListRequest, ListWatch, Page};

/// Requests one page.
pub(super) type ListPage<K> =
    dyn Fn(ListRequest) -> BoxFuture<'static, Result<Page<Arc<K>>, ListError>> + Send + Sync;

pub(super) fn list_page<K, S>(source: Arc<dyn ListWatch<S>>) -> Arc<ListPage<K>>
where
    K: Send + Sync + 'static,
    S: Into<Arc<K>> + Send + 'static,
{
    Arc::new(move |request| {
        let source = source.clone();
        async move {
            let Page { items, unreadable, version, rest, remaining } = source.list(request).await?;
            let items = items.into_iter().map(Into::into).collect();
            Ok(Page { items, unreadable, version, rest, remaining })
        }
        .boxed()
    })
}

/// Collects all pages of a list at one resourceVersion.
pub(super) async fn list_all<K>(list_page: &ListPage<K>, filter: &Filter) -> Result<Vec<Arc<K>>, ListError> {
    let (mut items, mut rest) = (Vec::new(), None);
    loop {
        let request = ListRequest { filter: filter.clone(), rest, ..ListRequest::default() };
        let page = list_page(request).await?;
        items.extend(page.items);
        match page.rest {
            None => return Ok(items),
            more => rest = more,
        }
    }
}

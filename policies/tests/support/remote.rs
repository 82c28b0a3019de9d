//! An upstream to point at, for tests that only care which one was chosen.

use spillway_policies::model::UpstreamModel;
use spillway_policies::routing::Onboarding;
use spillway_policies::upstream::{Kind, Params, Timeouts, TlsFiles, UpstreamName};
use spillway_policies::url::BaseUrl;
use spillway_policies::{Remote, Upstream, breaker, rate_cap};
use std::sync::Arc;

/// A remote side that serves `model`.
pub(crate) fn remote(model: &str) -> Remote {
    let upstream = Upstream {
        name: UpstreamName::parse("team").unwrap(),
        kind: Kind::Sie,
        base_url: BaseUrl::parse("https://host.example.com").unwrap(),
        credential: None,
        rate_cap: rate_cap::Settings { requests_per_minute: 60, max_concurrency: 4 },
        breaker: breaker::Settings::default(),
        params: Params::default(),
        timeouts: Timeouts::default(),
        tls: TlsFiles::default(),
        proxy_url: None,
    };
    Remote {
        upstream: Arc::new(upstream),
        model: UpstreamModel::parse(model).unwrap(),
        max_batch: None,
        onboarding: Onboarding::default(),
    }
}

//! What does pingora's own proxy cost for the same job? The benchmark's yardstick, not part of the product.
//!
//! `stock LISTEN ENGINE`: pingora's `ProxyHttp` with nothing but a peer and the disclosure header, one worker thread,
//! as conformance/bench/run.sh runs it beside the sidecar and nginx.

use std::sync::Arc;

use async_trait::async_trait;
use pingora_core::{
    Result, server::configuration::ServerConf, services::Service as _, services::listening::Service,
    upstreams::peer::HttpPeer,
};
use pingora_http::ResponseHeader;
use pingora_proxy::{HttpProxy, ProxyHttp, Session, http_proxy_service};

struct Stock {
    engine: String,
}

#[async_trait]
impl ProxyHttp for Stock {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn upstream_peer(&self, _session: &mut Session, _ctx: &mut ()) -> Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.engine.as_str(), false, String::new())))
    }

    async fn response_filter(&self, _session: &mut Session, answer: &mut ResponseHeader, _ctx: &mut ()) -> Result<()> {
        answer.insert_header("X-SIE-Served-By", "local")
    }
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(listen), Some(engine)) = (arguments.next(), arguments.next()) else {
        return Err(std::io::Error::other("usage: stock LISTEN ENGINE"));
    };
    // As many idle engine connections as nginx is given.
    let conf = ServerConf { threads: 1, upstream_keepalive_pool_size: 512, ..ServerConf::default() };
    let mut service: Service<HttpProxy<Stock, ()>> = http_proxy_service(&Arc::new(conf), Stock { engine });
    service.add_tcp(&listen);
    // Never told to stop: the benchmark ends the process.
    let (_running, shutdown) = tokio::sync::watch::channel(false);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?
        .block_on(service.start_service(None, shutdown, 1));
    Ok(())
}

//! Does every transport carry the same bytes? The real binary between an independent client and an independent engine.

#[path = "transport/certificates.rs"]
mod certificates;
#[path = "transport/drain.rs"]
mod drain;
#[path = "transport/engine.rs"]
mod engine;
#[path = "transport/full_lane.rs"]
mod full_lane;
#[path = "transport/http2.rs"]
mod http2;
#[path = "transport/large.rs"]
mod large;
#[path = "transport/matrix.rs"]
mod matrix;
#[path = "transport/own_answers.rs"]
mod own_answers;
#[path = "transport/pipe.rs"]
mod pipe;
#[path = "transport/pressure.rs"]
mod pressure;
#[path = "transport/sidecar.rs"]
mod sidecar;
#[path = "transport/start.rs"]
mod start;
#[path = "transport/tls_front.rs"]
mod tls_front;
#[path = "transport/tls_upstream.rs"]
mod tls_upstream;
#[path = "transport/versions.rs"]
mod versions;
#[path = "transport/websocket.rs"]
mod websocket;

//! What generation asks of upstreams, and what the caller gets back.

mod generate;
mod host;
mod responses;
mod shapes;
mod verbatim;

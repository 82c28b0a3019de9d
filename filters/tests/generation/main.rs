//! What generation asks of upstreams, and what the caller gets back.

mod finished;
mod generate;
mod host;
mod onboarded;
mod properties;
mod responses;
mod shapes;
mod streams;
mod transcripts;
mod verbatim;

//! What does it look like on the wire? Pure transforms between bytes and the vocabulary of `policies`.
//!
//! No socket, no clock, no task: bytes in, values or bytes out. `proxy` decides when to call what.
#![warn(missing_docs)]

pub mod answer;
pub mod call;
pub mod dialect;
pub mod disclose;
pub mod edit;
pub mod error_answer;
pub mod event_stream;
pub mod feed;
pub mod foresight;
pub mod marks;
pub mod models;
pub mod multipart;
pub mod names;
pub mod paths;
pub mod presets;
pub mod prime;
pub mod reasoning;
pub mod refusal;
pub mod scan;
pub mod shape;
pub mod sighting;
pub mod stream;
pub mod stream_error;
pub mod strict;
mod surrogates;
pub mod template;
pub mod tools;
mod tree;
pub mod upstream_status;
pub mod validate;
pub mod wire;
mod writer;

//! The HTTP/1.1 codec: what passes, what is refused, what the other side gets to see, and where bodies end.

mod chunk;
mod corpus;
mod fixture;
mod laws;
mod properties;
mod request;
mod response;
mod vectors;

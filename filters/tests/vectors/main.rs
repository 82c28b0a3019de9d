//! What encode, score, extract, embeddings and rerank ask of upstreams, and what the caller gets back.

mod embeddings;
mod encode;
mod fixtures;
mod host;
mod native;
mod rerank;
mod scores;
mod shapes;

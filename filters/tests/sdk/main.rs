//! What the SIE SDK sends, reads and does: SIE's own client is understood, and understands us.

mod disclosure;
mod requests;
mod retries;

//! demo
/// x
pub fn run() -> u8 {
    0
}

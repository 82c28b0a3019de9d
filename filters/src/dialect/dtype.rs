//! In which numbers does a caller of encode read its vectors?
//!
//! SIE computes every other form from 32-bit floats, each vector for itself, so it can be done here (fixture `output_dtypes.json`).

use crate::answer::{OutputDtype, vector};
use crate::writer::msgpack;
use half::f16;

impl OutputDtype {
    /// The numbers of a vector of little-endian 32-bit floats, as they stand in an array; `buffer` is room for them.
    pub(super) fn pack<'b>(self, floats: &'b [u8], buffer: &'b mut Vec<u8>) -> &'b [u8] {
        let numbers = floats.as_chunks::<4>().0.iter().map(|float| f32::from_le_bytes(*float));
        buffer.clear();
        match self {
            Self::Float32 => return floats,
            Self::Float16 => numbers.for_each(|number| buffer.extend(f16::from_f32(number).to_le_bytes())),
            Self::Int8 => {
                let largest = numbers.clone().fold(0.0, |largest: f32, number| largest.max(number.abs()));
                let scale = if largest == 0.0 { 1.0 } else { largest };
                buffer.extend(numbers.map(|number| to_i8(number / scale * 127.0).to_le_bytes()[0]));
            }
            Self::Uint8 => {
                let smallest = numbers.clone().fold(f32::INFINITY, f32::min);
                let range = numbers.clone().fold(f32::NEG_INFINITY, f32::max) - smallest;
                let range = if range == 0.0 { 1.0 } else { range };
                buffer.extend(numbers.map(|number| to_u8((number - smallest) / range * 255.0)));
            }
            Self::Binary | Self::Ubinary => {
                let bit = |bits: u8, (place, float): (usize, &[u8; 4])| {
                    bits | u8::from(f32::from_le_bytes(*float) > 0.0) << (7 - place)
                };
                buffer.extend(floats.chunks(32).map(|run| run.as_chunks::<4>().0.iter().enumerate().fold(0, bit)));
            }
        }
        buffer
    }

    /// What SIE says of a packed vector: its width and the name of its numbers. It knows packed bits only by their being fewer than the
    /// declared width.
    pub(super) const fn stated(self, packed: usize, declared: Option<usize>) -> (usize, &'static str) {
        let width = match declared {
            Some(width) => width,
            None => packed,
        };
        match self {
            Self::Binary | Self::Ubinary if packed < width => (width, "binary"),
            Self::Binary | Self::Ubinary | Self::Uint8 => (width, "uint8"),
            Self::Float16 => (width, "float16"),
            Self::Float32 => (width, "float32"),
            Self::Int8 => (width, "int8"),
        }
    }

    /// Bytes of one packed number.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Binary | Self::Int8 | Self::Ubinary | Self::Uint8 => 1,
            Self::Float16 => 2,
            Self::Float32 => 4,
        }
    }

    /// Appends packed numbers as a numpy array in msgpack, whose names are bytes (contract section 0 item 7).
    pub(super) fn write_array(self, packed: &[u8], out: &mut Vec<u8>) {
        let name = match self {
            Self::Binary | Self::Ubinary | Self::Uint8 => "|u1",
            Self::Float16 => "<f2",
            Self::Float32 => "<f4",
            Self::Int8 => "|i1",
        };
        msgpack::write_map_head(5, out);
        msgpack::write_bytes(b"nd", out);
        out.push(0xc3);
        msgpack::write_bytes(b"type", out);
        msgpack::write_text(name, out);
        msgpack::write_bytes(b"kind", out);
        msgpack::write_bytes(b"", out);
        msgpack::write_bytes(b"shape", out);
        msgpack::write_list_head(1, out);
        msgpack::write_whole((packed.len() / self.size()) as u64, out);
        msgpack::write_bytes(b"data", out);
        msgpack::write_bytes(packed, out);
    }

    /// Appends packed numbers as a JSON list; none when one of them is not finite, as a large number is in 16 bits.
    pub(super) fn write_json(self, packed: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Float32 => vector::write_numbers(packed, out),
            Self::Float16 => {
                let mut floats = Vec::with_capacity(packed.len() * 2);
                for half in packed.as_chunks::<2>().0 {
                    let number = f16::from_le_bytes(*half).to_f32();
                    number.is_finite().then_some(())?;
                    floats.extend_from_slice(&number.to_le_bytes());
                }
                vector::write_numbers(&floats, out);
            }
            Self::Int8 => vector::write_list(packed.iter().map(|byte| i8::from_le_bytes([*byte])), out),
            Self::Binary | Self::Ubinary | Self::Uint8 => vector::write_list(packed.iter().copied(), out),
        }
        Some(())
    }
}

/// Scales a vector of little-endian 32-bit floats to length one; one of length zero stays.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the length of a vector of 32-bit floats is one, as SIE computes it"
)]
pub(super) fn normalize(floats: &mut [u8]) {
    let floats = floats.as_chunks_mut::<4>().0;
    let squares = floats.iter().map(|float| f64::from(f32::from_le_bytes(*float)).powi(2));
    let length = squares.sum::<f64>().sqrt() as f32;
    if length > 0.0 {
        floats.iter_mut().for_each(|float| *float = (f32::from_le_bytes(*float) / length).to_le_bytes());
    }
}

/// Rounds half to even, as numpy does.
#[expect(clippy::cast_possible_truncation, reason = "it lies in -127..=127")]
fn to_i8(number: f32) -> i8 {
    number.round_ties_even() as i8
}

/// Rounds half to even, as numpy does; what overflowed on the way is zero there too.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies in 0..=255 or is no number")]
fn to_u8(number: f32) -> u8 {
    number.round_ties_even() as u8
}

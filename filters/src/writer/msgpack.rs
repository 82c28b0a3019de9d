//! How are the values of msgpack written? In the shortest form that holds them, as SIE writes them.

/// Appends the head of a list of so many values.
pub(crate) fn write_list_head(count: usize, out: &mut Vec<u8>) {
    match u16::try_from(count) {
        Ok(count) if count < 16 => out.push(0x90 | count.to_be_bytes()[1]),
        Ok(count) => put(out, 0xdc, &count.to_be_bytes()),
        Err(_) => put(out, 0xdd, &narrow(count).to_be_bytes()),
    }
}

/// Appends the head of a map of so many members.
pub(crate) fn write_map_head(count: usize, out: &mut Vec<u8>) {
    match u16::try_from(count) {
        Ok(count) if count < 16 => out.push(0x80 | count.to_be_bytes()[1]),
        Ok(count) => put(out, 0xde, &count.to_be_bytes()),
        Err(_) => put(out, 0xdf, &narrow(count).to_be_bytes()),
    }
}

/// Appends a text.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    match u16::try_from(text.len()) {
        Ok(len) if len < 32 => out.push(0xa0 | len.to_be_bytes()[1]),
        Ok(len) if len < 256 => put(out, 0xd9, &len.to_be_bytes()[1..]),
        Ok(len) => put(out, 0xda, &len.to_be_bytes()),
        Err(_) => put(out, 0xdb, &narrow(text.len()).to_be_bytes()),
    }
    out.extend_from_slice(text.as_bytes());
}

/// Appends bytes.
pub(crate) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    match u16::try_from(bytes.len()) {
        Ok(len) if len < 256 => put(out, 0xc4, &len.to_be_bytes()[1..]),
        Ok(len) => put(out, 0xc5, &len.to_be_bytes()),
        Err(_) => put(out, 0xc6, &narrow(bytes.len()).to_be_bytes()),
    }
    out.extend_from_slice(bytes);
}

/// Appends a whole number in its shortest form.
pub(crate) fn write_whole(number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    match number {
        0..=0x7f => out.push(bytes[7]),
        0x80..=0xff => put(out, 0xcc, &bytes[7..]),
        0x100..=0xffff => put(out, 0xcd, &bytes[6..]),
        0x1_0000..=0xffff_ffff => put(out, 0xce, &bytes[4..]),
        _ => put(out, 0xcf, &bytes),
    }
}

/// Appends a number as a 64-bit float.
pub(crate) fn write_float(number: f64, out: &mut Vec<u8>) {
    put(out, 0xcb, &number.to_be_bytes());
}

/// A length as msgpack has room for it. Nothing here is ever longer: a body is bounded far below.
fn narrow(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn put(out: &mut Vec<u8>, marker: u8, bytes: &[u8]) {
    out.push(marker);
    out.extend_from_slice(bytes);
}

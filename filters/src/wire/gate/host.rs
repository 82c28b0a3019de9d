//! Does a Host value name one host and at most a port?

/// Whether `value` is empty (allowed when a client has no authority, as over a Unix socket), a name, an IPv4 address or a bracketed
/// IPv6 address, with at most a port. Lists, user information and spaces are not.
pub(in crate::wire) fn is_host(value: &[u8]) -> bool {
    if value.is_empty() {
        return true;
    }
    let (host, port) = match value {
        [b'[', rest @ ..] => {
            let Some(close) = rest.iter().position(|byte| *byte == b']') else { return false };
            if !rest[..close].iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')) {
                return false;
            }
            (&rest[..close], rest.get(close + 1..).unwrap_or_default())
        }
        _ => value.split_at(value.iter().position(|byte| !is_name_byte(*byte)).unwrap_or(value.len())),
    };
    !host.is_empty() && is_port(port)
}

const fn is_name_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~')
}

/// Whether `value` is empty or a colon and a port number.
fn is_port(value: &[u8]) -> bool {
    match value {
        [] => true,
        [b':', digits @ ..] => {
            (1..=5).contains(&digits.len())
                && digits
                    .iter()
                    .try_fold(0u32, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))
                    .is_some_and(|port| port <= 65_535)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn a_host_is_one_name_or_address_and_at_most_a_port() {
        for host in ["", "t", "a-b_c.d~e", "127.0.0.1:8080", "[::1]", "[::ffff:127.0.0.1]:1", "t:65535"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn lists_user_information_and_bad_ports_are_no_host() {
        for host in [
            "a, b", "a,b", "a@b", "a b", "a:b", "a:", ":80", "a:1:2", "t:65536", "t:000080", "[::1", "[]", "[::1]x",
            "[a b]", "a/b", "a%41",
        ] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
        assert!(!is_host(b"t\xa0"));
    }
}

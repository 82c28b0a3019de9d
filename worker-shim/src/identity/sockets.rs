//! Which sockets listen at the engine's address?

use super::machine::Machine;
use crate::config::Address;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

/// The kernel's number for a TCP socket that listens.
const LISTENS: &str = "0A";

/// The kernel's flag of a Unix socket that listens.
const ACCEPTS: &str = "00010000";

/// The sockets at this address, as `/proc/PID/fd` names them; none when there is none, or when it is an address of another machine.
pub(super) fn listening(machine: &Machine, address: &Address) -> Option<Vec<PathBuf>> {
    // A line at a time: on a machine with many connections these tables have megabytes.
    let read = |name| {
        let table = File::open(machine.path(format!("/proc/{}/net/{name}", machine.shim()))).ok();
        let lines = table.into_iter().flat_map(|table| BufReader::new(table).split(b'\n').map_while(Result::ok));
        lines.map(|line| String::from_utf8_lossy(&line).into_owned())
    };
    let inodes: Vec<String> = match address {
        Address::Tcp(authority) => {
            let port = port_here(authority)?;
            read("tcp").chain(read("tcp6")).filter_map(|line| tcp(&line, port)).collect()
        }
        Address::Unix(path) => read("unix").filter_map(|line| unix(&line, path.to_str()?)).collect(),
    };
    (!inodes.is_empty()).then(|| inodes.iter().map(|inode| format!("socket:[{inode}]").into()).collect())
}

fn port_here(authority: &str) -> Option<u16> {
    let (host, port) = authority.rsplit_once(':')?;
    let here = host == "localhost" || host == "[::1]" || host.starts_with("127.");
    port.parse().ok().filter(|_| here)
}

/// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …`.
fn tcp(line: &str, port: u16) -> Option<String> {
    let columns: Vec<_> = line.split_ascii_whitespace().collect();
    let (_, bound) = columns.get(1)?.rsplit_once(':')?;
    let listens = *columns.get(3)? == LISTENS && u16::from_str_radix(bound, 16) == Ok(port);
    listens.then(|| columns.get(9).map(|inode| (*inode).to_owned()))?
}

/// `num refcount protocol flags type st inode path`.
fn unix(line: &str, path: &str) -> Option<String> {
    let columns: Vec<_> = line.split_ascii_whitespace().collect();
    let listens = *columns.get(3)? == ACCEPTS && *columns.get(7)? == path;
    listens.then(|| columns.get(6).map(|inode| (*inode).to_owned()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, table: &str) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("proc/7/net")).unwrap();
        std::fs::write(folder.path().join("proc/7/net").join(name), table).unwrap();
        let machine = Machine::at(folder.path().to_owned(), 7);
        (folder, machine)
    }

    #[test]
    fn every_socket_that_listens_on_the_port_counts() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 11 1
   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:9C40 01 0:0 00:0 0 0 0 12 1
   2: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 13 1
   3: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 14 1
";
        let (_folder, machine) = machine("tcp6", table);
        let wanted = Some(vec![PathBuf::from("socket:[11]"), PathBuf::from("socket:[14]")]);
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert_eq!(listening(&machine, &Address::Tcp(format!("{host}:8080"))), wanted, "{host}");
        }
        for elsewhere in ["10.0.0.5:8080", "engine.example:8080", "localhost:80", "localhost"] {
            assert_eq!(listening(&machine, &Address::Tcp(elsewhere.into())), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_unix_socket_is_known_by_its_path() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path
0: 00000002 00000000 00010000 0001 01 21 /run/engine.sock
0: 00000003 00000000 00000000 0001 03 22 /run/engine.sock
0: 00000002 00000000 00010000 0001 01 23 /run/other.sock
0: 00000003 00000000 00000000 0001 03 24
";
        let (_folder, machine) = machine("unix", table);
        let found = listening(&machine, &Address::Unix("/run/engine.sock".into()));
        assert_eq!(found, Some(vec![PathBuf::from("socket:[21]")]));
        assert_eq!(listening(&machine, &Address::Unix("/run/absent.sock".into())), None);
    }
}

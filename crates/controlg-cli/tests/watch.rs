//! `pretrain --watch` serves the report on localhost during the run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use tempfile::TempDir;

fn get(address: &str, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn serves_the_report_of_a_running_run() {
    let folder = TempDir::new().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(["pretrain", "synthetic", "--watch", "--set=train.epochs=1000", "--threads=1", "--out"])
        .arg(folder.path().join("run"))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = stderr
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("watch: http://").map(str::to_owned))
        .expect("the address is printed");
    assert!(address.starts_with("127.0.0.1:"));
    // After the first epoch there is a record.
    assert!(stderr.map_while(Result::ok).any(|line| line.starts_with("epoch 1/")));
    let port = address.rsplit(':').next().unwrap();

    let page = get(&address, &address, "/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("id=\"schedule\""), "{page:.300}");
    // Reload, with the host name localhost.
    assert!(get(&address, &format!("localhost:{port}"), "/").starts_with("HTTP/1.1 200"));
    let rejected = get(&address, "somewhere.example", "/");
    assert!(rejected.starts_with("HTTP/1.1 403") && !rejected.contains("schedule"), "{rejected}");
    assert!(get(&address, &address, "/etc/passwd").starts_with("HTTP/1.1 404"));
    // Invalid requests and dropped connections are ignored.
    TcpStream::connect(&address).unwrap().write_all(&[0xff; 100]).unwrap();
    drop(TcpStream::connect(&address).unwrap());
    assert!(get(&address, &address, "/").starts_with("HTTP/1.1 200"));
    assert!(child.try_wait().unwrap().is_none(), "the run continues");
    child.kill().unwrap();
    child.wait().unwrap();
}

//! `pretrain --watch`: the page is there while the run goes on, for this machine alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use tempfile::TempDir;

fn ask(address: &str, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_report_of_a_run_in_progress() {
    let folder = TempDir::new().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args(["pretrain", "synthetic", "--watch", "--set=train.epochs=1000", "--threads=1", "--out"])
        .arg(folder.path().join("run"))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = said
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("watch: http://").map(str::to_owned))
        .expect("the address is said");
    assert!(address.starts_with("127.0.0.1:"));
    // An epoch's line means that there is a record.
    assert!(said.map_while(Result::ok).any(|line| line.starts_with("epoch 1/")));
    let port = address.rsplit(':').next().unwrap();

    let page = ask(&address, &address, "/");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("id=\"schedule\""), "{page:.300}");
    // Again, as after a reload, and under the other name of this machine.
    assert!(ask(&address, &format!("localhost:{port}"), "/").starts_with("HTTP/1.1 200"));
    let refused = ask(&address, "somewhere.example", "/");
    assert!(refused.starts_with("HTTP/1.1 403") && !refused.contains("schedule"), "{refused}");
    assert!(ask(&address, &address, "/etc/passwd").starts_with("HTTP/1.1 404"));
    // Nonsense and a caller that hangs up hurt nobody.
    TcpStream::connect(&address).unwrap().write_all(&[0xff; 100]).unwrap();
    drop(TcpStream::connect(&address).unwrap());
    assert!(ask(&address, &address, "/").starts_with("HTTP/1.1 200"));
    assert!(child.try_wait().unwrap().is_none(), "the run goes on");
    child.kill().unwrap();
    child.wait().unwrap();
}

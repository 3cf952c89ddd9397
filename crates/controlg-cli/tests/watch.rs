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
    assert!(page.contains("data-state=\"running\"") && page.contains(" left</p>"), "{page:.3000}");
    // Reload, with the host name localhost.
    assert!(get(&address, &format!("localhost:{port}"), "/").starts_with("HTTP/1.1 200"));
    let rejected = get(&address, "somewhere.example", "/");
    assert!(rejected.starts_with("HTTP/1.1 403") && !rejected.contains("schedule"), "{rejected}");
    assert!(get(&address, &address, "/etc/passwd").starts_with("HTTP/1.1 404"));
    // Invalid requests and dropped connections are ignored.
    TcpStream::connect(&address).unwrap().write_all(&[0xff; 100]).unwrap();
    drop(TcpStream::connect(&address).unwrap());
    assert!(get(&address, &address, "/").starts_with("HTTP/1.1 200"));
    // No other page may frame it, and it loads nothing from elsewhere.
    assert!(page.contains("frame-ancestors 'none'") && page.contains("X-Frame-Options: DENY"), "{page:.900}");
    assert!(page.contains("default-src 'none'"), "{page:.900}");
    // Clients that send nothing, or one byte a second, do not keep others waiting.
    let mut idle: Vec<TcpStream> = (0..12).map(|_| TcpStream::connect(&address).unwrap()).collect();
    idle.iter_mut().for_each(|stream| stream.write_all(b"G").unwrap());
    let asked = std::time::Instant::now();
    assert!(get(&address, &address, "/").starts_with("HTTP/1.1 200"));
    assert!(asked.elapsed() < std::time::Duration::from_secs(4), "{:?}", asked.elapsed());
    // They are cut off, however slowly they go on.
    let mut slow = idle.pop().unwrap();
    let cut = (0..40).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(500));
        slow.write_all(b"E").is_err()
    });
    assert!(cut, "a slow client is served for ever");
    assert!(child.try_wait().unwrap().is_none(), "the run continues");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_last_page_says_finished_and_the_run_leaves_its_report() {
    let folder = TempDir::new().unwrap();
    let run = folder.path().join("run");
    let mut child = Command::new(env!("CARGO_BIN_EXE_controlg"))
        .args([
            "pretrain",
            "synthetic:nodes=200",
            "--watch",
            "--set=encoder.width=16",
            "--set=train.epochs=12",
        ])
        .args(["--set=train.batches_per_epoch=40", "--threads=1", "--out"])
        .arg(&run)
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
    // Ask as the page does; the server answers until it has shown the last page.
    let mut seen = Vec::new();
    let last = loop {
        let page = get(&address, &address, "/");
        let state = page.split("data-state=\"").nth(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        seen.extend(state.clone());
        if state.as_deref() == Some("finished") {
            break page;
        }
        std::thread::sleep(std::time::Duration::from_millis(30));
    };
    assert_eq!(seen.first().map(String::as_str), Some("running"), "{seen:?}");
    assert!(last.contains("step 480 of 480 in ") && last.contains("id=\"map\""), "{last:.2000}");
    assert!(child.wait().unwrap().success());
    assert!(TcpStream::connect(&address).is_err(), "the port is closed");
    let notes: Vec<String> = stderr.map_while(Result::ok).collect();
    assert!(notes.iter().any(|line| line.starts_with("report: ")), "{notes:?}");
    // The page is the one that `controlg report` writes.
    let left = std::fs::read_to_string(run.join("report.html")).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_controlg")).arg("report").arg(&run).status().unwrap();
    assert!(status.success());
    assert!(
        left == std::fs::read_to_string(run.join("report.html")).unwrap() && !left.contains("data-state")
    );
}

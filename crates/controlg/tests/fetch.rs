//! Downloads from a local server that behaves well or badly.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use controlg::data::catalog;
use controlg::data::fetch::{
    Checksum, FetchOptions, FetchOrigin, FetchReport, RemoteFile, fetch, fetch_files,
};
use controlg::{Error, Result};
use tempfile::TempDir;

const CONTENT: &[u8] = b"the quick brown fox jumps over the lazy dog";
const SHA256: &str = "05c6e08f1d9fdafa03147fcb8f82f124c76d2f70e3d989dc8aadb5e7d7450bec";

/// Answers a request, given its path and the first byte of its range.
type Answer = dyn Fn(&mut TcpStream, &str, Option<usize>) + Send + Sync;

/// The path of a request and the first byte of its range.
type Request = (String, Option<usize>);

/// A local server that records its requests.
struct Server {
    base: String,
    requests: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn new(answer: impl Fn(&mut TcpStream, &str, Option<usize>) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<_>>> = Arc::default();
        let stop: Arc<AtomicBool> = Arc::default();
        let (log, stopped, answer): (_, _, Arc<Answer>) = (requests.clone(), stop.clone(), Arc::new(answer));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (mut stream, answer, log) = (stream.unwrap(), answer.clone(), log.clone());
                thread::spawn(move || {
                    if let Some((path, from)) = request(&stream) {
                        log.lock().unwrap().push((path.clone(), from));
                        answer(&mut stream, &path, from);
                    }
                });
            }
        });
        Server { base, requests, stop, thread: Some(thread) }
    }

    fn options(&self) -> FetchOptions {
        let short = Duration::from_millis(400);
        FetchOptions {
            base: Some(self.base.clone()),
            connect_timeout: Duration::from_secs(5),
            read_timeout: short,
            ..FetchOptions::default()
        }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.base.trim_start_matches("http://")); // wakes it up to see `stop`
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The path of a request and the first byte of its range.
fn request(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(std::result::Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let mut from = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some(range) = line.to_lowercase().strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().ok();
        }
    }
    Some((path, from))
}

fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// Serves content correctly, with support for ranges.
fn serve(stream: &mut TcpStream, content: &[u8], from: Option<usize>) {
    match from {
        None => send(stream, "200 OK", "", content),
        Some(from) if from >= content.len() => send(stream, "416 Range Not Satisfiable", "", b""),
        Some(from) => {
            let range = format!("Content-Range: bytes {from}-{}/{}\r\n", content.len() - 1, content.len());
            send(stream, "206 Partial Content", &range, &content[from..]);
        }
    }
}

fn file() -> RemoteFile<'static> {
    RemoteFile {
        path: "sub/fox.txt",
        exact_bytes: Some(CONTENT.len() as u64),
        most_bytes: CONTENT.len() as u64,
        check: Checksum::Sha256(SHA256),
        origin: FetchOrigin::Url("https://example.org/data/fox.txt"),
        required: true,
    }
}

fn run(files: &[RemoteFile<'_>], folder: &Path, options: &FetchOptions) -> Result<FetchReport> {
    fetch_files(files, folder, options, &mut |progress| {
        assert!(progress.total.is_none_or(|t| progress.done <= t))
    })
}

fn place(folder: &TempDir) -> (PathBuf, PathBuf) {
    (folder.path().join("sub/fox.txt"), folder.path().join("sub/fox.txt.part"))
}

/// Checks for a runtime error on one line that contains these fragments.
fn assert_failed(result: Result<FetchReport>, fragments: &[&str]) {
    let error: Error = result.unwrap_err();
    let line = error.to_string();
    assert_eq!(error.exit_code(), 3, "{line}");
    assert!(!line.contains('\n'));
    for fragment in fragments {
        assert!(line.contains(fragment), "{line}\n  lacks: {fragment}");
    }
}

#[test]
fn a_missing_file_is_downloaded_and_a_valid_one_kept() {
    let server = Server::new(|stream, _, from| serve(stream, CONTENT, from));
    let folder = tempfile::tempdir().unwrap();
    let report = run(&[file()], folder.path(), &server.options()).unwrap();
    assert_eq!((report.fetched, report.kept), (vec!["sub/fox.txt".to_owned()], vec![]));
    assert_eq!(fs::read(place(&folder).0).unwrap(), CONTENT);
    assert!(!place(&folder).1.exists());
    let report = run(&[file()], folder.path(), &server.options()).unwrap();
    assert_eq!((report.fetched, report.kept), (vec![], vec!["sub/fox.txt".to_owned()]));
    assert_eq!(server.requests(), [("/data/fox.txt".to_owned(), None)]);
}

#[test]
fn an_interrupted_download_resumes() {
    for supports_ranges in [true, false] {
        let first = AtomicBool::new(true);
        let server = Server::new(move |stream, _, from| {
            if first.swap(false, Ordering::SeqCst) {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", CONTENT.len());
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&CONTENT[..20]));
            } else {
                serve(stream, CONTENT, from.filter(|_| supports_ranges));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        assert_failed(
            run(&[file()], folder.path(), &server.options()),
            &["broke after 20", "again to resume"],
        );
        let (path, part) = place(&folder);
        assert!(!path.exists());
        assert_eq!(fs::read(&part).unwrap(), &CONTENT[..20]);
        run(&[file()], folder.path(), &server.options()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), CONTENT);
        assert!(!part.exists());
        assert_eq!(server.requests()[1].1, Some(20));
    }
}

#[test]
fn a_body_that_is_too_large_is_discarded() {
    let server = Server::new(|stream, _, _| {
        // An endless body without a length.
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
    });
    let folder = tempfile::tempdir().unwrap();
    assert_failed(run(&[file()], folder.path(), &server.options()), &["more than 43 bytes"]);
    assert!(!place(&folder).0.exists() && !place(&folder).1.exists());
}

#[test]
fn a_file_with_a_wrong_hash_is_discarded_and_the_error_names_both_hashes() {
    let wrong = [b'x'; CONTENT.len()];
    let server = Server::new(move |stream, _, from| serve(stream, &wrong, from));
    let folder = tempfile::tempdir().unwrap();
    let result = run(&[file()], folder.path(), &server.options());
    let line = result.as_ref().unwrap_err().to_string();
    assert_eq!(line.matches("sha256 ").count(), 2, "{line}");
    assert_failed(result, &[SHA256]);
    assert!(!place(&folder).0.exists() && !place(&folder).1.exists());
}

#[test]
fn an_existing_file_with_another_hash_is_overwritten_only_with_force() {
    let server = Server::new(|stream, _, from| serve(stream, CONTENT, from));
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = place(&folder);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "mine").unwrap();
    let error = run(&[file()], folder.path(), &server.options()).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("--force") && error.to_string().contains(SHA256), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert!(server.requests().is_empty());
    run(&[file()], folder.path(), &FetchOptions { force: true, ..server.options() }).unwrap();
    assert_eq!(fs::read(&path).unwrap(), CONTENT);
}

#[test]
fn redirects_are_followed_up_to_a_limit() {
    let server = Server::new(|stream, path, from| match path {
        "/data/fox.txt" => send(stream, "302 Found", "Location: /elsewhere/fox\r\n", b"gone"),
        "/elsewhere/fox" => send(stream, "307 Temporary Redirect", "Location: here\r\n", b""),
        _ => serve(stream, CONTENT, from),
    });
    let folder = tempfile::tempdir().unwrap();
    run(&[file()], folder.path(), &server.options()).unwrap();
    assert_eq!(server.requests().last().unwrap().0, "/elsewhere/here");

    let server =
        Server::new(|stream, path, _| send(stream, "302 Found", &format!("Location: {path}\r\n"), b""));
    let folder = tempfile::tempdir().unwrap();
    assert_failed(run(&[file()], folder.path(), &server.options()), &["more than 5 redirects"]);
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn a_failed_download_explains_how_to_download_by_hand() {
    let server = Server::new(|stream, _, _| send(stream, "404 Not Found", "", b"no"));
    let folder = tempfile::tempdir().unwrap();
    let path = place(&folder).0;
    let by_hand = format!("download https://example.org/data/fox.txt to {}", path.display());
    assert_failed(run(&[file()], folder.path(), &server.options()), &["404 Not Found", &by_hand]);
    assert!(!place(&folder).1.exists());

    let unreachable = FetchOptions { base: Some("http://127.0.0.1:1".to_owned()), ..FetchOptions::default() };
    assert_failed(run(&[file()], folder.path(), &unreachable), &["cannot reach", &by_hand]);
}

#[test]
fn a_silent_server_causes_a_timeout() {
    // The first never answers, the second stops in the middle.
    let servers = [
        Server::new(|_, _, _| thread::sleep(Duration::from_secs(20))),
        Server::new(|stream, _, _| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\nthe quick");
            thread::sleep(Duration::from_secs(20));
        }),
    ];
    for (server, message) in servers.iter().zip(["cannot reach", "broke after 9 bytes"]) {
        let folder = tempfile::tempdir().unwrap();
        let start = Instant::now();
        assert_failed(run(&[file()], folder.path(), &server.options()), &[message]);
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn member(
    path: &'static str,
    name: &'static str,
    content: &[u8],
    check: Checksum<'static>,
) -> RemoteFile<'static> {
    let origin = FetchOrigin::Member { url: "http://example.org/all.zip", name };
    RemoteFile { path, exact_bytes: None, most_bytes: content.len() as u64, check, origin, required: true }
}

#[test]
fn only_the_listed_members_of_an_archive_are_extracted() {
    let hello = Checksum::GitBlob("ce013625030ba8dba906f756967f9e9ca394464a");
    let files = [
        member("sub/fox.txt", "all/fox", CONTENT, Checksum::Sha256(SHA256)),
        member("hello.txt", "all/hello", b"hello\n", hello),
    ];
    let archive = zipped(&[("all/hello", b"hello\n"), ("../evil", b"evil"), ("all/fox", CONTENT)]);
    let server = Server::new(move |stream, _, from| serve(stream, &archive, from));
    let folder = tempfile::tempdir().unwrap();
    run(&files, folder.path(), &server.options()).unwrap();
    assert_eq!(fs::read(folder.path().join("sub/fox.txt")).unwrap(), CONTENT);
    assert_eq!(fs::read(folder.path().join("hello.txt")).unwrap(), b"hello\n");
    assert_eq!(server.requests(), [("/all.zip".to_owned(), None)]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the archive is removed");

    // Only the missing member is extracted.
    fs::remove_file(folder.path().join("hello.txt")).unwrap();
    let report = run(&files, folder.path(), &server.options()).unwrap();
    assert_eq!((report.fetched, report.kept), (vec!["hello.txt".to_owned()], vec!["sub/fox.txt".to_owned()]));
}

#[test]
fn a_broken_archive_is_discarded() {
    let files = [member("sub/fox.txt", "all/fox", CONTENT, Checksum::Sha256(SHA256))];
    let long = [b'x'; CONTENT.len() + 1];
    let wrong = [b'x'; CONTENT.len()];
    let cases: [(Vec<u8>, &str); 4] = [
        (b"not a zip file".to_vec(), "without a valid member all/fox"),
        (zipped(&[("fox", CONTENT)]), "without a valid member all/fox"),
        (zipped(&[("all/fox", &long)]), "more than 43 bytes"),
        (zipped(&[("all/fox", &wrong)]), SHA256),
    ];
    for (archive, message) in cases {
        let server = Server::new(move |stream, _, from| serve(stream, &archive, from));
        let folder = tempfile::tempdir().unwrap();
        assert_failed(run(&files, folder.path(), &server.options()), &[message]);
        let left = walk(folder.path());
        assert!(left.is_empty(), "{left:?}");
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_data_set_of_the_catalog_is_downloaded_from_its_url() {
    let server = Server::new(|stream, _, _| send(stream, "404 Not Found", "", b""));
    let folder = tempfile::tempdir().unwrap();
    let cora = catalog::find("cora").unwrap();
    let error = fetch(cora, folder.path(), &server.options(), &mut |_| {}).unwrap_err();
    assert!(
        error.to_string().contains("https://raw.githubusercontent.com/kimiyoung/planetoid/master/"),
        "{error}"
    );
    let synthetic = catalog::find("synthetic").unwrap();
    assert_eq!(fetch(synthetic, folder.path(), &server.options(), &mut |_| {}).unwrap_err().exit_code(), 2);
}

#[test]
fn real_files_match_the_catalog() {
    let Some(data) = common::real_data("real_files_match_the_catalog") else {
        return;
    };
    for known in catalog::ALL.iter().filter(|known| !known.files.is_empty()) {
        let exists = |file: &&RemoteFile<'_>| data.join(known.name).join(file.path).exists();
        let files: Vec<RemoteFile<'_>> = known.files.iter().filter(exists).copied().collect();
        // All exist, so nothing is downloaded.
        let report = run(&files, &data.join(known.name), &FetchOptions::default()).unwrap();
        assert!(report.fetched.is_empty() && report.kept.len() == files.len());
        for file in &files {
            let bytes = fs::metadata(data.join(known.name).join(file.path)).unwrap().len();
            assert_eq!(file.exact_bytes.unwrap_or(bytes), bytes, "{} {}", known.name, file.path);
        }
        let missing: Vec<_> = known.files.iter().filter(|file| !exists(file)).map(|file| file.path).collect();
        eprintln!("{}: {} files, missing {missing:?}", known.name, files.len());
    }
}

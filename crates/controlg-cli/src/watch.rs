//! `pretrain --watch`: serves the report of a running run on localhost.
//!
//! A background thread listens on the loopback address. The page is rendered from the record on request, at most every
//! few seconds, so watching costs the run almost nothing. When the run ends, a browser gets the last page before the port
//! is closed, and `report.html` stays in the run folder. Requests whose `Host` header names another host are rejected,
//! which prevents DNS rebinding by other pages in the same browser, and no other page may frame this one. Each request has
//! a thread and a deadline, and their number is bounded, so that slow clients do not keep others waiting.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use controlg::report::{self, RunContext, RunStatus};
use controlg::{Error, Result, files, run_files};

use crate::args::CommonArgs;
use crate::commands::report::RunData;
use crate::console::Console;

/// Minimum time between two renderings.
const REFRESH: Duration = Duration::from_secs(3);
/// Time for a request and its answer.
const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum size of a request header in bytes.
const MAX_HEADER: usize = 16_384;
/// Maximum number of requests at a time; more are closed without an answer.
const MAX_REQUESTS: usize = 16;
/// The page holds its scripts, styles and pictures, and asks only this server for itself.
const SECURITY: &str = "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                        img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
                        X-Frame-Options: DENY\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n";
/// How long the last page is served if a browser asked for one within [`WATCHED`]. Pages ask every two seconds.
const LINGER: Duration = Duration::from_millis(2500);
const WATCHED: Duration = Duration::from_secs(10);

/// Script of the live page.
const SCRIPT: &str = include_str!("watch.js");

/// The report of a run, served until this is dropped.
pub(crate) struct LivePage {
    run: PathBuf,
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<LiveState>>,
}

#[derive(Default)]
struct LiveState {
    /// The page of the ended run.
    last_page: Option<String>,
    last_request: Option<Instant>,
    closed: bool,
}

impl LivePage {
    /// Starts serving the report of a run.
    pub(crate) fn serve(run: &Path, port: u16) -> Result<LivePage> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .map_err(|error| Error::io(format_args!("listening on port {port} of this machine"), error))?;
        let address = listener.local_addr().map_err(|error| Error::io("listening on this machine", error))?;
        let state = Arc::new(Mutex::new(LiveState::default()));
        let report = LiveReport {
            run: run.to_owned(),
            cached: Mutex::new(None),
            state: Arc::clone(&state),
            requests: AtomicUsize::new(0),
        };
        let report = Arc::new(report);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if locked(&report.state).closed {
                    break;
                }
                if report.requests.fetch_add(1, Ordering::SeqCst) >= MAX_REQUESTS {
                    report.requests.fetch_sub(1, Ordering::SeqCst);
                    continue;
                }
                let one = Arc::clone(&report);
                let answer = move || {
                    // Ignore clients that hang up early.
                    let _ = one.respond(&stream, address);
                    one.requests.fetch_sub(1, Ordering::SeqCst);
                };
                if std::thread::Builder::new().spawn(answer).is_err() {
                    report.requests.fetch_sub(1, Ordering::SeqCst);
                }
            }
        });
        Ok(LivePage { run: run.to_owned(), address, state })
    }

    /// Writes `report.html` and serves the last page from now on. `error` is why the run failed.
    pub(crate) fn end(&self, error: Option<&Error>, common: &CommonArgs, console: &Console) {
        let data = RunData::load_or_note(&self.run, common, console).unwrap_or_else(|error| {
            console.log(format_args!("note: the report has no map: {error}"));
            None
        });
        let context = data.as_ref().map(RunData::context).unwrap_or_default();
        if error.is_none() {
            let path = self.run.join(run_files::REPORT);
            let written = report::of_run_in(&self.run, &context)
                .and_then(|report| files::atomic_write_bytes(&path, report.page));
            match written {
                Ok(()) => console.log(format_args!("report: {}", path.display())),
                Err(error) => console.log(format_args!("note: the run has no report: {error}")),
            }
        }
        let status = error.map_or(RunStatus::Finished, |error| RunStatus::Failed(error.to_string()));
        let page = report::of_run_in(&self.run, &RunContext { status: Some(&status), ..context });
        locked(&self.state).last_page = page.ok().map(|report| with_script(&report.page));
    }
}

impl Drop for LivePage {
    /// Waits until browsers that were watching have the last page, then stops the server.
    fn drop(&mut self) {
        let watched = |state: &LiveState| {
            state.last_page.is_some() && state.last_request.is_some_and(|at| at.elapsed() < WATCHED)
        };
        if watched(&locked(&self.state)) {
            std::thread::sleep(LINGER);
        }
        locked(&self.state).closed = true;
        // Wakes the thread, which then ends and closes the port.
        let _ = TcpStream::connect(self.address);
    }
}

fn locked(state: &Mutex<LiveState>) -> MutexGuard<'_, LiveState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_script(page: &str) -> String {
    page.replacen("</body>", &format!("<script>\n{SCRIPT}</script>\n</body>"), 1)
}

struct LiveReport {
    run: PathBuf,
    cached: Mutex<Option<(Instant, String)>>,
    state: Arc<Mutex<LiveState>>,
    /// Number of requests that are being answered.
    requests: AtomicUsize,
}

impl LiveReport {
    fn respond(&self, stream: &TcpStream, address: SocketAddr) -> io::Result<()> {
        let deadline = Instant::now() + DEADLINE;
        let header = read_header(stream, deadline)?;
        let mut lines = header.lines();
        let first = lines.next().unwrap_or_default();
        let named = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
        };
        let host = lines.filter_map(named).next_back().unwrap_or_default();
        let port = address.port();
        let allowed = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let (status, body) = if !allowed.contains(&host) {
            ("403 Forbidden", format!("forbidden: open http://{address}\n"))
        } else if first.starts_with("GET / ") {
            ("200 OK", self.page())
        } else {
            ("404 Not Found", "not found: the only page is /\n".to_owned())
        };
        let kind = if status.starts_with("200") { "text/html" } else { "text/plain" };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             {SECURITY}Connection: close\r\n\r\n{body}",
            body.len()
        );
        write_until(stream, answer.as_bytes(), deadline)
    }

    fn page(&self) -> String {
        let mut state = locked(&self.state);
        state.last_request = Some(Instant::now());
        if let Some(page) = &state.last_page {
            return page.clone();
        }
        drop(state);
        // One request renders; others wait for its page.
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, page)) = &*cached
            && when.elapsed() < REFRESH
        {
            return page.clone();
        }
        let context = RunContext { status: Some(&RunStatus::Running), ..RunContext::default() };
        let page = match report::of_run_in(&self.run, &context) {
            Ok(report) => with_script(&report.page),
            // The last line of the record may be incomplete: serve the previous page.
            Err(_) if cached.is_some() => {
                return cached.clone().map(|(_, page)| page).unwrap_or_default();
            }
            // The record may not exist yet.
            Err(_) => {
                return "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"1\">\
                        <p>Waiting for the run to start.</p>"
                    .to_owned();
            }
        };
        *cached = Some((Instant::now(), page.clone()));
        page
    }
}

/// The lines of a request up to the empty one.
fn read_header(mut stream: &TcpStream, deadline: Instant) -> io::Result<String> {
    let (mut header, mut piece) = (Vec::new(), [0; 1024]);
    while header.len() < MAX_HEADER && !header.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.set_read_timeout(Some(time_until(deadline)?))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => header.extend_from_slice(&piece[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&header).into_owned())
}

fn write_until(mut stream: &TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(time_until(deadline)?))?;
        match stream.write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn time_until(deadline: Instant) -> io::Result<Duration> {
    match deadline.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(left),
        _ => Err(ErrorKind::TimedOut.into()),
    }
}

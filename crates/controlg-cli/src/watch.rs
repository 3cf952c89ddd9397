//! `pretrain --watch`: serves the report of a running run on localhost.
//!
//! A background thread listens on the loopback address. The page is rendered from the record on request, at most every
//! few seconds, so watching costs the run almost nothing. When the run ends, a browser gets the last page before the port
//! is closed, and `report.html` stays in the run folder. Requests whose `Host` header names another host are rejected,
//! which prevents DNS rebinding by other pages in the same browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use controlg::report::{self, RunContext, RunStatus};
use controlg::{Error, Result, files, run_files};

use crate::args::CommonArgs;
use crate::commands::report::RunData;
use crate::console::Console;

/// Minimum time between two renderings.
const REFRESH: Duration = Duration::from_secs(3);
/// Read and write timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a request header in bytes.
const MAX_HEADER: u64 = 16_384;
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
        let mut report = LiveReport { run: run.to_owned(), cached: None, state: Arc::clone(&state) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if locked(&report.state).closed {
                    break;
                }
                // Ignore clients that hang up early.
                let _ = report.respond(stream, address);
            }
        });
        Ok(LivePage { run: run.to_owned(), address, state })
    }

    /// Writes `report.html` and serves the last page from now on. `error` is why the run failed.
    pub(crate) fn end(&self, error: Option<&Error>, common: &CommonArgs, console: &Console) {
        let data = RunData::load_or_note(&self.run, common, console);
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
    cached: Option<(Instant, String)>,
    state: Arc<Mutex<LiveState>>,
}

impl LiveReport {
    fn respond(&mut self, stream: TcpStream, address: SocketAddr) -> std::io::Result<()> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut lines = BufReader::new((&stream).take(MAX_HEADER)).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let mut host = String::new();
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("host")
            {
                host = value.trim().to_owned();
            }
        }
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
        write!(
            &stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn page(&mut self) -> String {
        let mut state = locked(&self.state);
        state.last_request = Some(Instant::now());
        if let Some(page) = &state.last_page {
            return page.clone();
        }
        drop(state);
        if let Some((when, page)) = &self.cached
            && when.elapsed() < REFRESH
        {
            return page.clone();
        }
        let context = RunContext { status: Some(&RunStatus::Running), ..RunContext::default() };
        let page = match report::of_run_in(&self.run, &context) {
            Ok(report) => with_script(&report.page),
            // The last line of the record may be incomplete: serve the previous page.
            Err(_) if self.cached.is_some() => {
                return self.cached.clone().map(|(_, page)| page).unwrap_or_default();
            }
            // The record may not exist yet.
            Err(_) => {
                return "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"1\">\
                        <p>Waiting for the run to start.</p>"
                    .to_owned();
            }
        };
        self.cached = Some((Instant::now(), page.clone()));
        page
    }
}

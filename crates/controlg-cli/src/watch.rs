//! `pretrain --watch`: serves the report of a running run on localhost.
//!
//! A background thread listens on the loopback address. The page is rendered from the record on request, at most every
//! few seconds, so watching costs the run almost nothing. Requests whose `Host` header names another host are rejected,
//! which prevents DNS rebinding by other pages in the same browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use controlg::{Error, Result, report};

/// Minimum time between two renderings.
const REFRESH: Duration = Duration::from_secs(3);
/// Read and write timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a request header in bytes.
const MAX_HEADER: u64 = 16_384;

/// Reloads the content of the page every few seconds, except while the pointer is on the schedule.
const RELOAD: &str = "<script>\nsetInterval(async () => {\n  if (document.querySelector('#schedule svg:focus, #schedule:hover')) return;\n  \
try {\n    const text = await (await fetch('/', { cache: 'no-store' })).text();\n    const next = new DOMParser().parseFromString(text, 'text/html');\n    \
document.querySelector('main').replaceWith(next.querySelector('main'));\n    document.querySelectorAll('script[type=\"application/json\"]').forEach((old) => {\n      \
const fresh = next.getElementById(old.id);\n      if (fresh) old.textContent = fresh.textContent;\n    });\n    window.drawPage();\n  } catch { /* the run has ended */ }\n}, 4000);\n</script>\n";

/// Starts serving the report of a run and returns the address.
pub(crate) fn serve(run: &Path, port: u16) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| Error::io(format_args!("listening on port {port} of this machine"), error))?;
    let address = listener.local_addr().map_err(|error| Error::io("listening on this machine", error))?;
    let run = run.to_owned();
    std::thread::spawn(move || {
        let mut report = LiveReport { run, cached: None };
        for stream in listener.incoming().flatten() {
            // Ignore clients that hang up early.
            let _ = report.respond(stream, address);
        }
    });
    Ok(address)
}

struct LiveReport {
    run: PathBuf,
    cached: Option<(Instant, String)>,
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
        if let Some((when, page)) = &self.cached
            && when.elapsed() < REFRESH
        {
            return page.clone();
        }
        let page = match report::of_run(&self.run, None) {
            Ok(report) => report.page.replacen("</body>", &format!("{RELOAD}</body>"), 1),
            // The last line of the record may be incomplete: serve the previous page.
            Err(_) if self.cached.is_some() => {
                return self.cached.clone().map(|(_, page)| page).unwrap_or_default();
            }
            // The record may not exist yet.
            Err(_) => {
                "<!doctype html><meta http-equiv=\"refresh\" content=\"1\"><p>Waiting for the run to start.</p>"
                    .to_owned()
            }
        };
        self.cached = Some((Instant::now(), page.clone()));
        page
    }
}

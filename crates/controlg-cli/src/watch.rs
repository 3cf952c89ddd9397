//! `pretrain --watch`: the report of a run while it goes on, to this machine alone.
//!
//! A thread of its own answers on the loopback address. The page is drawn from the record when it is asked for, at most
//! every few seconds, so that watching costs the run next to nothing. A request that names another host is refused: a
//! page of somebody else's in the same browser could ask under a name of its own that leads here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use controlg::{Error, Result, report};

/// The least time between two drawings.
const PAUSE: Duration = Duration::from_secs(3);
/// The longest time that a request may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a request.
const MOST: u64 = 16_384;

/// Fetches the page anew, and puts its content in the place of the old; a figure that is pointed at stays.
const RELOAD: &str = "<script>\nsetInterval(async () => {\n  if (document.querySelector('#schedule svg:focus, #schedule:hover')) return;\n  \
try {\n    const text = await (await fetch('/', { cache: 'no-store' })).text();\n    const next = new DOMParser().parseFromString(text, 'text/html');\n    \
document.querySelector('main').replaceWith(next.querySelector('main'));\n    document.querySelectorAll('script[type=\"application/json\"]').forEach((old) => {\n      \
const fresh = next.getElementById(old.id);\n      if (fresh) old.textContent = fresh.textContent;\n    });\n    window.drawPage();\n  } catch { /* the run has ended */ }\n}, 4000);\n</script>\n";

/// Serves the report of a run; gives the address.
pub(crate) fn serve(run: &Path, port: u16) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| Error::io(format_args!("listening on port {port} of this machine"), error))?;
    let address = listener.local_addr().map_err(|error| Error::io("listening on this machine", error))?;
    let run = run.to_owned();
    std::thread::spawn(move || {
        let mut view = LiveView { run, drawn: None };
        for stream in listener.incoming().flatten() {
            // Whoever hangs up early has seen enough.
            let _ = view.answer(stream, address);
        }
    });
    Ok(address)
}

struct LiveView {
    run: PathBuf,
    drawn: Option<(Instant, String)>,
}

impl LiveView {
    fn answer(&mut self, stream: TcpStream, address: SocketAddr) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut lines = BufReader::new((&stream).take(MOST)).lines();
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
        let known = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let (status, body) = if !known.contains(&host) {
            ("403 Forbidden", format!("this page is for http://{address} alone\n"))
        } else if first.starts_with("GET / ") {
            ("200 OK", self.page())
        } else {
            ("404 Not Found", "there is one page, /\n".to_owned())
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
        if let Some((when, page)) = &self.drawn
            && when.elapsed() < PAUSE
        {
            return page.clone();
        }
        let page = match report::of_run(&self.run, None) {
            Ok(drawn) => drawn.page.replacen("</body>", &format!("{RELOAD}</body>"), 1),
            // A line may be half written: what was seen last will do.
            Err(_) if self.drawn.is_some() => {
                return self.drawn.clone().map(|drawn| drawn.1).unwrap_or_default();
            }
            // The first line of the record may not be there yet.
            Err(_) => {
                "<!doctype html><meta http-equiv=\"refresh\" content=\"1\"><p>The run is about to start.</p>"
                    .to_owned()
            }
        };
        self.drawn = Some((Instant::now(), page.clone()));
        page
    }
}

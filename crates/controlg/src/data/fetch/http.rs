//! One file over HTTP, taken up where it was cut, and never more of it than there should be.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use ureq::http::{StatusCode, header};
use ureq::{Agent, Body};

use super::{FetchFailure, FetchOptions};

type Response = ureq::http::Response<Body>;

/// How many redirections are followed.
const MAX_REDIRECTS: usize = 5;
/// A server that sends less than this many bytes a second for minutes on end has stalled in its own way.
const SLOWEST: u64 = 4096;

/// Downloads into `part`, going on behind what is there, and says how many bytes it has then.
pub(super) fn download(
    url: &str,
    part: &Path,
    (exact, most): (Option<u64>, u64),
    options: &FetchOptions,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<(), FetchFailure> {
    let disk = |error| FetchFailure::Disk(part.to_owned(), error);
    let mut have = part.metadata().map_or(0, |metadata| metadata.len());
    if have > 0 && Some(have) == exact {
        return Ok(());
    }
    if have > most {
        have = 0;
    }
    let agent = agent(url, options);
    let mut response = get(&agent, url, have)?;
    if have > 0 && response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
        response = get(&agent, url, 0)?;
    }
    match response.status() {
        StatusCode::PARTIAL_CONTENT if starts_at(&response) == Some(have) => {}
        StatusCode::OK => have = 0, // from the start: the server does not know ranges
        status => return Err(FetchFailure::Server(format!("the server answered {status}"))),
    }

    let total = exact.or_else(|| Some(have + content_length(&response)?));
    let mut file = OpenOptions::new().create(true).append(true).open(part).map_err(disk)?;
    file.set_len(have).map_err(disk)?;
    copy(response.into_body().into_reader(), &mut file, &mut have, most, disk, |have| progress(have, total))?;
    file.sync_all().map_err(disk)?;
    match total {
        Some(total) if have != total => Err(FetchFailure::Cut { have, total }),
        _ => Ok(()),
    }
}

fn copy(
    mut from: impl Read,
    to: &mut File,
    have: &mut u64,
    most: u64,
    disk: impl Fn(io::Error) -> FetchFailure,
    mut progress: impl FnMut(u64),
) -> Result<(), FetchFailure> {
    let mut chunk = vec![0; 1 << 16];
    let deadline = Instant::now() + Duration::from_secs(120 + most / SLOWEST);
    loop {
        let count = match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(FetchFailure::Broken { have: *have, why: error.to_string() }),
        };
        if *have + count as u64 > most {
            return Err(FetchFailure::TooMuch { most });
        }
        to.write_all(&chunk[..count]).map_err(&disk)?;
        *have += count as u64;
        progress(*have);
        if Instant::now() > deadline {
            return Err(FetchFailure::Broken {
                have: *have,
                why: format!("less than {SLOWEST} bytes a second"),
            });
        }
    }
}

/// The response to a request from byte `from` on, after redirections.
fn get(agent: &Agent, url: &str, from: u64) -> Result<Response, FetchFailure> {
    let mut url = url.to_owned();
    for _ in 0..=MAX_REDIRECTS {
        let mut request = agent.get(&url);
        if from > 0 {
            request = request.header(header::RANGE, format!("bytes={from}-"));
        }
        let response = request.call().map_err(|error| FetchFailure::Unreachable(error.to_string()))?;
        if !response.status().is_redirection() {
            return Ok(response);
        }
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let Some(location) = location else {
            return Err(FetchFailure::Server(format!(
                "the server answered {} to nowhere",
                response.status()
            )));
        };
        url = redirected(&url, location).map_err(FetchFailure::Server)?;
    }
    Err(FetchFailure::Server(format!("more than {MAX_REDIRECTS} redirections")))
}

/// Where a redirection leads. Never from an encrypted connection to a plain one.
fn redirected(from: &str, location: &str) -> Result<String, String> {
    let (scheme, rest) = from.split_once("://").ok_or("an address without a scheme")?;
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let lower = location.to_ascii_lowercase();
    let url = if lower.starts_with("http://") || lower.starts_with("https://") {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{host}{location}")
    } else if location.contains("://") {
        return Err(format!("a redirection to {location}"));
    } else {
        let path = &rest[host.len()..];
        let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        format!("{scheme}://{host}{folder}{location}")
    };
    match scheme.eq_ignore_ascii_case("https") && !url.to_ascii_lowercase().starts_with("https://") {
        true => Err(format!("a redirection to the unencrypted {url}")),
        false => Ok(url),
    }
}

fn agent(url: &str, options: &FetchOptions) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0) // followed by hand, so that none leads to a plain connection or has an endless body
        .max_redirects_will_error(false)
        .accept_encoding("identity") // sizes and ranges are those of the file itself
        .user_agent(concat!("controlg/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(options.connect))
        .timeout_connect(Some(options.connect))
        .timeout_send_request(Some(options.connect))
        .timeout_recv_response(Some(options.stall))
        .timeout_per_read(Some(options.stall));
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    if ["127.0.0.1", "localhost", "[::1]"].iter().any(|local| host.starts_with(local)) {
        config = config.proxy(None); // no proxy knows this machine by that name
    }
    config.build().new_agent()
}

/// The first byte of a partial answer, from `Content-Range: bytes 5-9/10`.
fn starts_at(response: &Response) -> Option<u64> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.trim().parse().ok()
}

fn content_length(response: &Response) -> Option<u64> {
    response.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_are_followed_but_never_out_of_encryption() {
        let to = |location| redirected("https://a.org/x/y?z", location);
        assert_eq!(to("https://b.org/c").unwrap(), "https://b.org/c");
        assert_eq!(to("//b.org/c").unwrap(), "https://b.org/c");
        assert_eq!(to("/c").unwrap(), "https://a.org/c");
        assert_eq!(to("c").unwrap(), "https://a.org/x/c");
        assert!(to("http://a.org/x").unwrap_err().contains("unencrypted"));
        assert!(to("file:///etc/x").unwrap_err().contains("redirection"));
        assert_eq!(redirected("http://a.org", "https://b.org/").unwrap(), "https://b.org/");
        assert_eq!(redirected("http://a.org", "b").unwrap(), "http://a.org/b");
    }
}

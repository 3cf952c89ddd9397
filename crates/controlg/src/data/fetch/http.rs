//! Downloads one file over HTTP, with resume and a size limit.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use ureq::http::{StatusCode, header};
use ureq::{Agent, Body};

use super::{FetchFailure, FetchOptions};

type Response = ureq::http::Response<Body>;

/// The maximum number of redirects.
const MAX_REDIRECTS: usize = 5;
/// The minimum average speed in bytes per second, after a grace period of two minutes.
const MIN_SPEED: u64 = 4096;

/// Downloads into `part`, resuming after the bytes that are already there.
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
        StatusCode::OK => have = 0, // the server does not support ranges and sends the whole file
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
    let deadline = Instant::now() + Duration::from_secs(120 + most / MIN_SPEED);
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
                why: format!("less than {MIN_SPEED} bytes per second"),
            });
        }
    }
}

/// The response to a request starting at byte `from`, after redirects.
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
                "the server answered {} without a location",
                response.status()
            )));
        };
        url = redirect_target(&url, location).map_err(FetchFailure::Server)?;
    }
    Err(FetchFailure::Server(format!("more than {MAX_REDIRECTS} redirects")))
}

/// The target of a redirect. A redirect from HTTPS to plain HTTP is an error.
fn redirect_target(from: &str, location: &str) -> Result<String, String> {
    let (scheme, rest) = from.split_once("://").ok_or("a URL without a scheme")?;
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let lower = location.to_ascii_lowercase();
    let url = if lower.starts_with("http://") || lower.starts_with("https://") {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{host}{location}")
    } else if location.contains("://") {
        return Err(format!("a redirect to {location}"));
    } else {
        let path = &rest[host.len()..];
        let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        format!("{scheme}://{host}{folder}{location}")
    };
    if scheme.eq_ignore_ascii_case("https") && !url.to_ascii_lowercase().starts_with("https://") {
        return Err(format!("a redirect to the unencrypted {url}"));
    }
    Ok(url)
}

fn agent(url: &str, options: &FetchOptions) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0) // followed in `get`, which checks the target and ignores the body
        .max_redirects_will_error(false)
        .accept_encoding("identity") // sizes and ranges must refer to the file itself
        .user_agent(concat!("controlg/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(options.connect_timeout))
        .timeout_connect(Some(options.connect_timeout))
        .timeout_send_request(Some(options.connect_timeout))
        .timeout_recv_response(Some(options.read_timeout))
        .timeout_per_read(Some(options.read_timeout));
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    if ["127.0.0.1", "localhost", "[::1]"].iter().any(|local| host.starts_with(local)) {
        config = config.proxy(None); // a proxy cannot reach localhost
    }
    config.build().new_agent()
}

/// The first byte of a partial response, from `Content-Range: bytes 5-9/10`.
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
    fn redirects_are_followed_but_not_to_unencrypted_urls() {
        let to = |location| redirect_target("https://a.org/x/y?z", location);
        assert_eq!(to("https://b.org/c").unwrap(), "https://b.org/c");
        assert_eq!(to("//b.org/c").unwrap(), "https://b.org/c");
        assert_eq!(to("/c").unwrap(), "https://a.org/c");
        assert_eq!(to("c").unwrap(), "https://a.org/x/c");
        assert!(to("http://a.org/x").unwrap_err().contains("unencrypted"));
        assert!(to("file:///etc/x").unwrap_err().contains("a redirect"));
        assert_eq!(redirect_target("http://a.org", "https://b.org/").unwrap(), "https://b.org/");
        assert_eq!(redirect_target("http://a.org", "b").unwrap(), "http://a.org/b");
    }
}

//! Runs code that may panic or recurse deeply on damaged input.
//!
//! The Parquet crate has assertions that a damaged file can reach, and it walks a schema recursively. It therefore runs
//! in a thread of its own with a large stack, and a panic there becomes an error. To keep the panic message off
//! stderr, the first call wraps the process-wide panic hook: the wrapper is silent for threads with our name and
//! forwards everything else.

use std::panic;
use std::sync::Once;
use std::thread;

/// Threads with this name panic silently.
const NAME: &str = "controlg-panic-guard";
/// 4 KiB for each level of the deepest schema that is accepted.
const STACK: usize = 4096 * super::parquet_limits::MAX_SCHEMA_ELEMENTS;

/// Runs `work` in a thread of its own. `Err` is the panic message.
pub(super) fn catch<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    install_hook();
    thread::scope(|scope| {
        let builder = thread::Builder::new().name(NAME.to_owned()).stack_size(STACK);
        let guarded = builder.spawn_scoped(scope, work).map_err(|error| error.to_string())?;
        guarded.join().map_err(|panic| {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
        })
    })
}

fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name() != Some(NAME) {
                previous(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        assert_eq!(catch(|| 7), Ok(7));
        assert_eq!(catch(|| -> u8 { panic!("at byte {}", 3) }), Err("at byte 3".to_owned()));
        assert_eq!(catch(|| -> u8 { panic!("plain") }), Err("plain".to_owned()));
    }
}

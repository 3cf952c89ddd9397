//! Work that may panic or recurse deeply on damaged input, kept from taking the program with it.
//!
//! The Parquet crate has assertions that a damaged file can reach, and walks a schema by recursion. It runs in a
//! thread of its own with a deep stack, and a panic there becomes an error. The panic hook is one for the whole
//! process, so keeping the panic's words off stderr needs a hook of ours around the one that is there: it is put in
//! place once, at the first Parquet file, keeps still for threads of our name and passes on everything else.

use std::panic;
use std::sync::Once;
use std::thread;

/// Threads of this name panic silently.
const NAME: &str = "controlg-fenced";
/// 4 KiB for each level of the deepest schema that is let through.
const STACK: usize = 4096 * super::pages::MAX_SCHEMA_ELEMENTS;

/// Runs the work in a fenced thread; `Err` is the panic's words.
pub(super) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    silence();
    thread::scope(|scope| {
        let builder = thread::Builder::new().name(NAME.to_owned()).stack_size(STACK);
        let fenced = builder.spawn_scoped(scope, work).map_err(|error| error.to_string())?;
        fenced.join().map_err(|panic| {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            words.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
        })
    })
}

fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name() != Some(NAME) {
                others(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_words() {
        assert_eq!(run(|| 7), Ok(7));
        assert_eq!(run(|| -> u8 { panic!("at byte {}", 3) }), Err("at byte 3".to_owned()));
        assert_eq!(run(|| -> u8 { panic!("plain") }), Err("plain".to_owned()));
    }
}

//! Whatever the files contain, loading returns a graph or a one-line error: no panic, no excessive memory use.
//!
//! `PROPTEST_CASES` sets the number of cases.

mod common;

use std::path::Path;

use common::npz::Npz;
use common::samples::{self, Files, SAMPLES};
use controlg::data::arrays::{NpzFile, parse_npy};
use controlg::data::{FORMATS, FeatureSource, load_path, pickle};
use proptest::prelude::*;
use proptest::sample::Index;

/// A way to damage bytes.
#[derive(Clone, Debug)]
enum Damage {
    Replace(Vec<u8>),
    Truncate(Index),
    Set(Vec<(Index, u8)>),
    /// Replaces a piece by an edge case.
    Splice(Index, usize, &'static [u8]),
    Repeat(Index, Index),
}

const EDGE_CASES: &[&[u8]] = &[
    b"",
    b"-1",
    b"0",
    b"4294967295",
    b"4294967296",
    b"18446744073709551615",
    b"1000000000000000000",
    b"nan",
    b"1e999",
    b"inf",
    b",",
    b"\n",
    b"\t",
    b"\r\n",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"[",
    b"]",
    b"{",
    b"null",
    b"true",
    b"\"",
    b"(",
    b")",
];

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Damage::Replace),
        any::<Index>().prop_map(Damage::Truncate),
        prop::collection::vec((any::<Index>(), any::<u8>()), 1..5).prop_map(Damage::Set),
        (any::<Index>(), 0..12usize, prop::sample::select(EDGE_CASES))
            .prop_map(|(at, len, by)| Damage::Splice(at, len, by)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Damage::Repeat(from, to)),
    ]
}

impl Damage {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let place = |index: &Index, len: usize| index.index(len + 1);
        let len = bytes.len();
        match self {
            Damage::Replace(by) => return by.clone(),
            Damage::Truncate(at) => bytes.truncate(place(at, len)),
            Damage::Set(changes) if len > 0 => {
                changes.iter().for_each(|(at, byte)| bytes[at.index(len)] = *byte)
            }
            Damage::Set(_) => {}
            Damage::Splice(at, cut, by) => {
                let start = place(at, len);
                bytes.splice(start..(start + cut).min(len), by.iter().copied());
            }
            Damage::Repeat(from, to) => {
                let (a, b) = (place(from, len), place(to, len));
                let piece = bytes[a.min(b)..a.max(b)].to_vec();
                bytes.splice(a.max(b)..a.max(b), piece);
            }
        }
        bytes
    }
}

/// Loads a folder with given and with structural features; the result is a data set or a one-line input error.
fn load(folder: &Path) {
    for source in [FeatureSource::Given, FeatureSource::Structural] {
        if let Err(error) = load_path(folder, source) {
            let line = error.to_string();
            assert!(!line.contains('\n') && error.exit_code() == 2, "{line}");
        }
    }
}

fn load_files(files: &Files) {
    let folder = tempfile::tempdir().unwrap();
    samples::write(folder.path(), files);
    load(folder.path());
}

/// Peak memory of this process in bytes, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[test]
fn the_undamaged_samples_load() {
    for (format, files) in SAMPLES {
        let folder = tempfile::tempdir().unwrap();
        samples::write(folder.path(), &files());
        assert_eq!(load_path(folder.path(), FeatureSource::Given).unwrap().format, format);
        assert!(FORMATS.iter().any(|known| known.name == format));
    }
}

proptest! {
    // Integration tests cannot store failing cases; the message contains the whole case.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_does_not_panic((format, file, damages) in
        (0..SAMPLES.len(), any::<Index>(), prop::collection::vec(damage(), 1..3)))
    {
        let mut files = SAMPLES[format].1();
        let at = file.index(files.len());
        for damage in damages {
            files[at].1 = damage.apply(&files[at].1);
        }
        load_files(&files);
        prop_assert!(peak_memory().is_none_or(|bytes| bytes < 400 << 20));
    }

    /// Checksums of compressed files would catch the damage first, so it is done before compression.
    #[test]
    fn a_damaged_member_of_an_archive_does_not_panic(member in any::<Index>(), damage in damage(), packed in any::<bool>()) {
        let mut archive = if packed { Npz::gnn_benchmark().deflated() } else { Npz::gnn_benchmark() };
        let at = member.index(archive.members.len());
        archive.members[at].1 = damage.apply(&archive.members[at].1);
        load_files(&vec![("toy.npz", archive.bytes())]);
    }

    #[test]
    fn a_damaged_gzipped_table_does_not_panic(file in any::<Index>(), damage in damage()) {
        let plain: [&[u8]; 4] = [b"0,1\n1,2\n2,1\n", b"0\n1\n0\n", b"3\n", b"0.5,1\n-2,0\n1e-3,4\n"];
        let names = ["raw/edge.csv.gz", "raw/node-label.csv.gz", "raw/num-node-list.csv.gz", "raw/node-feat.csv.gz"];
        let at = file.index(4);
        let tables = names.into_iter().zip(plain).enumerate();
        load_files(&tables.map(|(i, (name, table))| {
            (name, samples::gz(&if i == at { damage.apply(table) } else { table.to_vec() }))
        }).collect());
    }

    #[test]
    fn any_bytes_as_array_or_pickle_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let path = Path::new("any");
        let _ = parse_npy(&bytes, path, "").is_ok();
        let _ = pickle::read(&bytes, path).is_ok();
        for start in [&b"\x93NUMPY\x01\x00"[..], b"\x80\x02", b"PK\x03\x04"] {
            let bytes = [start, &bytes].concat();
            let _ = parse_npy(&bytes, path, "").is_ok();
            let _ = pickle::read(&bytes, path).is_ok();
            if let Ok(mut file) = NpzFile::from_bytes(bytes, path) {
                for name in file.names().to_vec() {
                    let _ = file.array(&name).is_ok();
                }
            }
        }
    }

    #[test]
    fn any_array_header_does_not_panic(
        kind in prop::sample::select(&["b1", "i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", "U3", "S2", "U0", "S0", "O", "V4"][..]),
        order in prop::sample::select(&["<", ">", "|", ""][..]), fortran in any::<bool>(),
        shape in prop::collection::vec(prop_oneof![0..5usize, Just(usize::MAX), Just(1 << 32)], 0..5),
        body in prop::collection::vec(any::<u8>(), 0..100), whole in any::<bool>())
    {
        let fortran = if fortran { "True" } else { "False" };
        let extents: String = shape.iter().map(|extent| format!("{extent},")).collect();
        let header = format!("{{'descr': '{order}{kind}', 'fortran_order': {fortran}, 'shape': ({extents})}}");
        let size = kind[1..].parse::<usize>().unwrap_or(1) * if kind.starts_with('U') { 4 } else { 1 };
        let count = shape.iter().try_fold(size, |n, &extent| n.checked_mul(extent)).unwrap_or(0).min(1000);
        let body = if whole { vec![1; count] } else { body };
        let start = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..]].concat();
        if let Ok(array) = parse_npy(&[&start, header.as_bytes(), &body].concat(), Path::new("any"), "") {
            prop_assert_eq!(array.len(), shape.iter().product::<usize>());
            let _ = (array.to_reals().is_ok(), array.to_integers().is_ok(), array.to_mask().is_ok());
        }
    }
}

//! Broken archives of split masks.

use zip::write::SimpleFileOptions;

use super::common::npz::{f32s, mask, npy};
use super::common::samples;
use super::{case, check, zeros};

#[test]
fn errors_name_the_file_and_the_problem() {
    const SPLIT: &str = "geom-gcn-splits/toy_split_0.6_0.2_0.npz";
    let toy = samples::planetoid;
    let masks = || samples::masks([1, 0, 0, 0, 0, 0]);
    let whole = masks().bytes();
    let huge = npy("|u1", "(1000000000000000000,)", &[1; 6]);
    let climbing = masks().with("../../etc/passwd", vec![]).bytes();
    check(vec![
        case(
            "node in two parts",
            toy,
            SPLIT,
            samples::masks([1, 1, 0, 0, 0, 0]).bytes(),
            &["node 1 in both train and val"],
        ),
        case(
            "mask too short",
            toy,
            SPLIT,
            masks().with("val_mask", mask(&[1])).bytes(),
            &["val mask", "1 entries", "6"],
        ),
        case(
            "mask of 2",
            toy,
            SPLIT,
            samples::masks([2, 0, 0, 0, 0, 0]).bytes(),
            &["element 0", "found 2", "0 or 1"],
        ),
        case(
            "mask of reals",
            toy,
            SPLIT,
            masks().with("val_mask", f32s(&[0.0; 6])).bytes(),
            &["floats", "booleans"],
        ),
        case(
            "mask missing",
            toy,
            SPLIT,
            masks().without("test_mask").bytes(),
            &["train_mask, val_mask", "test_mask"],
        ),
        case("truncated archive", toy, SPLIT, whole[..whole.len() / 2].to_vec(), &["archive"]),
        case("wrong magic", toy, SPLIT, b"hello".to_vec(), &["archive"]),
        case(
            "wrong magic inside",
            toy,
            SPLIT,
            masks().with("val_mask", b"hello".to_vec()).bytes(),
            &["other bytes at the start"],
        ),
        case("10^18 elements", toy, SPLIT, masks().with("val_mask", huge).bytes(), &["6 bytes of data"]),
        case("name outside the archive", toy, SPLIT, climbing, &["'../../etc/passwd.npy'"]),
        case(
            "two files for a split",
            toy,
            "geom-gcn-splits/z_split_0.6_0.2_0.npz",
            whole,
            &["a second file for split 0"],
        ),
        case("deflate bomb", toy, SPLIT, deflate_bomb(), &["more than", "uncompressed bytes"]),
    ]);
}

fn deflate_bomb() -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    archive.start_file("train_mask.npy", options).unwrap();
    zeros(&mut archive);
    archive.finish().unwrap().into_inner()
}

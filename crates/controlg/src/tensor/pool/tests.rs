use super::*;

#[test]
fn a_freed_buffer_serves_the_next_request_of_its_class() {
    let pool = Pool::new();
    let first = pool.take::<Real>(1000);
    let address = first.as_ptr();
    drop(first);
    let second = pool.take::<Real>(998);
    assert_eq!(second.as_ptr(), address);
    assert_eq!(second.len(), 998);
    assert_eq!(address as usize % LINE, 0);
    assert_eq!(pool.idle_bytes(), 0);
    drop(second);
    assert!(pool.idle_bytes() >= 1000 * size_of::<Real>());
    pool.trim();
    assert_eq!(pool.idle_bytes(), 0);
}

#[test]
fn large_buffers_replace_each_other() {
    for pool in [Pool::new(), Pool::shape_only()] {
        let large = LARGE / size_of::<Real>();
        let take = |lens: &[usize]| {
            let taken: Vec<Buffer<'_>> = lens.iter().map(|&len| pool.take(len)).collect();
            drop(taken);
            pool.idle_bytes() / size_of::<Real>()
        };
        let small = take(&[10]);
        assert_eq!(take(&[large, large]), small + 2 * large);
        // Both are released for one that neither can serve. Small ones stay, and so does what fits.
        let larger = 2 * large;
        assert_eq!(take(&[larger]), small + larger);
        assert_eq!(take(&[10, larger - 100]), small + larger);
        assert_eq!(pool.peak_bytes(), (small + larger) * size_of::<Real>());
    }
}

#[test]
fn a_shape_only_pool_keeps_the_accounts_of_a_real_one() {
    let [real, shapes] = [Pool::new(), Pool::shape_only()].map(|pool| {
        let first = pool.take::<Real>(5000);
        let copy = first.clone();
        let flags = pool.zeros::<bool>(700);
        drop(first);
        let again = pool.take::<Real>(4990);
        assert_eq!((copy.len(), flags.len(), again.len()), (5000, 700, 4990));
        assert_eq!(copy.is_empty(), pool.is_shape_only());
        drop((copy, flags));
        [pool.live_bytes(), pool.idle_bytes(), pool.peak_bytes()]
    });
    assert_eq!(real, shapes);
    assert_eq!(real[2], 2 * size_class(5000) * size_of::<Real>() + size_class(700));
}

#[test]
fn classes_hold_their_length_and_waste_at_most_an_eighth() {
    for len in [0, 1, 15, 16, 17, 1000, 4097, 1 << 20, (1 << 20) + 1] {
        let class = size_class(len);
        assert!(class >= len && class <= len + len / 8 + 16, "{len}: {class}");
    }
}

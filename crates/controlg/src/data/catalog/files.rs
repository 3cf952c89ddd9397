//! The files of each data set: path in its folder, size, hash and URL.
//!
//! Sizes and hashes are those of the files as their authors published them. For two files only the git object id is
//! known.

use super::super::fetch::{Checksum, FetchOrigin, RemoteFile};

/// A file with its own URL.
const fn file(
    path: &'static str,
    bytes: u64,
    sha256: &'static str,
    url: &'static str,
) -> RemoteFile<'static> {
    let check = Checksum::Sha256(sha256);
    RemoteFile {
        path,
        exact_bytes: Some(bytes),
        most_bytes: bytes,
        check,
        origin: FetchOrigin::Url(url),
        required: true,
    }
}

/// A member of the archive of ogbn-arxiv.
const fn member(
    path: &'static str,
    name: &'static str,
    bytes: u64,
    sha256: &'static str,
) -> RemoteFile<'static> {
    let origin = FetchOrigin::Member { url: ARXIV_ZIP, name };
    RemoteFile {
        path,
        exact_bytes: Some(bytes),
        most_bytes: bytes,
        check: Checksum::Sha256(sha256),
        origin,
        required: true,
    }
}

/// Marks a file as optional: the graph loads without it.
const fn optional(file: RemoteFile<'static>) -> RemoteFile<'static> {
    RemoteFile { required: false, ..file }
}

/// A file whose hash is not known, so that it has to be downloaded by hand.
const fn by_hand(path: &'static str, url: &'static str) -> RemoteFile<'static> {
    RemoteFile {
        path,
        exact_bytes: None,
        most_bytes: 512 << 20,
        check: Checksum::Unknown,
        origin: FetchOrigin::Url(url),
        required: true,
    }
}

const ARXIV_ZIP: &str = "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip";

#[rustfmt::skip] // one file per line
pub(super) const CORA: &[RemoteFile<'static>] = &[
    optional(file("LICENSE.planetoid", 1076, "8eeeea48c8b4bc197ad1d7ab01143ac43d52053e560b175bca7ca722c4047234", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/LICENSE")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_0.npz", 1989, "619931e6c3f0248bf9c7b6be24680a0a617bcfaba661cb0d7afaee8e18a74a51", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_0.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_1.npz", 1958, "d24be667034cb15a55bbf512dbae07b39c758eed66a9ba27106fa795422fe11c", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_1.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_2.npz", 1967, "811fb695c4c9ab0a53ab3a665bf4232652a08a6e38faac5b43a7da43a8454b74", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_2.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_3.npz", 1956, "9d9c19d88a689b76a4b97e8694ef8d20cb0f1b192bbd05a0d5649c91f0cb6ef4", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_3.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_4.npz", 1942, "3040b6bc0ddfff3757d55f514becf0b1b6b2e382114bfb0bc900dbcbb58fca17", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_4.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_5.npz", 2008, "52373862971060e366829930332acabaa90cc6f41019c52bf6c92e4c22f8f093", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_5.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_6.npz", 1944, "07847ea94e8b19970cf86731f19869aac0c56310d27f687d0feb9553d7525dd6", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_6.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_7.npz", 1962, "262573079c8b1f4bc043d32edd3d23a6c36f1d7258efe60c11a6197ba0eee560", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_7.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_8.npz", 1956, "d6c6a2163aeadd103ae386e800e473d2388da866f3f464199180d9b0e2f7d6cc", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_8.npz")),
    optional(file("geom-gcn-splits/cora_split_0.6_0.2_9.npz", 1948, "9d236d0cf723871d88dea567afe92d50c11d0ffba280349a5cc7f5f2ea42202f", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/cora_split_0.6_0.2_9.npz")),
    file("ind.cora.allx", 257305, "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.allx"),
    file("ind.cora.ally", 47959, "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.ally"),
    file("ind.cora.graph", 59847, "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.graph"),
    file("ind.cora.test.index", 5000, "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.test.index"),
    file("ind.cora.tx", 148025, "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.tx"),
    file("ind.cora.ty", 28135, "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.ty"),
    file("ind.cora.x", 22119, "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.x"),
    file("ind.cora.y", 4054, "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.cora.y"),
];

#[rustfmt::skip] // one file per line
pub(super) const CITESEER: &[RemoteFile<'static>] = &[
    optional(file("LICENSE.planetoid", 1076, "8eeeea48c8b4bc197ad1d7ab01143ac43d52053e560b175bca7ca722c4047234", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/LICENSE")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_0.npz", 2266, "31d483e4c9cbdd031c35e284fbda3935bfda6901b8618e4ef0381af5b9143582", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_0.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_1.npz", 2284, "1e02e3220676a90715b5a868b207dc19f49e5bc13ef1e8a8c8305fb46e028659", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_1.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_2.npz", 2261, "910ce9d1a9c12f2ce84486fa7d1953d560c2cf57f9e0c213a4ae362ca56bff77", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_2.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_3.npz", 2278, "e8c84d2e0099b3c0d692a68126c03370579f0cd83c0dab42b25a0fb3b94cb2c6", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_3.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_4.npz", 2122, "a45c9e6b4abe527499a1a1bf545063cdc910c82ef4676f1ef4e483bb77712c8e", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_4.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_5.npz", 2123, "fc0f6091daab2b0f37a3522dbc60052d9bce4209e7c06482f6beb61a4ed442b9", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_5.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_6.npz", 2260, "c99f610ff84bf5f5c3fe71b548c3cdf9c9bf02185d0152432b290877df1c4a3b", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_6.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_7.npz", 2269, "26bb7e5ea3aed014df5765af845fae70db9cdbb8875c46fc89cc4d6d042fb182", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_7.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_8.npz", 2261, "f8efadce7a3732ac39ec6625f591c9ed0b4222d95257f25f2a05ad5518e4a7eb", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_8.npz")),
    optional(file("geom-gcn-splits/citeseer_split_0.6_0.2_9.npz", 2278, "d9e586dad1886b3e1fdf3999140a192bb0cacea67c7849262ec862b8e7286cdf", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/citeseer_split_0.6_0.2_9.npz")),
    file("ind.citeseer.allx", 595021, "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.allx"),
    file("ind.citeseer.ally", 55623, "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.ally"),
    file("ind.citeseer.graph", 61987, "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.graph"),
    file("ind.citeseer.test.index", 5000, "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.test.index"),
    file("ind.citeseer.tx", 260321, "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.tx"),
    file("ind.citeseer.ty", 24135, "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.ty"),
    file("ind.citeseer.x", 31087, "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.x"),
    file("ind.citeseer.y", 3014, "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.citeseer.y"),
];

#[rustfmt::skip] // one file per line
pub(super) const PUBMED: &[RemoteFile<'static>] = &[
    optional(file("LICENSE.planetoid", 1076, "8eeeea48c8b4bc197ad1d7ab01143ac43d52053e560b175bca7ca722c4047234", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/LICENSE")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_0.npz", 9669, "a15825b5bf77ffd2e9179e354f455bb9a6f8c4886cb28796688a38d45d75bdc9", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_0.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_1.npz", 9664, "51f2349156410d851859ff4858ecd401d05d024f1a3936250dd8e844a6fd527b", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_1.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_2.npz", 9706, "d94a2a3d607f23d7dc88dabb966db7c7da187e0a2af3c848d88ab0c5452c4a2b", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_2.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_3.npz", 9653, "62c389ddac567fcd25654db846fc693973c69cddf083f5495d33b592a768515e", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_3.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_4.npz", 9705, "3b2bbeb2f4bbee257bb4c626c15c3e3dd0e9da6ed23bf16f6ac520b95e18f84d", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_4.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_5.npz", 9640, "23aea01576f71aa165cd70564fb53b3f158d1ff71c1227e062797870fe130551", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_5.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_6.npz", 9701, "9122bd4e8e42cab8d33e952693d18d0f49c5f11327b922baefb81228ee903c44", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_6.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_7.npz", 9710, "958706e960939c716a5204671c08399864600ce82094755b2e61975137ccfae9", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_7.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_8.npz", 9705, "764dd33802022d7ab2595f08f21b424e83007aceeb5f85c9403c74bf791f56f6", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_8.npz")),
    optional(file("geom-gcn-splits/pubmed_split_0.6_0.2_9.npz", 9704, "b9d4b4362fc02751c168f68f4120ab2fb516f4c84d447571653f1cd692946a66", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/pubmed_split_0.6_0.2_9.npz")),
    file("ind.pubmed.allx", 7578385, "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.allx"),
    file("ind.pubmed.ally", 224739, "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.ally"),
    file("ind.pubmed.graph", 471808, "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.graph"),
    file("ind.pubmed.test.index", 6000, "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.test.index"),
    file("ind.pubmed.tx", 405505, "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.tx"),
    file("ind.pubmed.ty", 12135, "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.ty"),
    file("ind.pubmed.x", 23172, "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.x"),
    file("ind.pubmed.y", 854, "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3", "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.y"),
];

#[rustfmt::skip] // one file per line
pub(super) const CHAMELEON: &[RemoteFile<'static>] = &[
    file("chameleon_split_0.6_0.2_0.npz", 1775, "36605525b69be4e7df5b31fe6a1d044288c6ebf9f9f0514ca151f6a36afc5e8b", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_0.npz"),
    file("chameleon_split_0.6_0.2_1.npz", 1779, "d0779d5a1bedf1967d394468a52c0175fb00595d361fba897faf73322386c952", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_1.npz"),
    file("chameleon_split_0.6_0.2_2.npz", 1777, "86ad0d827bf4301dff830598fc0b70d0dd8689c5b4d72dab1d87a6c1970c4c6e", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_2.npz"),
    file("chameleon_split_0.6_0.2_3.npz", 1755, "37b3e994adf3afc55e16b617ed05af4e3ce308800755839084d77eced0528e9d", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_3.npz"),
    file("chameleon_split_0.6_0.2_4.npz", 1778, "f6b1d067b2b330132839d8b6120077bdc6cf759f7ce421f881a02e2953ec4596", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_4.npz"),
    file("chameleon_split_0.6_0.2_5.npz", 1772, "e7661834275c826692510cea0457b18b2c1ee38771f178d06e701b97541a1f6d", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_5.npz"),
    file("chameleon_split_0.6_0.2_6.npz", 1774, "16648d1197c1d3a2dec385346212c382030b0d5a8c997f4255aa2afa68a6b174", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_6.npz"),
    file("chameleon_split_0.6_0.2_7.npz", 1764, "61adcc53846becefecd466a5364dda23b983d387d1ac5d58c6e24d080c0fcba7", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_7.npz"),
    file("chameleon_split_0.6_0.2_8.npz", 1770, "7076ad5341a8218b1f5b6eccf9cfd15d28286ea11ef5c06eeee77af24ff2bf63", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_8.npz"),
    file("chameleon_split_0.6_0.2_9.npz", 1773, "743c4f813bf6130398a6511eb9ff07d2366c73bd6c7fddaf226a3f9e2917e0e7", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/chameleon_split_0.6_0.2_9.npz"),
    file("out1_graph_edges.txt", 332448, "45ac593de9207470090230c8fd76beeb2f60b5371a9be088e8bf31e7f0619a4b", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/chameleon/out1_graph_edges.txt"),
    file("out1_node_feature_label.txt", 10602901, "5fd29736ff31b43a1bfcf305bc8b4cffc3103fb0957667976b2ea0f78aedcf5b", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/chameleon/out1_node_feature_label.txt"),
];

#[rustfmt::skip] // one file per line
pub(super) const SQUIRREL: &[RemoteFile<'static>] = &[
    file("out1_graph_edges.txt", 2115917, "453d8e96754d68e2ab0a7ebb56f93506b59531d95abaec7a2b46fe1eae7c39cd", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/squirrel/out1_graph_edges.txt"),
    file("out1_node_feature_label.txt", 21765097, "ac15ab755983717a187992eef8ce2017aae33ea444fd655b07e4662690dcc03a", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/squirrel/out1_node_feature_label.txt"),
    file("squirrel_split_0.6_0.2_0.npz", 3134, "f112b88d3354e86d164d4d915b6a1f695c10f0e01e3e6b9893fc7b09bb93191d", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_0.npz"),
    file("squirrel_split_0.6_0.2_1.npz", 3130, "2486c687c8befb55930a6237f76f1d86ce2ba345782eda6157f4e752d05f304f", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_1.npz"),
    file("squirrel_split_0.6_0.2_2.npz", 3121, "d62ff83862ad96022d3400dfc9b7ca405834ca62767319d97c36b3f02db978c0", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_2.npz"),
    file("squirrel_split_0.6_0.2_3.npz", 3126, "af3d90e0b2718ac7417e10e8b5b382443667412e846cabc3cc4e4a592f4cedae", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_3.npz"),
    file("squirrel_split_0.6_0.2_4.npz", 3124, "fbe848298bb72b88db0704050cf216e2a93c916540d577906f3e644b679a6a2c", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_4.npz"),
    file("squirrel_split_0.6_0.2_5.npz", 3111, "cd04fab46a181151ddd97ce93c65fe79558fb79ffa230b62f488ebfaf5fdcd75", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_5.npz"),
    file("squirrel_split_0.6_0.2_6.npz", 3118, "b9189f7903ca7556a025c54dd5be6c00ec5952d4299e71630bc9876157676412", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_6.npz"),
    file("squirrel_split_0.6_0.2_7.npz", 3138, "ea7fb3ca5d5aa45b917b99fb7d64d4e87322b2b5303a0156c547aa3f1a6c8941", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_7.npz"),
    file("squirrel_split_0.6_0.2_8.npz", 3132, "b43faa190ca6dd4885a39dfc2a93d59f56f5174f3567bdbc49b18dd9cd9b7fb4", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_8.npz"),
    file("squirrel_split_0.6_0.2_9.npz", 3146, "529ade4b86fd191908a96011f25c454653083674b6d4f090b3fdd27af2d14f62", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/squirrel_split_0.6_0.2_9.npz"),
];

#[rustfmt::skip] // one file per line
pub(super) const CHAMELEON_FILTERED: &[RemoteFile<'static>] = &[
    by_hand("chameleon_filtered.npz", "https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/main/data/chameleon_filtered.npz"),
];

#[rustfmt::skip] // one file per line
pub(super) const SQUIRREL_FILTERED: &[RemoteFile<'static>] = &[
    by_hand("squirrel_filtered.npz", "https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/main/data/squirrel_filtered.npz"),
];

#[rustfmt::skip] // one file per line
pub(super) const ACTOR: &[RemoteFile<'static>] = &[
    file("film_split_0.6_0.2_0.npz", 4214, "4505a41d4e90abd94d1ec22571ce528b09ad7cf20d87f764aebd4177590767f5", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_0.npz"),
    file("film_split_0.6_0.2_1.npz", 4231, "1871b0d24e3977c41e378fd24acc8025b63f86b77739be77a5b558d1287f207d", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_1.npz"),
    file("film_split_0.6_0.2_2.npz", 4224, "d26680e911ef3ecc9fc2a26d90c9d35028c63aadd7a5aea774649d1496c282cb", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_2.npz"),
    file("film_split_0.6_0.2_3.npz", 4207, "6755ad5f6a0be8594b344af3d2261eed935b83b73c4d70136e1a7beea7f78cb0", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_3.npz"),
    file("film_split_0.6_0.2_4.npz", 4233, "328fdca62b25074f21f2922518e042f24b3b8a1fc378f9dfb2cae36439aed902", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_4.npz"),
    file("film_split_0.6_0.2_5.npz", 4224, "5b3161a8dc8de4b2e651ebd56d68e768d1377044895b325566117fe26ab81cb7", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_5.npz"),
    file("film_split_0.6_0.2_6.npz", 4221, "e251b38abd4d7931b5e9ae5aba99dcdf87f0be283bdf6e65421274a1c9ef1df6", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_6.npz"),
    file("film_split_0.6_0.2_7.npz", 4205, "12164ef9f5620a2f12a387f4f2b8636859d42201101d6d32829ade62d5a98326", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_7.npz"),
    file("film_split_0.6_0.2_8.npz", 4217, "405cd1f7f631f678119f8bf2405809e86614d532985beb59566fcf95abd35b3f", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_8.npz"),
    file("film_split_0.6_0.2_9.npz", 4208, "505691c5d41bb37b20d085415dcdde2e8e68b5bc4e1feb2c0e361308002012bb", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits/film_split_0.6_0.2_9.npz"),
    file("out1_graph_edges.txt", 323820, "997cdce67ea9c29257d3ffe796328391931901cf823830affa453178b60e2c3e", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/film/out1_graph_edges.txt"),
    file("out1_node_feature_label.txt", 207718, "1d5cdd094f8b91e770f6decfca85b35cf42f75d1efb51055fd6af16e11820ff8", "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data/film/out1_node_feature_label.txt"),
];

#[rustfmt::skip] // one file per line
pub(super) const WIKICS: &[RemoteFile<'static>] = &[
    RemoteFile {
        path: "data.json",
        exact_bytes: None,
        most_bytes: 512 << 20,
        check: Checksum::GitBlob("f1b743119df1a7a3bca449039c54034ae623a756"),
        origin: FetchOrigin::Url(
            "https://raw.githubusercontent.com/pmernyei/wiki-cs-dataset/master/dataset/data.json",
        ),
        required: true,
    },
    optional(file("LICENSE", 1071, "1a367ba04df8f585d358865b5a6c216a1358c3bcb1cca09f87899ab62b85dd45", "https://raw.githubusercontent.com/pmernyei/wiki-cs-dataset/master/LICENSE")),
    optional(file("statistics.json", 5194, "4f3406daee8f807bfe8aea629a732b4a8e097b3ff6346391ceab48fe0b970457", "https://raw.githubusercontent.com/pmernyei/wiki-cs-dataset/master/dataset/statistics.json")),
];

#[rustfmt::skip] // one file per line
pub(super) const COAUTHOR_CS: &[RemoteFile<'static>] = &[
    optional(file("LICENSE.gnn-benchmark", 1124, "a319e099466ff9a0b4855a30d27ce4eeaad304863bd73f95a5f7c1696ea2e8ed", "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/LICENSE")),
    file("ms_academic_cs.npz", 12835626, "933c745734e78908c7eb77172a673fee0503f30e26e5a99b36814d88534c42e3", "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/ms_academic_cs.npz"),
];

#[rustfmt::skip] // one file per line
pub(super) const OGBN_ARXIV: &[RemoteFile<'static>] = &[
    RemoteFile {
        path: "raw/node-feat.csv.gz",
        exact_bytes: None,
        most_bytes: 256 << 20,
        check: Checksum::GitBlob("9e386dd5dbb585cdc8cb39f883c29ab6fcd684f8"),
        origin: FetchOrigin::Member { url: ARXIV_ZIP, name: "arxiv/raw/node-feat.csv.gz" },
        required: true,
    },
    optional(member("mapping/labelidx2arxivcategeory.csv.gz", "arxiv/mapping/labelidx2arxivcategeory.csv.gz", 250, "a516ecd32007acca5817296bdd82f5b5db7e21b0917b94311ef4571e29305577")),
    optional(member("mapping/nodeidx2paperid.csv.gz", "arxiv/mapping/nodeidx2paperid.csv.gz", 1221183, "3ad84bd49e905f457d1abb8d7586b52d9fa357efeb4a49f04ef2f2516817e2cf")),
    member("raw/edge.csv.gz", "arxiv/raw/edge.csv.gz", 5033515, "47629e986116407d27eff4c9d2e923f06bf5da5c85cbae93b660f530bc9355df"),
    member("raw/node-label.csv.gz", "arxiv/raw/node-label.csv.gz", 123505, "b06e7cf75d909de66ce49bc4188a6dc525224f85dd6dcb36137de3d9321830d1"),
    optional(member("raw/node_year.csv.gz", "arxiv/raw/node_year.csv.gz", 73612, "fb97e19d6003deb09197f6df6b10ea1ab86ee49d98885836c3c857ab58d897f3")),
    optional(member("raw/num-edge-list.csv.gz", "arxiv/raw/num-edge-list.csv.gz", 52, "430f1e00ae204bbb3208c5f494ab70170e9f2995fd3548d1754a74a8f59250d1")),
    member("raw/num-node-list.csv.gz", "arxiv/raw/num-node-list.csv.gz", 51, "9aa60a342efd209408933ace51e6b0a814e81c2894a993c44f9b173e477e2e82"),
    member("split/time/test.csv.gz", "arxiv/split/time/test.csv.gz", 113234, "588fb66ce57bcaef51ac0235f0a49a056370ac31fc27c8ebf556d3f5cdd02545"),
    member("split/time/train.csv.gz", "arxiv/split/time/train.csv.gz", 211044, "84983391900af45194e5db8d977ec9e01d4eda96e20328f3d7575fdd45c6797c"),
    member("split/time/valid.csv.gz", "arxiv/split/time/valid.csv.gz", 66916, "ebe6cdcd77c75eedbce2064a05a49bc28e2c4a631f49d66b9e9ff317eef993eb"),
];

#[rustfmt::skip] // one file per line
pub(super) const ACM: &[RemoteFile<'static>] = &[
    file("a_feat.npz", 1961252, "e2f2ac8d357310149fc7badbf32ea0b171dec25aad6c37ec45de592666c65555", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/a_feat.npz"),
    file("labels.npy", 32280, "019284b3e6a58fc8ebd432fb99aaaf183ad41dbf56b8ca7af0b56dca9dd844b5", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/labels.npy"),
    file("p_feat.npz", 495879, "9e1019dfceaaabb19ee5b5f09de3147ffbaa818b43c3fc3f92bdfaf4ed5f02f4", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/p_feat.npz"),
    file("pa.txt", 128122, "e67385fc13c3b3b624d81de7eb6e4245d9aeafa063c5466c6fab0f151bcb84d6", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/pa.txt"),
    file("ps.txt", 30181, "3da7615ef5567c5f7f1ab9ec770c4b4b8b6a54790baa1cda3d4499329dfc22d5", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/ps.txt"),
    optional(file("test_20.npy", 8128, "eb90e38c882009c6439d749d160d39ed64f8813e9f672c02be54993914934afa", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/test_20.npy")),
    optional(file("test_40.npy", 8128, "f73d7e23459dd654a7567ee8bf123849f400096f8fac558dc37033d3fdc11aa6", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/test_40.npy")),
    optional(file("test_60.npy", 8128, "5181ccdeacc54b88ed53681ba9f2c789cc6d67a499f40a68ac6827a96932b976", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/test_60.npy")),
    optional(file("train_20.npy", 608, "6bf4c1cef638f3ffe1826091b9be7fbff23a4935dfbde03c24b492d264d67684", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/train_20.npy")),
    optional(file("train_40.npy", 1088, "98239282e69e9775a9b13bc54598cc780eca31dcaeb81963efbbd4c6c3e51435", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/train_40.npy")),
    optional(file("train_60.npy", 1568, "5b86f56415b84d1faa8c8f864cd37272589ec4ffff1b0ca347d4c39ee38dcc02", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/train_60.npy")),
    optional(file("val_20.npy", 8128, "4280dccb661a50196502a39973a462919399fcfcd97b1d43581dfa9ca02d1b5d", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/val_20.npy")),
    optional(file("val_40.npy", 8128, "19fb1e72b76bc24da95423d1a83583a42fe5b62d69b2b197312f630ff5096202", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/val_40.npy")),
    optional(file("val_60.npy", 8128, "e234b6c1e19445ed6cc3694a273b943bbded8e847a9d0246f18d59f76fb8cd5d", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/acm/val_60.npy")),
];

#[rustfmt::skip] // one file per line
pub(super) const DBLP: &[RemoteFile<'static>] = &[
    file("a_feat.npz", 68550, "997876bf8d90d29fdb90bf4801a9909893a9ee5646a85aeca079ce167595ec41", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/a_feat.npz"),
    file("labels.npy", 32584, "817efdc3ebb9e96067b8770dad5894b06ecabde2ac95d4b17443985f0439fda7", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/labels.npy"),
    file("p_feat.npz", 170259, "99c3d1836c44cda016f790d1cdbcc76fed729e48b9e2a9332eac145960716d9f", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/p_feat.npz"),
    file("pa.txt", 193719, "94cf38a92733d21664f55907305773bb6fb90dd9d1579392517596488f061382", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/pa.txt"),
    file("pc.txt", 110214, "316182e11f19fddfc3a01ebd6541134a7c3931ee62262e638be607bb3f9768e4", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/pc.txt"),
    file("pt.txt", 800835, "78f3d6f9a528ed112a2d29bd2a672cdf13a03779a87ce89856e6a622eda280b8", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/pt.txt"),
    file("t_feat.npz", 3089328, "462ea84b5eebfd4883910d0d15afff53e960ae8a80d7d62591f86a8d61fb5467", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/t_feat.npz"),
    optional(file("test_20.npy", 8128, "a7fc6b67e477df8301915065b116fb7742d99f28323a2bf8bcb57663a2d5c490", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/test_20.npy")),
    optional(file("test_40.npy", 8128, "9af7116d1d11e656e4fc64dc11601353a3f37cad8fb9ffe8d71cf16d7e2a7ca6", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/test_40.npy")),
    optional(file("test_60.npy", 8128, "52122be025ae02256f82376bc62d1ba74083a4473a211e89a1389d67ca6e68bb", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/test_60.npy")),
    optional(file("train_20.npy", 768, "85f0e91265931c8b1433ed7bd04e7e8f4c8c4246784d4443c147d6f24cccc709", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/train_20.npy")),
    optional(file("train_40.npy", 1408, "82cead2b36410b52729e2034c0e75de55779e718e4a35f7cc0a31b25526d8c2b", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/train_40.npy")),
    optional(file("train_60.npy", 2048, "47086d378beda443b1a2aa1bb2d681e5a6d2b3e819a3e9850e365ea1f8f9b819", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/train_60.npy")),
    optional(file("val_20.npy", 8128, "6c06b017a4c45c7cd9d01c67fb409336ddcd5c076edb9c90792cc2d027565d38", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/val_20.npy")),
    optional(file("val_40.npy", 8128, "b4c0b94ed81eeb28fe9bf6dd4a057de9093aa512caf4197165a2634568e7b2d5", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/val_40.npy")),
    optional(file("val_60.npy", 8128, "7ba309a9daec8bd5d92e217cecc6a22d8547b7b0193a8a30855fffd41636cec6", "https://raw.githubusercontent.com/liun-online/HeCo/main/data/dblp/val_60.npy")),
];

#[rustfmt::skip] // one file per line
pub(super) const IMDB: &[RemoteFile<'static>] = &[
    by_hand("adjM.npz", "https://github.com/cynricfu/MAGNN"),
    by_hand("features_0.npz", "https://github.com/cynricfu/MAGNN"),
    by_hand("features_1.npz", "https://github.com/cynricfu/MAGNN"),
    by_hand("features_2.npz", "https://github.com/cynricfu/MAGNN"),
    by_hand("labels.npy", "https://github.com/cynricfu/MAGNN"),
    by_hand("node_types.npy", "https://github.com/cynricfu/MAGNN"),
    by_hand("train_val_test_idx.npz", "https://github.com/cynricfu/MAGNN"),
];

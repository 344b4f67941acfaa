import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unquilt.ingest.sites import domain_of, domains_of, host_of, hosts_of, split_url

pieces = st.one_of(
    st.sampled_from(["http://", "https://", "HTTP://", "//", "/", "\\", "@", ":", ":80", ".", "..", "?", "#"]),
    st.sampled_from(["[", "]", "[::1]", "a.org", "WWW.Example.COM", "münchen.de", "faß.de", "xn--mnchen-3ya.de"]),
    st.sampled_from(["%41", "%zz", "%ff", " ", "\t", "\n", "\0", "-", "_", "1.2.3.4", "mailto:"]),
    st.sampled_from(["\u3002", "\u2100", "é", "İ", "\U0001f600", "\u00ad"]),
)
url_like = st.lists(pieces, max_size=8).map("".join) | st.text(max_size=30)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Example.ORG/a", "example.org"),
        ("https://user:pass@www.example.org:8443/", "www.example.org"),
        ("http://example.org./", "example.org"),
        ("http://example.org", "example.org"),
        ("http://example.org?x=/a", "example.org"),
        ("http://example.org#x", "example.org"),
        ("  http://exam\nple.org/ ", "example.org"),
        ("http://a.com\\@b.com/", "a.com"),
        ("http://a.com@b.com/", "b.com"),
        ("//example.org/a", "example.org"),
        ("ftp://example.org/a", "example.org"),
        ("http://[2001:DB8:0::1]:80/", "[2001:db8::1]"),
        ("http://192.0.2.1:80/", "192.0.2.1"),
        ("http://münchen.de/", "xn--mnchen-3ya.de"),
        ("http://MÜNCHEN.de/", "xn--mnchen-3ya.de"),
        ("http://例え。テスト/", "xn--r8jz45g.xn--zckzah"),
        ("http://ex%61mple.org/", "example.org"),
        ("http://under_score.example.org/", "under_score.example.org"),
        ("http:///path", ""),
        ("http://", ""),
        ("http://:80/", ""),
        ("http://a..b/", ""),
        ("http://a b/", ""),
        ("http://[::1", ""),
        ("http://\u2100.org/", ""),
        ("dns:example.org", ""),
        ("mailto:a@example.org", ""),
        ("example.org/path", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    assert host_of(url) == host


@given(url_like)
def test_a_host_put_back_into_a_url_is_itself(url: str) -> None:
    host = host_of(url)
    if host:
        assert host_of(f"http://{host}/") == host


@given(st.lists(st.none() | url_like.filter(lambda url: not any("\ud800" <= c <= "\udfff" for c in url))))
@example(["http://a.org/\n", "http://a.org\n/", "http://a.org", None, "http://a.org:80/x", "http://A.org./x"])
def test_hosts_of_a_column_are_those_of_its_urls(urls: list[str | None]) -> None:
    expected = [None if url is None else host_of(url) for url in urls]
    assert hosts_of(pa.array(urls, pa.string())).to_pylist() == expected


def test_hosts_of_a_slice_and_of_chunks_are_those_of_its_urls() -> None:
    urls = pa.array(["http://a.org/1", "x", None, "https://B.org:1/2"])
    assert hosts_of(urls[1:]).to_pylist() == ["", None, "b.org"]
    assert hosts_of(pa.chunked_array([urls, urls[:1]])).to_pylist() == ["a.org", "", None, "b.org", "a.org"]
    assert hosts_of(pa.array([], pa.string())).to_pylist() == []


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.bbc.co.uk", "bbc.co.uk"),
        ("bbc.co.uk", "bbc.co.uk"),
        ("co.uk", "co.uk"),
        ("a.b.github.io", "b.github.io"),
        ("www.shop.example", "shop.example"),
        ("localhost", "localhost"),
        ("www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("192.0.2.1", "192.0.2.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("2001:db8::1", "2001:db8::1"),
        ("", ""),
    ],
)
def test_the_registered_domain_of_a_host(host: str, domain: str) -> None:
    assert domain_of(host) == domain


@given(url_like)
def test_every_host_has_a_domain_it_ends_with_and_that_is_its_own_domain(url: str) -> None:
    host = host_of(url)
    domain = domain_of(host)
    assert host.endswith(domain)
    assert bool(domain) == bool(host)
    assert domain_of(domain) == domain


def test_domains_of_a_column_are_those_of_its_hosts() -> None:
    hosts = pa.array(["www.bbc.co.uk", None, "a.org", "www.bbc.co.uk", ""])
    assert domains_of(hosts).to_pylist() == ["bbc.co.uk", None, "a.org", "bbc.co.uk", ""]


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://A.org/x/y?z#f", ("a.org", "/x/y?z")),
        ("http://a.org", ("a.org", "/")),
        ("http://a.org?z", ("a.org", "/?z")),
        ("http://a.org\\x", ("a.org", "/x")),
        ("nothing", ("", "")),
    ],
)
def test_a_url_is_split_into_host_and_path(url: str, parts: tuple[str, str]) -> None:
    assert split_url(url) == parts

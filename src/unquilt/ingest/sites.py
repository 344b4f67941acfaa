"""Which host and which registered domain a URL belongs to."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from functools import cache, lru_cache
from urllib.parse import unquote_to_bytes

import pyarrow as pa
import pyarrow.compute as pc
from publicsuffixlist import PublicSuffixList

# The authority ends at a backslash too: browsers read http://a.com\@b.com as a page of a.com.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//([^/?#\\]*)(.*)", re.DOTALL)
_PLAIN = re.compile(r"[a-z0-9_\-]+(?:\.[a-z0-9_\-]+)*")
_PORT = re.compile(r":[0-9]*\Z")
_FORBIDDEN = re.compile('[\x00-\x20"#%/:<>?@\\[\\\\\\]^`{|}\x7f\ud800-\udfff]')
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_EDGES = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\r\n")


def split_url(url: str) -> tuple[str, str]:
    """The host, and the path with its query: ("a.org", "/x?y"); ("", "") if there is no host."""
    found = _URL.match(url.strip(_EDGES).translate(_DROPPED))
    host = _host(found[1]) if found else ""
    if not found or not host:
        return "", ""
    rest = found[2].partition("#")[0]
    return host, rest if rest.startswith("/") else "/" + rest.removeprefix("\\")


def host_of(url: str) -> str:
    """The host: lower case, in ASCII where it can be, without user, port and last dot; "" if there is none.

    An IPv6 address keeps its brackets, so that a host can always be put back into a URL.
    """
    found = _URL.match(url.strip(_EDGES).translate(_DROPPED))
    return _host(found[1]) if found else ""


def hosts_of(urls: pa.Array) -> pa.Array:
    """``host_of`` of every URL; null stays null. Only hosts of an unusual form are read one at a time."""
    if isinstance(urls, pa.ChunkedArray):
        urls = urls.combine_chunks()
    urls = urls.cast(pa.string())
    usual = pc.or_(pc.starts_with(urls, "http://"), pc.starts_with(urls, "https://"))
    all_usual = pc.all(usual, skip_nulls=False, min_count=0).as_py()
    hosts = _usual_hosts(urls if all_usual else pc.if_else(usual, urls, pa.scalar(None, pa.string())))
    left = pc.and_(pc.is_null(hosts), pc.is_valid(urls))
    if not pc.any(left, min_count=0).as_py():
        return hosts
    slow = pa.array([host_of(url) for url in urls.filter(left).to_pylist()], pa.string())
    return pc.replace_with_mask(hosts, left, slow)


def _usual_hosts(urls: pa.Array) -> pa.Array:
    """The hosts of URLs that begin with http:// or https://; null where it takes the whole URL to tell."""
    if urls.null_count == len(urls):
        return pa.nulls(len(urls), pa.string())
    authority = pc.list_element(pc.split_pattern(urls, "/", max_splits=3), 2)
    encoded = authority.dictionary_encode()
    return pc.take(_clean_hosts(encoded.dictionary), encoded.indices)


def _clean_hosts(authorities: pa.Array) -> pa.Array:
    lowered = pc.ascii_lower(authorities)
    plain = pc.match_substring_regex(lowered, r"^[a-z0-9_\-]+(?:\.[a-z0-9_\-]+)*$")
    if pc.all(plain, min_count=0).as_py():
        return lowered
    odd = pc.invert(plain)
    slow = pa.array([_odd_host(text) for text in authorities.filter(odd).to_pylist()], pa.string())
    return pc.replace_with_mask(lowered, odd, slow)


def _odd_host(authority: str) -> str | None:
    # White space is stripped at the end of a URL but not inside, and here the end is not known.
    return None if any(char <= " " for char in authority) else host_of("http://" + authority)


@lru_cache(maxsize=1 << 16)
def _host(authority: str) -> str:
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        return _ip6(_PORT.sub("", host) if not host.endswith("]") else host)
    host = _PORT.sub("", host)
    lowered = host.lower().removesuffix(".") if host.isascii() else host
    if _PLAIN.fullmatch(lowered):
        return lowered
    return _unusual(host)


def _ip6(host: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]" if host.endswith("]") else ""
    except ValueError:
        return ""


def _unusual(host: str) -> str:
    if "%" in host:
        host = unquote_to_bytes(host.encode("utf-8", "replace")).decode("utf-8", "replace")
    labels = [_label(label) for label in _DOTS.sub(".", host).split(".")]
    if len(labels) > 1 and not labels[-1]:
        labels.pop()
    if not all(labels) or _FORBIDDEN.search("".join(labels)):
        return ""
    return ".".join(labels)


def _label(label: str) -> str:
    if label.isascii():
        return label.lower()
    try:
        return label.encode("idna").decode("ascii").lower()
    except UnicodeError:  # a name no registry would take; crawls hold them all the same
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).lower())
        return "" if "." in folded else folded


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=1 << 18)
def domain_of(host: str) -> str:
    """The registered domain of a host: ``bbc.co.uk`` of ``www.bbc.co.uk``.

    An IP address, a public suffix and a name without a dot are their own domain.
    """
    if _is_ip(host):
        return host
    return _suffixes().privatesuffix(host) or host


def domains_of(hosts: pa.Array) -> pa.Array:
    """``domain_of`` of every host; null stays null."""
    if isinstance(hosts, pa.ChunkedArray):
        hosts = hosts.combine_chunks()
    encoded = hosts.cast(pa.string()).dictionary_encode()
    domains = pa.array(map(domain_of, encoded.dictionary.to_pylist()), pa.string())
    return pc.take(domains, encoded.indices)


def _is_ip(host: str) -> bool:
    if not host.startswith("[") and ":" not in host and not host[-1:].isdecimal():
        return False
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True

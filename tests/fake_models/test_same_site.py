"""Which requests a browser may have been made to send: told by Host and Origin."""

import pytest

from fake_models.same_site import stray


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        ("127.0.0.1", "127.0.0.1:8800"),
        ("127.0.0.1", "localhost:8800"),
        ("127.0.0.1", "LOCALHOST:8800"),
        ("127.0.0.1", "[::1]:8800"),
        ("::1", "[::1]:8800"),
        ("127.0.0.2", "127.0.0.2:8800"),
        ("buildbox", "buildbox:8800"),
        ("0.0.0.0", "192.168.1.5:8800"),
        ("::", "[fe80::1]:8800"),
    ],
)
def test_a_server_is_asked_by_its_own_address(host, asked):
    assert stray({"host": asked}, host, 8800) is None
    assert stray({"host": asked, "origin": f"http://{asked}"}, host, 8800) is None


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        ("127.0.0.1", "evil.example:8800"),
        ("127.0.0.1", "localhost.evil.example:8800"),
        ("127.0.0.1", "127.0.0.1:8801"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "192.168.1.5:8800"),
        ("127.0.0.1", "127.0.0.1:8800, evil.example:8800"),
        ("127.0.0.1", ""),
        ("0.0.0.0", "evil.example:8800"),
    ],
)
def test_no_other_name_will_do(host, asked):
    assert f"came Host {asked!r}" in stray({"host": asked}, host, 8800)


def test_what_names_no_host_is_no_browser():
    assert stray({}, "127.0.0.1", 8800) is None


def test_a_port_that_is_the_usual_one_may_be_left_out():
    assert stray({"host": "localhost"}, "127.0.0.1", 80) is None


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8800", "http://127.0.0.1:9"])
def test_a_page_from_elsewhere_is_told_by_its_origin(origin):
    assert f"came Origin {origin!r}" in stray({"host": "127.0.0.1:8800", "origin": origin}, "127.0.0.1", 8800)

"""What of a body is JSON: what real servers read, and nothing that a recording could not say again."""

import json

import pytest

from fake_models.bodies import DEEPEST, json_or_text, read


def nested(levels):
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    "content",
    [
        b'{"a":[1,2.5,-1e-999,true,null,"\\ud800"]}',
        b" [1] \n",
        b'"x"',
        nested(DEEPEST),
        b'{"a":' * (DEEPEST - 1) + b"{}" + b"}" * (DEEPEST - 1),
        b"[" + b",".join([b"[{}]"] * 1000) + b"]",
        json.dumps("[" * 10_000).encode(),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_json_is_read(content):
    assert json_or_text(content) == json.loads(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{oops",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b"[-Infinity]",
        b'{"a":1e999}',
        b"[-1e999]",
        b"1" * 5000,
        "\ufeff{}".encode(),
        '{"a":"é"}'.encode("utf-16"),
        "{}".encode("utf-16-le"),
        "{}".encode("utf-32"),
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        nested(DEEPEST + 1),
        nested(960),
        nested(100_000),
        b"[" * 100_000,
        b'[1,{"a":' + nested(DEEPEST - 1) + b"}]",
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_providers_do_not_read_stays_the_text_that_it_was(content):
    assert json_or_text(content) == content.decode("utf-8", "replace")
    with pytest.raises(ValueError, match=r"."):
        read(content)

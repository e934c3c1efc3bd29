import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from kits_library import plans

from conformance.dialect import BY_NAME
from conformance.errors import LoadError, Problem
from conformance.loading import loader, plain_yaml, schema_check
from conformance.scenario import Scenario, scenario

SCENARIOS = Path(__file__).parent.parent / "scenarios"
SCHEMA = json.loads((Path(loader.__file__).parents[1] / "schemas" / "scenario.schema.json").read_text("utf-8"))

GOOD = """\
id: good
title: A greeting is answered
why: Silence is rude.
tools:
  look: {description: Looks., parameters: {type: object}, returns: 1}
runs:
  - user: hello
    model:
      - call: look
      - say: "{{ result.look }}"
"""


def refused(text, rule_ids=None):
    with pytest.raises(LoadError) as caught:
        loader.load_text(text, "good.yaml", rule_ids=rule_ids)
    return [str(problem) for problem in caught.value.errors]


def value(text):
    return plain_yaml.read(f"x: {text}\n", "f").data["x"]


def write(folder, name, text=GOOD):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("id: good", f"id: {path.stem}"), "utf-8")
    return path


READ = [
    ("true", True),
    ("false", False),
    ("null", None),
    ("0", 0),
    ("-12", -12),
    ("1.5", 1.5),
    ("-1e3", -1000.0),
    ("1E+2", 100.0),
    ("no", "no"),
    ("yes", "yes"),
    ("on", "on"),
    ("True", "True"),
    ("~", "~"),
    ("Null", "Null"),
    ("2026-09-29", "2026-09-29"),
    ("2026-09-29T14:39:32+08:00", "2026-09-29T14:39:32+08:00"),
    ("0x10", "0x10"),
    ("010", "010"),
    ("0o7", "0o7"),
    ("1_000", "1_000"),
    ("12:30", "12:30"),
    (".5", ".5"),
    ("1.", "1."),
    ("+1", "+1"),
    (".inf", ".inf"),
    (".nan", ".nan"),
    ("'1'", "1"),
    ('"true"', "true"),
    ("''", ""),
    ("|\n  1\n", "1\n"),
    ("[1, a, {b: null}]", [1, "a", {"b": None}]),
]

WRONG_YAML = [
    ("", "good.yaml:1:1: the file is empty; expected a mapping with id, title, why and runs"),
    ("# only a comment\n", "good.yaml:1:1: the file is empty; expected a mapping with id, title, why and runs"),
    ("a: 1\nb:\n", "good.yaml:2:1: b: nothing stands here; write null or a value"),
    ("a: {b: , c: 1}\n", "good.yaml:1:5: a.b: nothing stands here; write null or a value"),
    ("a: 1\nb: 2\na: 3\n", "good.yaml:3:1: a: key 'a' stands twice, first in line 1; keep one"),
    ("a: &x 1\n", "good.yaml:1:4: a: anchor '&x': anchors are not read; leave it out"),
    ("a: !!str 1\n", "good.yaml:1:4: a: tag 'tag:yaml.org,2002:str': tags are not read; quote a value that is a text"),
    ("a: !own {b: 1}\n", "good.yaml:1:4: a: tag '!own': tags are not read; quote a value that is a text"),
    ("a: *x\n", "good.yaml:1:4: a: alias '*x': aliases are not read; write the value out"),
    ("!!map {a: 1}\n", "good.yaml:1:1: tag 'tag:yaml.org,2002:map': tags are not read; quote a value that is a text"),
    ("a: 1\n---\nb: 2\n", "good.yaml:2:1: a second document starts here; a file holds one scenario"),
    ("? [a]\n: 1\n", "good.yaml:1:3: a key is no text; keys are plain words, as in JSON"),
    ("a:\n  -\n", "good.yaml:2:4: a[0]: nothing stands here; write null or a value"),
    ("?\n: 1\n", "good.yaml:1:2: a value has no key; write `key: value`"),
    ("a: 1e999\n", "good.yaml:1:4: a: '1e999' is too large for a number; quote it if it is a text"),
    (
        "a: \x07\n",
        "good.yaml:1:4: character '\\x07' may not stand in a YAML file; write it as an escape in double quotes",
    ),
    ("a: " + "[" * 500, "good.yaml:1:67: nested deeper than 64 levels; is a bracket never closed?"),
    ("a: " + "{a: " * 10_000, "good.yaml:1:256: nested deeper than 64 levels; is a bracket never closed?"),
]

#: What is wrong, the text it is put in place of, and what the author is told.
WRONG_SCENARIO = [
    ("toools:", "tools:", "good.yaml:4:1: toools: unknown key 'toools'; did you mean 'tools'?"),
    ("zzz: 1\nwhy:", "why:", "good.yaml:3:1: zzz: unknown key 'zzz'; known here: cap, clock, deadline_s,"),
    ("title: 5", "title: A greeting is answered", "good.yaml:2:8: title: came 5, expected a text; quote it"),
    ("id: Good_1", "id: good", 'good.yaml:1:5: id: came "Good_1", expected a text that matches ^[a-z0-9-]+$'),
    ("", "why: Silence is rude.\n", "good.yaml:1:1: 'why' must be written here and is missing"),
    (
        "clock: 2026-01-01T00:00:00\nwhy:",
        "why:",
        'good.yaml:3:8: clock: came "2026-01-01T00:00:00", expected an RFC 3339 time with an offset',
    ),
    (
        "clock: 2026-13-01T00:00:00Z\nwhy:",
        "why:",
        'good.yaml:3:8: clock: came "2026-13-01T00:00:00Z", expected an RFC 3339 time',
    ),
    ("limits: {max_iters: -1}\nwhy:", "why:", "good.yaml:3:21: limits.max_iters: came -1, expected at least 0"),
    ("limits: {max_iters: true}\nwhy:", "why:", "good.yaml:3:21: limits.max_iters: came true, expected an integer"),
    ("deadline_s: 0\nwhy:", "why:", "good.yaml:3:13: deadline_s: came 0, expected more than 0"),
    ("tags: [a, a]\nwhy:", "why:", 'good.yaml:3:7: tags: came ["a", "a"], expected every entry once'),
    ("lo ok:", "look:", 'good.yaml:5:3: tools.lo ok: key "lo ok", expected a text that matches'),
    ("retruns: 1", "returns: 1", "good.yaml:5:59: tools.look.retruns: unknown key 'retruns'; did you mean 'returns'?"),
    (
        "counts: true",
        "returns: 1",
        "good.yaml:5:9: tools.look: exactly one of returns, raises, hangs, large, sequence must be written here",
    ),
    (
        "returns: 1, hangs: true",
        "returns: 1",
        "good.yaml:5:71: tools.look.hangs: 'returns' and 'hangs' stand together, expected exactly one of",
    ),
    ("hangs: yes", "returns: 1", 'good.yaml:5:66: tools.look.hangs: came "yes", expected true'),
    (
        "{type: objct}",
        "{type: object}",
        "good.yaml:5:50: tools.look.parameters.type: the parameters are no JSON Schema: 'objct'",
    ),
    (
        "{pattern: '['}",
        "{type: object}",
        "good.yaml:5:53: tools.look.parameters.pattern: the parameters are no JSON Schema: '['",
    ),
    ("usr: hello", "user: hello", "good.yaml:7:5: runs[0].usr: unknown key 'usr'; did you mean 'user'?"),
    (
        "user: hello\n    resume: [{approved: true}]",
        "user: hello",
        "good.yaml:8:5: runs[0].resume: 'user' and 'resume' stand together, expected exactly one of",
    ),
    ("{}", "call: look", "good.yaml:9:9: runs[0].model[0]: at least one of say, think, answer, call, empty, error,"),
    ("cal: look", "call: look", "good.yaml:9:9: runs[0].model[0].cal: unknown key 'cal'; did you mean 'call'?"),
    ("call: []", "call: look", "good.yaml:9:15: runs[0].model[0].call: came [], expected at least one entry"),
    (
        "call: {nam: look}",
        "call: look",
        "good.yaml:9:16: runs[0].model[0].call.nam: unknown key 'nam'; did you mean 'name'?",
    ),
    (
        "call: [{name: look, args: {}, raw: x}]",
        "call: look",
        "good.yaml:9:39: runs[0].model[0].call[0].raw: 'raw' cannot stand beside 'args'",
    ),
    (
        "{call: look, error: {status: 500}}",
        "call: look",
        "good.yaml:9:10: runs[0].model[0].call: 'call' cannot stand beside 'error'; keep one",
    ),
    (
        "{overflow: code, stop: length}",
        "call: look",
        "good.yaml:9:26: runs[0].model[0].stop: 'stop' cannot stand beside 'overflow'",
    ),
    (
        "{error: {status: 500}, cut: {after_bytes: 1}}",
        "call: look",
        "good.yaml:9:32: runs[0].model[0].cut: 'cut' cannot stand beside 'error'",
    ),
    ("{empty: blank, say: x}", "call: look", "good.yaml:9:24: runs[0].model[0].say: 'say' cannot stand beside 'empty'"),
    (
        "{cut: {after_bytes: 1}, stall: {}}",
        "call: look",
        "good.yaml:9:33: runs[0].model[0].stall: 'stall' cannot stand beside 'cut'",
    ),
    (
        "cut: {after_bytes: 1, after_chunks: 1}",
        "call: look",
        "good.yaml:9:15: runs[0].model[0].cut.after_bytes: 'after_chunks' and 'after_bytes' stand",
    ),
    (
        "cut: {reset: true}",
        "call: look",
        "good.yaml:9:14: runs[0].model[0].cut: exactly one of after_chunks, after_bytes must be",
    ),
    (
        "empty: blnk",
        "call: look",
        'good.yaml:9:16: runs[0].model[0].empty: came "blnk", expected "no_parts" or "null" or "blank" or',
    ),
    (
        "{say: x, repeat: forevr}",
        "call: look",
        'good.yaml:9:26: runs[0].model[0].repeat: came "forevr", expected "forever"; did you mean \'forever\'?',
    ),
    ("{say: x, repeat: 0}", "call: look", "good.yaml:9:26: runs[0].model[0].repeat: came 0, expected at least 1"),
    (
        "{say: x, usage: {input: 1}}",
        "call: look",
        "good.yaml:9:25: runs[0].model[0].usage: 'output' must be written here and is missing",
    ),
    (
        "{say: x, when: {tools: all}}",
        "call: look",
        'good.yaml:9:32: runs[0].model[0].when.tools: came "all", expected "offered" or "none"',
    ),
    (
        "{say: x, when: {round: 0}}",
        "call: look",
        "good.yaml:9:32: runs[0].model[0].when.round: came 0, expected at least 1",
    ),
    (
        "{say: x, when: {last: bot}}",
        "call: look",
        'good.yaml:9:31: runs[0].model[0].when.last: came "bot", expected "system" or',
    ),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_value_is_read_as_json_reads_it(text, expected):
    assert (value(text), type(value(text))) == (expected, type(expected))


@pytest.mark.parametrize("parser", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@pytest.mark.parametrize(("text", "problem"), WRONG_YAML)
def test_what_json_cannot_say_is_refused_at_its_place(text, problem, parser, monkeypatch):
    monkeypatch.setattr(plain_yaml, "_LOADER", parser)

    assert refused(text)[0] == problem


@pytest.mark.parametrize("text", ["a: [1\n", "a: 'x\n", "a: b: c\n", "%YAML 9.9\n---\na: 1\n", "\ta: 1\n"])
def test_text_that_is_no_yaml_is_refused_with_the_line(text):
    assert refused(text)[0].startswith("good.yaml:")
    assert "this is no YAML: " in refused(text)[0]


def test_ten_thousand_open_brackets_are_refused():
    assert "nest" in refused("a: " + "[" * 10_000)[0]


def test_an_integer_of_any_length_ends_as_a_problem():
    assert "too large for a number" in refused("a: " + "9" * 5000)[0]


@pytest.mark.parametrize("text", ["- 1\n", "word\n", "3\n", "null\n"])
def test_a_document_that_is_no_mapping_is_refused(text):
    (problem,) = refused(text)

    assert problem.startswith("good.yaml:1:1: came ")
    assert problem.endswith("expected a mapping")


def test_the_good_scenario_is_good():
    assert loader.load_text(GOOD, "good.yaml", rule_ids=()).id == "good"


@pytest.mark.parametrize(("put", "instead_of", "problem"), WRONG_SCENARIO)
def test_the_one_thing_wrong_gives_one_message_with_its_place(put, instead_of, problem):
    assert GOOD.count(instead_of) == 1

    (told,) = refused(GOOD.replace(instead_of, put))

    assert told.startswith(problem)


def test_all_problems_of_a_file_come_at_once_in_the_order_of_the_file():
    problems = refused(GOOD.replace("title:", "titel:").replace("call: look", "empty: x").replace("look:", "'l k':"))

    assert [problem.split(": ")[0] for problem in problems] == ["good.yaml:2:1", "good.yaml:5:3", "good.yaml:9:16"]


def test_lint_problems_refuse_a_scenario_when_the_rules_are_known():
    text = GOOD.replace("why:", "exercises: [RUN-l]\nwhy:").replace("{{ result.look }}", "{{ result.lok }}")

    assert loader.load_text(text, "good.yaml").exercises == ("RUN-l",)
    assert refused(text, rule_ids=("RUN-1",)) == [
        "good.yaml:3:13: exercises[0]: no rule has the id 'RUN-l'; did you mean 'RUN-1'?",
        "good.yaml:11:14: runs[0].model[1].say: template '{{ result.lok }}': the scenario has no tool 'lok'; did you mean 'look'?",
    ]


def test_a_template_that_cannot_be_read_is_a_lint_problem():
    assert "'{{ look }}'" in refused(GOOD.replace("{{ result.look }}", "{{ look }}"), rule_ids=())[0]


def test_an_id_that_is_not_the_files_name_is_refused(tmp_path):
    path = tmp_path / "other.yaml"
    path.write_text(GOOD)

    with pytest.raises(LoadError, match=r"other.yaml:1:5: id: came 'good', expected 'other'"):
        loader.load(path)


def test_a_file_of_fifty_megabytes_is_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("the file was read"))

    with pytest.raises(LoadError, match=r"large.yaml: the file has 50000000 bytes, expected at most 1048576"):
        loader.load(path)


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path):
    path = tmp_path / "good.yaml"
    path.write_bytes(b"id: good\ntitle: \xe4\n")

    with pytest.raises(LoadError, match=r"good.yaml:2: byte b'\\xe4' is not UTF-8"):
        loader.load(path)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "good.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())

    assert loader.load(path).title == "A greeting is answered"


def test_what_is_no_readable_file_is_refused(tmp_path):
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, tmp_path / "absent.yaml", Path("a\0b"), Path("x" * 5000)):
        with pytest.raises(LoadError):
            loader.load(path)


def test_problems_of_all_files_come_at_once(tmp_path):
    paths = [
        write(tmp_path, "one.yaml", "id: one\n"),
        write(tmp_path, "two.yaml"),
        write(tmp_path, "three.yaml", "[]\n"),
    ]

    with pytest.raises(LoadError) as caught:
        loader.load_all(paths)

    assert [problem.file for problem in caught.value.errors] == [str(paths[0]), str(paths[2])]
    assert [one.id for one in loader.load_all(paths[1:2])] == ["two"]


def test_scenarios_are_found_by_id_by_file_and_by_folder(tmp_path):
    one, two, three = (write(tmp_path, name) for name in ("a/one.yaml", "a/b/two.yml", "c/three.yaml"))
    write(tmp_path, "a/notes.txt")

    assert loader.find([], [tmp_path]) == (two, one, three)
    assert loader.find(["three", "one"], [tmp_path]) == (three, one)
    assert loader.find([str(tmp_path / "a")], []) == (two, one)
    assert loader.find([str(three)], []) == (three,)
    assert loader.find([str(three), "three", str(tmp_path / "c")], [tmp_path]) == (three,)


def test_a_selector_that_names_nothing_is_told_the_nearest_id(tmp_path):
    write(tmp_path, "empty-once.yaml")

    with pytest.raises(
        LoadError, match="no file, folder or scenario id has the name 'empty-one'; did you mean 'empty-once'"
    ):
        loader.find(["empty-one"], [tmp_path])


@pytest.mark.parametrize("selector", ["a\0b", "x" * 5000, ""])
def test_an_odd_selector_is_a_problem_like_any_other(selector, tmp_path):
    with pytest.raises(LoadError):
        loader.find([selector], [tmp_path])


def test_two_files_with_one_id_are_refused(tmp_path):
    write(tmp_path, "a/one.yaml")
    write(tmp_path, "b/one.yaml")

    for selectors in ([], ["one"], [str(tmp_path)]):
        with pytest.raises(LoadError, match=r"b.one\.yaml: id 'one' is also that of .*a.one\.yaml"):
            loader.find(selectors, [tmp_path])


def test_the_bundled_scenarios_are_those_of_the_scenarios_folder():
    there = sorted(path.relative_to(SCENARIOS) for path in SCENARIOS.rglob("*.yaml"))

    assert [path.relative_to(loader.library()) for path in loader.bundled()] == there


def test_every_bundled_scenario_names_its_schema():
    for path in loader.bundled():
        comment, _, schema = path.read_text("utf-8").partition("\n")[0].partition("=")
        assert comment == "# yaml-language-server: $schema", path
        assert (path.parent / schema).resolve().name == "scenario.schema.json", path


def test_every_bundled_scenario_is_given_back_by_its_data():
    assert [one.id for one in plans() if scenario(json.loads(json.dumps(one.data))) != one] == []


def keys_of(schema, path=""):
    if isinstance(schema, dict):
        for name, one in schema.get("properties", {}).items():
            if one != {"not": {}}:
                yield f"{path}.{name}", one
        for key, one in schema.items():
            yield from keys_of(one, f"{path}.{key}")
    elif isinstance(schema, list):
        for one in schema:
            yield from keys_of(one, path)


def test_every_key_of_the_schema_is_described():
    keys = dict(keys_of(SCHEMA))

    assert len(keys) > 80
    assert [path for path, schema in keys.items() if not schema.get("description")] == []


def objects_of(schema):
    if isinstance(schema, dict):
        if "object" in schema.get("type", ()) and "properties" in schema:
            yield schema
        for one in schema.values():
            yield from objects_of(one)


def test_every_object_of_the_schema_is_closed():
    assert all(
        schema["additionalProperties"] is False
        for schema in objects_of(SCHEMA)
        if schema["properties"].keys() != {"name"}
    )


def test_the_schema_is_one():
    schema_check.Draft202012Validator.check_schema(SCHEMA)


def test_every_keyword_of_the_schema_has_its_words():
    plain = {
        "$ref",
        "properties",
        "items",
        "if",
        "then",
        "description",
        "title",
        "$schema",
        "$defs",
        "dependentSchemas",
        "propertyNames",
    }

    def keywords(schema):
        yield from schema
        for key in ("properties", "$defs", "dependentSchemas"):
            for one in schema.get(key, {}).values():
                yield from keywords(one)
        for key in ("items", "if", "then", "propertyNames", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                yield from keywords(schema[key])

    assert set(keywords(SCHEMA)) - plain == set(schema_check.EXPLAIN)


def test_a_problem_says_file_line_column_path_and_message():
    problem = Problem(("runs", 0, "user"), "came 5", file="f.yaml", line=3, column=7)

    assert str(problem) == "f.yaml:3:7: runs[0].user: came 5"
    assert str(Problem((), "empty", file="f.yaml")) == "f.yaml: empty"
    assert str(Problem(("id",), "came 5")) == "id: came 5"


def either(text):
    """A Scenario or a LoadError whose every problem has a place; anything else that comes out is a bug."""
    try:
        return loader.load_text(text, "fuzz.yaml", rule_ids=("RUN-1",))
    except LoadError as error:
        errors = error.errors
    assert errors
    assert all(problem.line >= 1 and problem.column >= 1 and problem.message for problem in errors)
    return None


LONGEST = (SCENARIOS / "limits" / "cargo-chain-max-iters-2.yaml").read_text("utf-8")
WORDS = [
    *SCHEMA["properties"],
    *SCHEMA["$defs"]["turn"]["properties"],
    *list(BY_NAME)[:5],
    "forever",
    "{{ now }}",
    "{{",
    "~",
    "1e9",
    "-1",
    "null",
]
PIECES = st.sampled_from(
    [
        *WORDS,
        *":-,[]{}&*!|>'\"#%@`?\n\t",
        "\n  ",
        ": ",
        "- ",
        "\ud800",
        "\x00",
        "é",
        "😀",
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_yaml_like_text_gives_a_scenario_or_a_problem(text):
    either(text)


@settings(max_examples=200)
@given(st.integers(0, len(LONGEST)), st.integers(0, 30), PIECES)
def test_a_file_that_was_cut_or_changed_gives_a_scenario_or_a_problem(start, length, piece):
    either(LONGEST[:start])
    either(LONGEST[:start] + piece + LONGEST[start + length :])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=20,
)


def paths_of(data, path=()):
    yield path
    for key, one in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from paths_of(one, (*path, key))


def put(data, path, new):
    if not path:
        return new
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = put(data[path[0]], path[1:], new)
    return copy


WHOLE = loader.load_text(LONGEST, "whole").data


@settings(max_examples=300)
@given(st.sampled_from(list(paths_of(WHOLE))), JSON)
def test_any_value_at_any_place_gives_a_scenario_or_a_problem(path, new):
    loaded = either(json.dumps(put(WHOLE, path, new)))

    assert loaded is None or (isinstance(loaded, Scenario) and scenario(loaded.data) == loaded)


@pytest.mark.parametrize(
    "parameters",
    [
        "{$ref: '#/nope'}",
        "{$ref: '#'}",
        "{$schema: 5, type: object}",
        "{properties: {x: {$dynamicRef: '#x'}}}",
        "{$id: '::::'}",
    ],
)
def test_a_tools_schema_that_refers_elsewhere_is_refused_with_its_place(parameters):
    text = f"""id: t
title: T
why: W
tools:
  look: {{description: Looks., parameters: {parameters}, returns: 1}}
runs: [{{user: hi, model: [{{answer: ok}}]}}]
"""
    with pytest.raises(LoadError, match=r"t:5:\d+: tools.look.parameters.*cannot refer to another place"):
        loader.load_text(text, "t")


def test_a_property_may_be_called_like_a_reference():
    text = """id: t
title: T
why: W
tools:
  look: {description: Looks., parameters: {type: object, properties: {$ref: {type: string}}}, returns: 1}
runs: [{user: hi, model: [{answer: ok}]}]
"""
    assert loader.load_text(text, "t").tools["look"]

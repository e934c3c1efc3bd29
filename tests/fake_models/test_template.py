from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models.errors import ScriptError
from fake_models.messages import Execution, World
from fake_models.template import Resolved, paths, render

NOW = datetime(2026, 9, 29, 14, 39, 32, tzinfo=timezone(timedelta(hours=8)))
SCHEDULE = {"ship": "MSC AURORA", "voyages": [{"no": "V-2609A", "teu": 1200}, {"no": "V-2610B", "teu": 1.5}]}

WORLD = World(
    now=NOW,
    run="r2",
    executions=(
        Execution("x1", "r1", "clock", "c1", "earlier"),
        Execution("x2", "r1", "schedule", "c2", SCHEDULE),
        Execution("x3", "r2", "clock", "c3", "first of r2"),
        Execution("x4", "r2", "clock", "c4", "last of r2"),
        Execution("x5", "r2", "items", None, [["a", "b"], ["c"]]),
        Execution("x6", "r2", "items", "c6", [["d"]]),
        Execution("x7", "r2", "get-it", "call_7-a", None),
        Execution("x8", "r2", "digits", "c8", {"0": "a key", "json": '{"a": 1}'}),
    ),
)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ now }}", "2026-09-29T14:39:32+08:00"),
        ("{{ now | datetime }}", "2026-09-29 14:39:32"),
        ("{{now|datetime}}", "2026-09-29 14:39:32"),
        ("{{ result.clock }}", "last of r2"),
        ("{{ result.clock[0] }}", "first of r2"),
        ("{{ result.clock[1] }}", "last of r2"),
        ("{{ result.schedule.ship }}", "MSC AURORA"),
        ("{{ result.schedule.voyages[0].no }}", "V-2609A"),
        ("{{ result.schedule.voyages[1] }}", {"no": "V-2610B", "teu": 1.5}),
        ("{{ result.schedule.voyages[0].teu }}", 1200),
        ("{{ result.schedule[0].voyages[1].teu }}", 1.5),
        ("{{ result.items }}", [["d"]]),
        ("{{ result.items[0] }}", [["a", "b"], ["c"]]),
        ("{{ result.items[0][0][1] }}", "b"),
        ("{{ result.get-it }}", None),
        ("{{ call.c1 }}", "earlier"),
        ("{{ call.call_7-a }}", None),
        ("{{ call.c6[0][0] }}", "d"),
        ("{{ result.digits.0 }}", "a key"),
        ("{{ result.items | json }}", '[["d"]]'),
        ("{{ result.get-it | json }}", "null"),
        ("{{ result.schedule.ship | json }}", '"MSC AURORA"'),
    ],
)
def test_a_string_that_is_one_template_becomes_the_value_with_its_type(template, value):
    rendered = render(template, WORLD).value

    assert rendered == value
    assert type(rendered) is type(value)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("At {{ now | datetime }}.", "At 2026-09-29 14:39:32."),
        ("{{ result.schedule.ship }} carries {{ result.schedule.voyages[0].teu }}", "MSC AURORA carries 1200"),
        ("It is {{ result.get-it }}", "It is null"),
        (" {{ result.items }}", ' [["d"]]'),
        ("时间查询完成: {{ result.clock }}", "时间查询完成: last of r2"),
        ("{{ result.schedule.voyages[1].teu }}{{ result.clock }}", "1.5last of r2"),
        ("no braces", "no braces"),
        ("", ""),
        ("}} {a} {", "}} {a} {"),
    ],
)
def test_templates_inside_a_text_render_as_text(template, said):
    assert render(template, WORLD).value == said


def test_a_value_is_walked_through_and_its_keys_are_left_alone():
    value = {"{{ now }}": ["{{ call.c1 }}", 1, None, True, {"deep": ("x {{ call.c1 }}",)}]}

    assert render(value, WORLD).value == {"{{ now }}": ["earlier", 1, None, True, {"deep": ["x earlier"]}]}


def test_every_look_up_is_told_with_its_source_and_unfiltered_value_in_the_order_read():
    rendered = render({"a": "{{ now | datetime }} {{ result.clock }}", "b": "{{ result.items[0][1] | json }}"}, WORLD)

    assert rendered.resolved == (
        Resolved("now", "now", "2026-09-29T14:39:32+08:00"),
        Resolved("result.clock", "x4", "last of r2"),
        Resolved("result.items[0][1]", "x5", ["c"]),
    )


def test_the_datetime_filter_reads_any_iso_time_a_tool_returned_in_its_own_offset():
    world = World(now=NOW, executions=(Execution("x1", "r1", "eta", None, "2026-01-02T03:04:05-05:00"),))

    assert render("{{ result.eta | datetime }}", world).value == "2026-01-02 03:04:05"


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ("{{ result.weather }}", ["result.weather", "digits", "schedule"]),
        ("{{ result.clock[2] }}", ["result.clock[2]", "2 of 'clock'"]),
        ("{{ call.c99 }}", ["call.c99", "c1", "c8"]),
        ("{{ result.schedule.captain }}", ["captain", "voyages", "x2"]),
        ("{{ result.schedule.voyages[7] }}", ["7", "V-2609A", "x2"]),
        ("{{ result.schedule.voyages.no }}", ["no", "V-2609A"]),
        ("{{ result.digits.0[0] }}", ["0", "a key"]),
        ("{{ result.digits.json.a }}", ["a", "x8"]),
        ("{{ result.get-it.x }}", ["x", "None", "x7"]),
        ("{{ result.clock | datetime }}", ["datetime", "last of r2"]),
        ("{{ result.get-it | datetime }}", ["datetime", "None"]),
    ],
)
def test_what_cannot_be_resolved_names_the_template_and_what_there_was(template, named):
    with pytest.raises(ScriptError) as error:
        render(f"say {template}", WORLD)

    assert all(word in str(error.value) for word in [template, *named])


@pytest.mark.parametrize(
    "template",
    [
        "{{ }}",
        "{{ result }}",
        "{{ result.a.}}",
        "{{ results.a }}",
        "{{ now.year }}",
        "{{ call.a | json | json }}",
        "{{ result.a | upper }}",
        "{{ result.a[-1] }}",
        '{{ result.a["b"] }}',
        "{{ 1 + 1 }}",
        "{{ result.a",
        "{{ now",
        "{{ {{ now }} }}",
    ],
)
def test_a_template_that_cannot_be_read_is_named_before_any_run(template):
    with pytest.raises(ScriptError) as error:
        paths({"say": ["fine", "{{ now }} or " + template]})

    assert f"template '{template[:4]}" in str(error.value)


def test_paths_lists_the_templates_of_a_whole_value_in_order():
    found = paths({"a": "x {{ result.get-it[1].b[0] | json }}", "b": ["{{ call.c_1 }}", 4, ("{{ now }}",)], "c": None})

    assert [(t.root, t.name, t.nth, t.steps, t.filter) for t in found] == [
        ("result", "get-it", 1, ("b", 0), "json"),
        ("call", "c_1", None, (), None),
        ("now", None, None, (), None),
    ]
    assert [t.path for t in found] == ["result.get-it[1].b[0]", "call.c_1", "now"]


def test_a_run_without_executions_of_its_own_counts_those_of_the_session_from_the_first():
    world = World(
        now=NOW, run="r9", executions=(Execution("x1", "r1", "t", None, 1), Execution("x2", "r2", "t", None, 2))
    )

    assert render(["{{ result.t }}", "{{ result.t[0] }}"], world).value == [2, 1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON.filter(lambda value: "{{" not in repr(value)))
def test_a_value_without_templates_comes_out_as_it_went_in(value):
    assert render(value, WORLD).value == value
    assert render(value, WORLD).resolved == ()


@given(JSON)
def test_whatever_a_tool_returned_is_carried_over_unchanged(value):
    world = World(now=NOW, executions=(Execution("x1", "r1", "t", None, value),))

    assert render("{{ result.t }}", world).value == value


@given(st.text(alphabet="{} .|[]now0result-"))
def test_any_text_without_opening_braces_is_left_alone_and_any_other_is_read_or_refused(string):
    if "{{" not in string:
        assert render(string, WORLD).value == string
        return
    with suppress(ScriptError):
        assert paths(string)

"""Kept texts where the file system does not play along: a failed test that says why, and no error of the plugin's own."""

from conformance.pytest_plugin.kept_texts import Mode, compared

UPDATE = Mode(update=True, new_only=False, delete_unused=False, look_for_unused=False, unused_fails=False)
COMPARE = Mode(update=False, new_only=False, delete_unused=False, look_for_unused=False, unused_fails=False)


def test_a_file_in_the_place_of_a_folder_fails_with_what_the_system_said(tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "agent" / "hello.blocking.txt"
    fate, why = compared(path, "a text\n", UPDATE)
    assert fate == "failed"
    assert f"snapshot {path} cannot be written: " in why
    assert "name another folder" in why


def test_a_kept_text_that_is_no_utf8_differs(tmp_path):
    path = tmp_path / "hello.blocking.txt"
    path.write_bytes(b"\xff\xfe\n")
    fate, why = compared(path, "a text\n", COMPARE)
    assert fate == "failed"
    assert "+a text" in why

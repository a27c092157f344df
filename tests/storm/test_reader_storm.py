"""A short storm over the readers, and the damage that it found once."""

import pytest

from headatlas.data import load
from headatlas.errors import DataError, HeadatlasError, OptionError
from storm import readers
from storm.counting import REFUSED, WITHOUT
from support.small_files import write

CASES = 800


def test_damaged_files_are_read_or_refused_in_one_line(tmp_path):
    report = readers.storm(tmp_path, seed=0, numbers=range(CASES))
    assert not report.failures, report.failures[0]
    assert report.counts[WITHOUT] + report.counts[REFUSED] == CASES and min(report.counts.values()) > CASES / 8


LONG = "7" * 5000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", f'{{"text": "a"}}\n{{"text": "b", "n": {LONG}}}\n', "4,300 digits, at line 2, column 20"),
        ("squad:x.json", f'{{"data":\n [{LONG}]}}', r"x.json contains a number .* at line 2, column 3"),
        ("x.jsonl", '{"text": "a", "n": ' + "[" * 70 + "]" * 70 + "}\n", "nested too deeply, at line 1"),
        ("x.jsonl", '{"text": "a"}\n{"text": 1}\n', "x.jsonl, example 1: column 'text' contains int"),
        ("x.jsonl", '{"text": "a"}\n{"text\n', r"not valid JSON \(line 2, column 2"),
        ("conllu:x.conllu", f"{LONG}\tI\tI\t_\t_\t_\t0\troot\t_\t_\n", "in sentence 1 from the start, up to line 1"),
        ("conllu:x.conllu", "1-2-3\tI\tI\t_\t_\t_\t0\troot\t_\t_\n", "'1-2-3' is not a valid ID"),
        ("conllu:x.conllu", f"1\tI\tI\t_\t_\t_\t{LONG}\troot\t_\t_\n", "is not CoNLL-U, in sentence 1"),
        ("conllu:x.conllu", "# global.columns = LEMMA\nI\n", "is not CoNLL-U"),
        ("x.csv", "text,text\na,b\n", "more than one column 'text'"),
    ],
)  # fmt: skip
def test_strange_values_are_named(folder, name, content, message):
    write(name.partition(":")[2] or name, content)
    with pytest.raises(DataError, match=message):
        list(load(name))


@pytest.mark.parametrize(
    "values",
    [
        ["1", "18446744073709551616"], ["1", "true"], ["1", "[2]"], ["9223372036854775808", "-1"], ["{}", "{}"],
        ['{"a": {}}', "null"], ['"\\ud800"', '"b"'], ['{"\\ud800": 1}', "2"], ["[1]", "[[1]]"],
        ["1.5", "1152921504606846977"],
        ["1", *["2"] * 1100, "1.5", "true"], ["1.5", *["2.5"] * 1100, "1152921504606846977"],
    ],
)  # fmt: skip
def test_columns_of_mixed_types_are_stored(folder, values):
    write("x.jsonl", "".join(f'{{"text": "a", "value": {value}}}\n' for value in values))
    assert readers.read_fully("x.jsonl") == len(values)


def test_columns_whose_names_are_not_text_are_stored(folder):
    write("x.jsonl", '{"text": "a", "\\ud800": 1, "\\udfff": "b"}\n')
    assert readers.read_fully("x.jsonl") == 1


@pytest.mark.parametrize("error", [HeadatlasError, DataError, OptionError])
def test_every_error_is_one_printable_line(error):
    told = str(error("a\nb\r\x1b[2J\u2028\u202e\ud800\x00 – 語"))
    assert told == r"a\nb\r\x1b[2J\u2028\u202e\ud800\x00 – 語"
    assert len(str(error("x" * 100_000 + "end"))) < 2_000 and str(error("x" * 100_000 + "end")).endswith("end")


def test_names_of_columns_are_shown_escaped(folder):
    write("x.jsonl", '{"a\\nb\\u001b[2J": 1}\n')
    with pytest.raises(DataError) as caught:
        list(load("x.jsonl"))
    assert "\n" not in str(caught.value) and r"a\nb\x1b[2J" in str(caught.value)


def test_a_header_that_is_not_text_is_named(folder):
    write("photos/labels.csv", b"file,label,\xe3\na.png,cat,3\n")
    with pytest.raises(DataError, match=r"labels.csv is not UTF-8: line 1, byte 12"):
        list(load("images:photos"))


def test_a_saved_dataset_that_was_cut_is_refused(folder):
    """The datasets library maps the file into memory, and would end this process."""
    import datasets

    datasets.disable_progress_bars()
    datasets.Dataset.from_list([{"text": "The cat sat. " * 1000}] * 100).save_to_disk("saved")
    (file,) = (folder / "saved").glob("*.arrow")
    file.write_bytes(file.read_bytes()[:20_000])
    with pytest.raises(DataError, match=r"arrow cannot be read.* Check that it is complete"):
        list(load("hf:saved"))

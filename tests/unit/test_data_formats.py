"""Readers of whole formats: SQuAD, treebanks, image folders, Hugging Face datasets, and real corpora."""

import gzip
import json
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from headatlas.data import Example, Skipped, Window, load
from headatlas.errors import DataError
from support.small_files import picture, texts, write

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real data is not next to the repository")

pytestmark = pytest.mark.usefixtures("folder")


# --- SQuAD and our corpus


def squad(*qas, context="The cat sat."):
    return json.dumps({"data": [{"title": "Cats", "paragraphs": [{"context": context, "page": 3, "qas": list(qas)}]}]})


def test_squad_question_is_text_and_passage_is_pair():
    answers = [{"text": "sat", "answer_start": 8}, {"text": "cat", "answer_start": 4}]
    write("v1.json", squad({"id": "q", "question": "What?", "answers": answers, "hard": True}))
    dataset = load("squad:v1.json")
    columns = {"title": "Cats", "page": 3, "hard": True, "question_id": "q", "answerable": True}
    columns |= {"answer": "sat", "answer_start": 8, "answers": ["sat", "cat"]}
    [example] = dataset
    assert replace(example, spans=()) == Example("q", text="What?", pair="The cat sat.", columns=columns)
    assert dataset.window == Window(384, 128)


def test_squad_v2_question_without_answer():
    qa = {"id": "q", "question": "Why?", "is_impossible": True, "answers": [], "plausible_answers": [{"text": "cat"}]}
    [example] = load(f"squad:{write('v2.json.gz', gzip.compress(squad(qa).encode()))}")
    assert example.columns["answerable"] is False
    assert (example.columns["answer"], example.columns["answer_start"], example.columns["answers"]) == (None, None, [])
    assert "plausible_answers" not in example.columns


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "not in SQuAD format: no 'data'"),
        (squad({"id": "q7", "answers": []}), r"no 'question' \(str\) at id 'q7'"),
        (squad({"id": "q7", "question": "?", "answers": [{"text": "a"}]}), "no 'answer_start'"),
        ('{"data":\n [}', r"x.json is not valid JSON \(line 2, column 3"),
        ('{"data": []}', "squad:x.json has no examples"),
    ],
)
def test_invalid_squad_files_say_where(content, message):
    write("x.json", content)
    with pytest.raises(DataError, match=message):
        list(load("squad:x.json"))


def test_our_passages_are_many_and_different():
    passages = list(load("sample"))
    assert len(passages) >= 120
    assert len({example.columns["topic"] for example in passages}) == 20
    assert all(set(example.columns) == {"title", "topic", "style"} for example in passages)
    assert len({example.id for example in passages}) == len({example.text for example in passages}) == len(passages)


def test_our_questions_have_answers_at_their_offsets():
    questions = list(load("sample:questions"))
    assert len(questions) >= 240
    assert len({example.id for example in questions}) == len(questions)
    assert len({(example.text, example.pair) for example in questions}) == len(questions)
    assert {example.pair for example in questions} <= {example.text for example in load("sample")}
    answerable = [example for example in questions if example.columns["answerable"]]
    assert len(answerable) / len(questions) == pytest.approx(2 / 3, abs=0.03)
    for example in answerable:
        start, answer = example.columns["answer_start"], example.columns["answer"]
        assert answer and example.pair[start : start + len(answer)] == answer
    assert all(not example.columns["answers"] for example in questions if not example.columns["answerable"])


# --- treebanks


TREEBANK = """# newdoc id = d1
# sent_id = s1
# text = I can't.
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(1-a=b)
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\tSpaceAfter=No
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_
2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_
"""


def test_treebank_words_are_syntactic_words():
    first, second = load(f"conllu:{write('x.conllu', TREEBANK)}")
    assert (first.id, first.text, first.words) == ("s1", "I can't.", ("I", "ca", "n't", "."))
    assert first.columns == {
        "form": ["I", "ca", "n't", "."],
        "upos": ["PRON", "AUX", "PART", "PUNCT"],
        "xpos": ["PRP", "MD", "RB", "."],
        "head": [2, 0, 2, 2],
        "deprel": ["nsubj", "root", "advmod", "punct"],
        "lemma": ["I", "can", "not", "."],
        "document": "d1",
        "entity": ["(1-a=b)", None, None, None],
        "mention_start": [0],
        "mention_stop": [1],
        "mention_head": [0],
        "mention_chain": ["1"],
        "mention_kind": ["pronoun"],
        "mention_word": ["I"],
        "mention_text": ["I"],
    }
    assert (second.id, second.text, second.words) == ("2", "Yes !", ("Yes", "!"))
    assert second.columns["document"] == "d1" and "entity" not in second.columns


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TREEBANK + "\nno tabs", "in sentence 3 from the start, up to line 14: Invalid line format.*separated by tabs"),
        ("1\tYes\n", "sentence 1 has fewer than 8 columns"),
        ("x\tYes\t_\n", "in sentence 1 from the start, up to line 1: Failed parsing field 'id'"),
    ],
)
def test_invalid_treebanks_name_the_sentence(content, message):
    write("x.conllu", content)
    with pytest.raises(DataError, match=message):
        list(load("conllu:x.conllu"))


# --- images


def test_images_are_labeled_by_sub_folder(folder):
    for name in ["photos/dog/b.png", "photos/cat/a.jpg", "photos/cat/deep/c.png", "photos/loose.png"]:
        picture(name)
    dataset = load("images:photos")
    assert [(example.id, example.columns) for example in dataset] == [
        ("cat/a.jpg", {"label": "cat"}),
        ("cat/deep/c.png", {"label": "cat"}),
        ("dog/b.png", {"label": "dog"}),
        ("loose.png", {"label": None}),
    ]
    assert dataset.modality == "image"
    assert next(iter(dataset)).image == str((folder / "photos/cat/a.jpg").resolve())


def test_images_are_labeled_by_a_table():
    picture("photos/set/a.png")
    picture("photos/set/b.png")
    write("photos/labels.csv", "file,label,class\nset/a.png,cat,3\nset/gone.png,dog,\n")
    dataset = load("images:photos")
    assert [(example.id, example.columns) for example in dataset] == [
        ("set/a.png", {"label": "cat", "class": 3}),
        ("set/b.png", {"label": None, "class": None}),
    ]
    assert dataset.skipped == [Skipped("set/gone.png", "in labels.csv, but the file is missing")]


def test_a_table_without_labels_is_an_error():
    picture("photos/a.png")
    write("photos/labels.csv", "name,label\na.png,cat\n")
    with pytest.raises(DataError, match="needs the columns file and label; it has name, label"):
        list(load("images:photos"))


def test_files_that_are_not_images_are_skipped_and_named():
    picture("photos/cat/good.jpg", size=(200, 200))
    write("photos/cat/short.jpg", Path("photos/cat/good.jpg").read_bytes()[:-99])
    write("photos/cat/empty.jpg", b"")
    write("photos/README.md", "about")
    dataset = load("images:photos")
    assert [example.id for example in dataset] == ["cat/good.jpg"]
    reasons = {item.id: item.reason for item in dataset.skipped}
    assert reasons.pop("cat/short.jpg").startswith("cannot be read as an image: ")
    assert reasons == {"cat/empty.jpg": "zero bytes", "README.md": "not an image"}
    Path("photos/cat/good.jpg").unlink()
    with pytest.raises(DataError, match=r"images:photos has no examples \(3 skipped: "):
        list(dataset)


def test_fingerprint_of_a_folder_follows_names_and_contents():
    picture("one/cat/a.png")
    picture("two/cat/a.png")
    assert load("images:one").fingerprint == load("images:two").fingerprint
    Path("two/cat/a.png").rename("two/cat/b.png")
    renamed = load("images:two").fingerprint
    picture("two/cat/b.png", size=(9, 9))
    assert len({load("images:one").fingerprint, renamed, load("images:two").fingerprint}) == 3


# --- Hugging Face datasets


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    import datasets as library

    monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    library.disable_progress_bars()
    return library


def test_saved_datasets_are_read_by_split(datasets):
    rows = datasets.Dataset.from_list([{"id": 4, "sentence": "a", "label": 1}, {"id": 5, "sentence": "", "label": 0}])
    datasets.DatasetDict(train=rows, test=rows.select([0])).save_to_disk("saved")
    rows.save_to_disk("single")
    dataset = load("hf:saved:train")
    assert list(dataset) == list(load("hf:single")) == [Example("4", text="a", columns={"label": 1})]
    assert dataset.skipped == [Skipped("5", "empty text")]
    assert load("hf:saved:train").fingerprint == dataset.fingerprint != load("hf:saved:test").fingerprint
    for spec, message in [
        ("hf:saved", "more than one split.*one of: test, train"),
        ("hf:saved:dev", "no split 'dev'.*one of: test, train"),
        ("hf:single:train", "has no splits"),
        ("hf:a:b:c:d", "too many or too few parts"),
    ]:
        with pytest.raises(DataError, match=message):
            list(load(spec))


def test_what_load_dataset_takes_is_read(datasets, folder):
    write("corpus/train.jsonl", '{"text": "a"}\n{"text": "b"}\n{"text": "c"}\n')
    assert texts(f"hf:{folder}/corpus") == [("0", "a"), ("1", "b"), ("2", "c")]
    assert texts(f"hf:{folder}/corpus:train[:2]", limit=5) == [("0", "a"), ("1", "b")]
    (folder / "nothing").mkdir()
    with pytest.raises(DataError, match=r"hf:.*nothing cannot be loaded: .*use hf:FOLDER"):
        list(load(f"hf:{folder}/nothing"))


def test_scripts_are_never_run(datasets, folder):
    write("scripted/scripted.py", "from pathlib import Path\nPath('ran').touch()\n")
    with pytest.raises(DataError, match="cannot be loaded"):
        list(load(f"hf:{folder}/scripted"))
    assert not Path("ran").exists()


def test_image_columns_point_to_image_folders(datasets):
    picture("a.png")
    features = datasets.Features(photo=datasets.Image(), text=datasets.Value("string"))
    datasets.Dataset.from_dict({"photo": ["a.png"], "text": ["a"]}, features=features).save_to_disk("saved")
    with pytest.raises(DataError, match=r"column of images, 'photo'.*images:FOLDER"):
        list(load("hf:saved"))


def test_a_missing_library_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataError, match=r"pip install 'headatlas\[hf\]'"):
        load("hf:imdb")


# --- real data


@needs_shared
def test_squad_dev_is_complete():
    questions = list(load(f"squad:{SHARED}/squad_v2/dev-v2.0.json"))
    assert Counter(example.columns["answerable"] for example in questions) == {True: 5928, False: 5945}
    answered = [example for example in questions if example.columns["answer"]]
    assert len(answered) == 5928
    for example in answered:
        assert example.pair[example.columns["answer_start"] :].startswith(example.columns["answer"])


@needs_shared
def test_english_treebank_has_every_word():
    path = SHARED / "ud_english" / "en_ewt-ud-dev.conllu"
    words = re.findall(r"^\d+\t([^\t]+)\t", path.read_text(), flags=re.MULTILINE)
    sentences = list(load(f"conllu:{path}"))
    assert (len(sentences), len(words)) == (2001, 25147)
    assert [word for example in sentences for word in example.words] == words
    assert all(0 <= head <= len(example.words) for example in sentences for head in example.columns["head"])


@needs_shared
def test_photographs_are_complete_with_their_labels():
    dataset = load(f"images:{SHARED}/images")
    labels = Counter(example.columns["label"] for example in dataset)
    assert (labels.total(), len(labels), set(labels.values())) == (336, 84, {4})
    assert [item.id for item in dataset.skipped] == ["SOURCE.md"]


@needs_shared
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("sentences/sst2_dev.tsv", 872),
        ("sentences/sst2_test.tsv", 1821),
        ("sentences/sst2_train.tsv", 6920),
        ("sentences/clinc150_small.tsv", 8600),
        ("coref/gap-development.tsv", 2000),
    ],
)
def test_published_tables_load_completely(name, count):
    dataset = load(f"{SHARED}/{name}")
    assert (sum(1 for _ in dataset), dataset.skipped) == (count, [])

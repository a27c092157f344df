"""Readers of coreference: brackets of CoNLL-2012, Entity of CoNLL-U, and GAP; their faults; and real corpora."""

from pathlib import Path

import pytest

from headatlas.data import load
from headatlas.data.brackets import Brackets
from headatlas.errors import DataError
from support.small_files import write

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real data is not next to the repository")

pytestmark = pytest.mark.usefixtures("folder")

SENTENCES = [
    [("Morwenna", "(0"), ("of", "-"), ("the", "(1"), ("bell", "1)"), ("tower", "0)"), ("rang", "-")],
    [("She", "(0)"), ("woke", "-"), ("her", "(2|(0)"), ("cat", "2)"), (".", "-")],
    [("It", "(2)"), ("slept", "-")],
]


def conll(sentences=SENTENCES, name="tower", part="0", tags=None):
    lines = [f"#begin document ({name}); part {part}"]
    for sentence in sentences:
        rows = enumerate(sentence)
        lines += [f"{name}\t{part}\t{n}\t{word}\t{tags[word] if tags else '_'}\t{value}" for n, (word, value) in rows]
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


def mentions(example, *names):
    return list(zip(*(example.columns[f"mention_{name}"] for name in names), strict=True))


def test_conll_mentions_are_nested_and_several_on_a_word():
    [example] = load(f"coref:{write('x.conll', conll())}")
    assert (example.id, example.columns["document"]) == ("tower-0", "tower")
    assert example.words[:3] == ("Morwenna", "of", "the") and example.text == " ".join(example.words)
    assert mentions(example, "text", "chain", "kind", "head", "word") == [
        ("Morwenna of the bell tower", "0", "proper", 0, "Morwenna"),
        ("the bell", "1", "nominal", 3, "bell"),
        ("She", "0", "pronoun", 6, "She"),
        ("her", "0", "pronoun", 8, "her"),
        ("her cat", "2", "nominal", 9, "cat"),
        ("It", "2", "pronoun", 11, "It"),
    ]


def test_mentions_of_two_chains_may_overlap_and_those_of_one_may_nest():
    brackets = Brackets()
    values = ["(0|(1|(0", "0)", "1)", "0)"]
    spans = [span for word, value in enumerate(values) for span in brackets.read(value, word)]
    assert spans == [("0", 0, 2), ("1", 0, 3), ("0", 0, 4)]
    brackets.check_closed()


def test_documents_are_cut_between_sentences():
    write("x.conll", conll() + conll(SENTENCES[1:], "mill"))
    pieces = list(load("coref:x.conll:7"))
    assert [(piece.id, len(piece.words)) for piece in pieces] == [("tower-0", 6), ("tower-1", 7), ("mill-0", 7)]
    assert mentions(pieces[1], "text", "start", "head") == [
        ("She", 0, 0), ("her", 2, 2), ("her cat", 2, 3), ("It", 5, 5),
    ]  # fmt: skip
    assert [len(piece.words) for piece in load("coref:x.conll:3")] == [6, 5, 2, 5, 2]  # longer sentences stay whole
    assert load("coref:x.conll:7").group == "document"
    assert load("coref:x.conll:7").fingerprint != load("coref:x.conll").fingerprint


def test_parts_of_a_document_share_its_name_but_no_chains():
    write("x.conll", conll() + conll(part="1"))
    first, second = load("coref:x.conll")
    assert (first.id, second.id) == ("tower-0", "tower.1-0")
    assert first.columns == second.columns


def test_a_mention_across_a_cut_is_left_out():
    across = [[("a", "(0"), ("b", "(1)")], [("c", "0)"), ("d", "(1)")]]
    pieces = list(load(f"coref:{write('x.conll', conll(across))}:2"))
    assert [piece.columns["mention_chain"] for piece in pieces] == [["1"], ["1"]]


def test_tags_decide_the_kind_where_there_are_some():
    tags = {word: "NN" for sentence in SENTENCES for word, _ in sentence} | {"Morwenna": "NNP", "her": "PRP$"}
    [example] = load(f"coref:{write('x.conll', conll(tags=tags))}")
    assert mentions(example, "word", "kind")[:4] == [
        ("Morwenna", "proper"), ("bell", "nominal"), ("She", "nominal"), ("her", "pronoun"),
    ]  # fmt: skip


def test_columns_may_be_separated_by_spaces():
    write("x.conll", conll().replace("\t", "   "))
    [example] = load("coref:x.conll")
    assert len(example.columns["mention_chain"]) == 6


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ([("a", "(0"), ("b", "1)")], r"x.conll, line 3: chain 1 is closed, but no mention of it is open"),
        ([("a", "(0"), ("b", "-")], r"x.conll, line 5: a mention of chain 0 that opens on line 2 is never closed"),
        ([("a", "(0)"), ("b", "0")], r"x.conll, line 3: '0' is not a list of brackets"),
        ([("a", "-"), ("b", "-")], "x.conll has no mentions"),
    ],
)
def test_faulty_brackets_are_named_by_their_line(sentence, message):
    write("x.conll", conll([sentence]))
    with pytest.raises(DataError, match=message):
        list(load("coref:x.conll"))


def test_too_few_columns_and_limits_are_errors():
    write("x.conll", "#begin document (d); part 0\nThe cat sat\n")
    with pytest.raises(DataError, match="line 2: 3 columns"):
        list(load("coref:x.conll"))
    with pytest.raises(DataError, match="at least 1"):
        load("coref:x.conll:0")
    with pytest.raises(DataError, match=r"none\.conll is missing"):
        load("coref:none.conll:20")


ENTITIES = """# newdoc id = d1
# global.Entity = GRP-etype-infstat-minspan-link
# sent_id = s1
1\tTwo\ttwo\tNUM\tCD\t_\t2\tnummod\t_\tEntity=(7-animal-new-2-coref
2\tbirds\tbird\tNOUN\tNNS\t_\t5\tnsubj\t_\tSpaceAfter=No
3\tof\tof\tADP\tIN\t_\t4\tcase\t_\t_
4\tCornwall\tCornwall\tPROPN\tNNP\t_\t2\tnmod\t_\tEntity=(8-place-new-1-coref)7)
5\tsing\tsing\tVERB\tVBP\t_\t0\troot\t_\tSplitAnte=1<9

# sent_id = s2
1\tThey\tthey\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(7-animal-giv-1-coref)|Bridge=7<9
2\tleft\tleave\tVERB\tVBD\t_\t0\troot\t_\t_
3\tit\tit\tPRON\tPRP\t_\t2\tobj\t_\tEntity=(8-place-giv-1-coref)

# newdoc id = d2
# sent_id = s3
1\tRain\train\tNOUN\tNN\t_\t2\tnsubj\t_\t_
2\tfell\tfall\tVERB\tVBD\t_\t0\troot\t_\t_
"""


def test_entities_of_a_treebank_join_sentences_of_a_document():
    first, second = load(f"coref:{write('x.conllu', ENTITIES)}")
    assert (first.id, second.id) == ("d1-0", "d2-0")
    assert mentions(first, "text", "chain", "kind", "head") == [
        ("Two birds of Cornwall", "7", "nominal", 1),
        ("Cornwall", "8", "proper", 3),
        ("They", "7", "pronoun", 5),
        ("it", "8", "pronoun", 7),
    ]
    assert second.columns["mention_chain"] == []  # a document without mentions is still read


def test_sentences_of_a_treebank_keep_their_mentions():
    first, second, third = load(f"conllu:{write('x.conllu', ENTITIES)}")
    assert mentions(first, "chain", "start", "stop", "head") == [("7", 0, 4, 1), ("8", 3, 4, 3)]
    assert mentions(second, "chain", "head") == [("7", 0), ("8", 2)]
    assert "mention_chain" not in third.columns


def test_the_declared_field_names_the_chain_and_parts_count_once():
    declared = ENTITIES.replace("GRP-etype", "etype-eid").replace("(7-animal", "(animal-e7").replace("7)", "e7)")
    declared = declared.replace("(8-place-", "(place-e8[1/2]-", 1).replace("(8-place-giv", "(place-e8[2/2]-giv")
    first, _ = load(f"coref:{write('x.conllu', declared)}")
    assert first.columns["mention_chain"] == ["e7", "e8", "e7"]


def test_brackets_across_sentences_are_for_the_reader_of_documents():
    open_ended = ENTITIES.replace("(8-place-new-1-coref)7)", "(8-place-new-1-coref)")
    write("x.conllu", open_ended)
    assert next(iter(load("conllu:x.conllu"))).columns["mention_chain"] == ["8"]
    with pytest.raises(
        DataError, match=r"x\.conllu, sentence s2: a mention of chain 7 that opens in its sentence 1 is"
    ):
        list(load("coref:x.conllu"))


GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "g-1\tAnn Lee's cat met Rosa, who fed her.\ther\t32\tAnn Lee\t0\tFALSE\tRosa\t18\tTRUE\thttp://x\n"
    "g-2\tHe left; then Tom saw Jim.\tHe\t0\tTom\t14\tFALSE\tJim\t22\tFALSE\thttp://x\n"
)


def test_gap_has_a_pronoun_and_two_names():
    first, second = load(f"gap:{write('x.tsv', GAP)}")
    assert first.words == ("Ann", "Lee", "'s", "cat", "met", "Rosa", ",", "who", "fed", "her", ".")
    assert mentions(first, "text", "chain", "head", "kind") == [
        ("Ann Lee", "A", 1, "proper"), ("Rosa", "pronoun", 5, "proper"), ("her", "pronoun", 9, "pronoun"),
    ]  # fmt: skip
    assert (first.columns["mention_asked"], first.columns["gender"]) == (2, "feminine")
    assert second.columns["mention_asked"] == 0 and second.columns["mention_chain"] == ["pronoun", "A", "B"]
    assert load("gap:x.tsv").group == "document"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t32\t", "\t99\t", "line 2: Pronoun 'her' is not at character '99'"),
        ("\t18\tTRUE", "\t18\tYES", "line 2: B-coref is 'YES'"),
        ("A-coref", "A_coref", "line 1: .*'A-coref' is missing"),
        ("\t22\tFALSE\thttp://x", "", "line 3: B 'Jim' is not at character ''"),
    ],
)
def test_faulty_lines_of_gap_are_named(old, new, message):
    write("x.tsv", GAP.replace(old, new))
    with pytest.raises(DataError, match=message):
        list(load("gap:x.tsv"))


@needs_shared
def test_real_corpora_keep_every_mention():
    litbank = list(load(f"coref:{SHARED / 'coref' / 'litbank_coref_100docs.conll.gz'}"))
    assert len({piece.columns["document"] for piece in litbank}) == 100
    assert sum(len(piece.words) for piece in litbank) == 210_532
    assert sum(len(piece.columns["mention_chain"]) for piece in litbank) == 29_103  # as its authors count
    gum = list(load(f"coref:{SHARED / 'ud_english' / 'en_gum-ud-dev.conllu.gz'}"))
    assert len({piece.columns["document"] for piece in gum}) == 30
    assert all(
        words <= 256
        and all(start <= head < stop <= words for start, stop, head in mentions(piece, "start", "stop", "head"))
        for piece in gum
        for words in [len(piece.words)]
    )
    gap = list(load(f"gap:{SHARED / 'coref' / 'gap-development.tsv'}"))
    assert len(gap) == 2000 and all(len(example.columns["mention_text"]) == 3 for example in gap)

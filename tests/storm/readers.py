"""A storm over the readers: every reader reads damaged files, up to the table that an atlas would store."""

import bz2
import gzip
import io
import json
import lzma
import random
import tempfile
import traceback
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from PIL import Image

from headatlas.data import load
from headatlas.errors import LONGEST, HeadatlasError
from headatlas.stages.collect.dataset_tables import EXAMPLES, column_types, example_table, stored_row
from storm.counting import REFUSED, TRACEBACK, WITHOUT, Report
from storm.mutations import mutated

ROWS = [
    {"id": "a", "text": "The cat sat.", "label": 1, "score": 0.5, "tags": ["x", "y"], "more": {"a": 1, "b": [2.5]}},
    {"id": "b", "text": "It slept, then it ate.", "label": 2, "score": -3.0, "tags": [], "more": {"a": 2, "b": []}},
    {"id": "c", "text": "Grüße – 語", "label": None, "score": 1e9, "tags": ["z"], "more": None},
] * 3
LINES = "".join(f"{json.dumps(row)}\n" for row in ROWS).encode()
CSV = b'id,text,label,when\n1,"The cat, sat.",3,2020-01-01\n2,It slept.,4,2021-02-03\n3,"a ""b""\nc",5,1999-12-31\n' * 2
TSV = b"sentence\tlabel\nThe cat sat.\t1\nIt slept.\t0\nGr\xc3\xbc\xc3\x9fe\t1\n" * 3
TXT = b"The cat sat.\n\nIt slept,\nthen it ate.\n\n\nGr\xc3\xbc\xc3\x9fe\n"
SQUAD = b"""{"version": "2", "data": [{"title": "Cats", "paragraphs": [{"context": "The cat sat.", "page": 3, "qas": [
{"id": "q1", "question": "Who sat?", "answers": [{"text": "cat", "answer_start": 4}], "is_impossible": false},
{"id": "q2", "question": "Why?", "answers": [], "is_impossible": true, "level": 2.5}]}]}]}"""
CONLLU = b"""# newdoc id = d1
# sent_id = s1
# text = I can't.
1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\tEntity=(1-a=b)
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\tSpaceAfter=No
3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_

1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_
2\t!\t!\tPUNCT\t_\t_\t1\tpunct\t_\t_
"""
CONLL = b"""#begin document (d1); part 0
d1\t0\t0\tAnn\tNNP\t(0)
d1\t0\t1\tfed\t_\t-
d1\t0\t2\ta\t_\t(1|(2
d1\t0\t3\theron\t_\t2)|1)

d1\t0\t0\tShe\t_\t(0)
#end document
"""
GAP = b"""ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL
1\tTom saw Jim when he left.\the\t17\tTom\t0\tFALSE\tJim\t8\tTRUE\tx
2\tAnn Lee met Rosa, who fed her.\ther\t26\tAnn Lee\t0\tTRUE\tRosa\t12\tFALSE\tx
"""


def _arrow(kind):
    plain = [{**row, "when": datetime(2020, 1, 1), "day": date(2021, 2, 3)} for row in ROWS]
    table, sink = pa.Table.from_pylist(plain), io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink, row_group_size=4)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, sink, compression="uncompressed")
    else:
        opened = pa.ipc.new_stream(sink, table.schema) if kind == "stream" else pa.ipc.new_file(sink, table.schema)
        with opened as writer:
            writer.write_table(table, max_chunksize=4)
    return sink.getvalue()


def _picture():
    buffer = io.BytesIO()
    Image.new("RGB", (6, 5), "red").save(buffer, "png")
    return buffer.getvalue()


def _saved():
    """The files of a dataset that the datasets library saved; none if it is not installed."""
    try:
        import datasets
    except ImportError:
        return {}
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        datasets.Dataset.from_list(ROWS).save_to_disk(folder)
        return {f"saved/{path.name}": path.read_bytes() for path in sorted(Path(folder).iterdir())}


def seeds():
    """Valid files: the name of the dataset, the file that is damaged, and its content."""
    return [
        *(("hf:saved", name, content) for name, content in _saved().items()),
        ("x.jsonl", "x.jsonl", LINES),
        ("x.jsonl.gz", "x.jsonl.gz", gzip.compress(LINES)),
        ("x.csv", "x.csv", CSV),
        ("x.csv.bz2", "x.csv.bz2", bz2.compress(CSV)),
        ("x.tsv", "x.tsv", TSV),
        ("x.tsv.xz", "x.tsv.xz", lzma.compress(TSV)),
        ("x.txt", "x.txt", TXT),
        ("paragraphs:x.txt", "x.txt", TXT),
        ("squad:x.json", "x.json", SQUAD),
        ("conllu:x.conllu", "x.conllu", CONLLU),
        ("coref:x.conllu", "x.conllu", CONLLU),
        ("coref:x.conll", "x.conll", CONLL),
        ("gap:x.gap", "x.gap", GAP),
        ("x.parquet", "x.parquet", _arrow("parquet")),
        ("x.arrow", "x.arrow", _arrow("file")),
        ("x.arrow", "x.arrow", _arrow("stream")),
        ("x.feather", "x.feather", _arrow("feather")),
        ("images:photos", "photos/cat/a.png", _picture()),
        ("images:photos", "photos/labels.csv", b"file,label,class\ncat/a.png,cat,3\ncat/b.png,dog,4\n"),
    ]


def read_fully(spec):
    """Read a dataset as a collection does, and store its examples as a table in memory."""
    dataset = load(spec)
    assert dataset.fingerprint
    types = column_types(dataset)
    rows = [stored_row(example, types) for example in dataset]
    table = example_table(rows, pa.schema(EXAMPLES | types))
    pq.write_table(table, pa.BufferOutputStream())
    return len(rows)


def outcome(spec):
    """Whether a dataset is read, or refused with one clear line; anything else is a failure and is described."""
    try:
        read_fully(spec)
    except HeadatlasError as error:
        line = str(error)
        clear = line and line.isprintable() and len(line) <= LONGEST
        return (REFUSED, "") if clear else (TRACEBACK, f"not one clear line: {line!r}")
    except Exception:
        return TRACEBACK, traceback.format_exc()
    return WITHOUT, ""


def storm(folder, seed, numbers):
    """Read damaged copies of every valid file in turn; the valid files must be read."""
    report, valid = Report(), seeds()
    for spec, name, content in valid:
        place = Path(folder) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        told, why = outcome(_address(folder, spec, place))
        assert told == WITHOUT, f"{spec}: {why or told}"
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        spec, name, content = valid[number % len(valid)]
        place, damaged = Path(folder) / name, mutated(rng, content)
        place.write_bytes(damaged)
        told, why = outcome(_address(folder, spec, place))
        report.add(told, f"seed {seed}, case {number}, {spec}: {damaged[:300]!r}", why)
        place.write_bytes(content)
    return report


def _address(folder, spec, place):
    prefix, colon, name = spec.partition(":")
    return f"{prefix}:{Path(folder) / name}" if colon else str(place)

"""Small random networks that answer questions, files of questions, and answers found by a slow search."""

import json
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from headatlas.data import load
from support.families import FAMILIES, SMALL

WINDOW, OVERLAP = 192, 96  # tokens that the small model reads, and half of them


def save_model(folder, tokenizer, name="BERT", **options):
    """A random network of a family in a folder, with a head that tells tokens apart."""
    family = FAMILIES[name]
    with torch.random.fork_rng():
        torch.manual_seed(3)
        config = getattr(transformers, family.config)(**(family.options | options))
        network = AutoModelForQuestionAnswering.from_config(config)
        for weight in network.parameters():
            torch.nn.init.normal_(weight, 0, 0.3 if weight.ndim > 1 else 0.1)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def small_bert(folder, tokenizer, **options):
    """The model of most tests: passages of the sample corpus take one window or several."""
    return save_model(folder, tokenizer, **SMALL | {"max_position_embeddings": WINDOW} | options)


def squad(path, passages, version="v2.0"):
    """A file in SQuAD format from passages with (id, question, [(answer, start)]); None: no field `answers`."""
    paragraphs = [
        {"context": passage, "qas": [_question(*asked, version) for asked in questions]}
        for passage, questions in passages
    ]
    Path(path).write_text(json.dumps({"version": version, "data": [{"title": "T", "paragraphs": paragraphs}]}))
    return f"squad:{path}"


def _question(key, text, answers, version):
    question = {"id": key, "question": text}
    if answers is not None:
        question["answers"] = [{"text": answer, "answer_start": start} for answer, start in answers]
    return question | ({"is_impossible": not answers} if version == "v2.0" else {})


def sample_passages(count):
    """Passages of the sample corpus with their questions, the answers as (text, start)."""
    passages = {}
    for example in load("sample:questions"):
        columns = example.columns
        answers = [(columns["answer"], columns["answer_start"])] if columns["answers"] else []
        passages.setdefault(example.pair, []).append((example.id, example.text, answers))
    return list(passages.items())[:count]


def slow_answers(folder, spec):
    """For each id: scores of no answer and of every (start, stop) that may be an answer, by plain transformers."""
    network = AutoModelForQuestionAnswering.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return {example.id: _slow(network, tokenizer, example) for example in load(spec)}


def _slow(network, tokenizer, example):
    windows = tokenizer(
        example.text, example.pair, truncation="only_second", max_length=WINDOW, stride=OVERLAP,
        return_overflowing_tokens=True, return_offsets_mapping=True,
    )  # fmt: skip
    none, spans = [], {}
    for number, ids in enumerate(windows["input_ids"]):
        inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
        if "token_type_ids" in windows:
            inputs["token_type_ids"] = torch.tensor([windows["token_type_ids"][number]])
        with torch.no_grad():
            output = network(**inputs)
        start, end = (logits[0].double().numpy() for logits in (output.start_logits, output.end_logits))
        none.append(start[0] + end[0])
        passage = [i for i, part in enumerate(windows.sequence_ids(number)) if part == 1]
        firsts, lasts = (sorted(passage, key=lambda i: -scores[i])[:20] for scores in (start, end))
        at = windows["offset_mapping"][number]
        for i in firsts:
            for j in lasts:
                if i <= j < i + 30:
                    span = (at[i][0], at[j][1])
                    spans[span] = max(spans.get(span, -np.inf), start[i] + end[j])
    return min(none), spans

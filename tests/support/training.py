"""Small models and data to train: a few kilobytes each."""

import json
from pathlib import Path

import pytest
import torch
import transformers

import headatlas as ha
from conftest import byte_tokenizer, word_tokenizer
from headatlas.data.readers.squad import SAMPLE
from headatlas.models.task_networks import TaskNetwork
from support.commands import bits
from support.families import GPT, SMALL

STEPS = {"steps": 12, "batch": 4, "save_every": 4, "evaluate_every": 4, "threads": 1}
WINDOW = {"max_tokens": 48, "overlap": 12}
FIRST = "The tide turns at noon. Morwenna rang the bell of the church, and the children walked out with buckets."
SECOND = "A storm came in the night. The keeper wrote down every ship, and nobody saw the bell again."
THIRD = "In spring the gardener planted roses near the wall of the school."


def small_folder(path, weights=True, config=None, **options):
    """A folder with a small BERT, or only its configuration and tokenizer."""
    config = config or transformers.BertConfig(**(SMALL | {"type_vocab_size": 2} | options))
    (byte_tokenizer() if config.model_type == "gpt2" else word_tokenizer()).save_pretrained(path)
    if weights:
        torch.manual_seed(7)
        transformers.AutoModel.from_config(config).save_pretrained(path)
    else:
        config.save_pretrained(path)
    return str(path)


def small_gpt(path, weights=True):
    """A folder with a small GPT-2."""
    return small_folder(path, weights, transformers.GPT2Config(**GPT))


def reader(max_tokens=64):
    """A network that reads pairs of texts."""
    config = transformers.BertConfig(**(SMALL | {"type_vocab_size": 2}))
    return TaskNetwork("small", transformers.BertForQuestionAnswering(config), word_tokenizer(), max_tokens)


def qa(key, question, context, answer=None, **changes):
    """A question in SQuAD format; the answer is where it first occurs."""
    answers = [{"text": answer, "answer_start": context.index(answer)}] if answer else []
    return {"id": key, "question": question, "is_impossible": not answer, "answers": answers} | changes


def squad(path, *articles):
    """Write a file in SQuAD format: articles are lists of (context, questions)."""
    data = [
        {
            "title": f"article {number}",
            "paragraphs": [{"context": context, "qas": list(qas)} for context, qas in article],
        }
        for number, article in enumerate(articles)
    ]
    Path(path).write_text(json.dumps({"version": "v2.0", "data": data}))
    return f"squad:{path}"


def story(path):
    """Two articles with four questions, one of them unanswerable."""
    first = [
        (FIRST, [qa("a", "Who rang the bell?", FIRST, "Morwenna"), qa("b", "When does the tide turn?", FIRST, "noon")]),
        (SECOND, [qa("c", "What did the keeper write down?", SECOND, "every ship"), qa("d", "Who saw it?", SECOND)]),
    ]
    return squad(path, first, [(THIRD, [qa("e", "What was planted?", THIRD, "roses")])])


def few_questions(path, articles=2):
    """Some articles of the sample, the first two paragraphs of each."""
    corpus = json.loads(Path(SAMPLE).read_text())
    data = [article | {"paragraphs": article["paragraphs"][:2]} for article in corpus["data"][:articles]]
    Path(path).write_text(json.dumps({"data": data}))
    return f"squad:{path}"


def small_with_questions(folder):
    """A small model, and a few questions beside it."""
    few_questions(folder / "few.json")
    return small_folder(folder / "bert")


def questions(model):
    """The questions beside a model."""
    return f"squad:{Path(model).parent / 'few.json'}"


def train(model, folder, **options):
    """Train a model on the questions beside it."""
    data = questions(model)
    return ha.finetune.questions(model, data, folder, evaluation=data, **(STEPS | WINDOW | options))


def command(model, folder, **options):
    """The same as a command line."""
    options = STEPS | WINDOW | options
    flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    return ["finetune", model, questions(model), "--eval", questions(model), "-o", str(folder), *flags]


def interrupt(model, folder, step=5, **options):
    """Stop a run in an evaluation after a step; the checkpoint of step 4 is left."""

    def stop(network, at):
        if at > step:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        train(model, folder, evaluator=stop, **options)


def weights(folder):
    """The weights of all models in a folder, by their digests."""
    return {name: digest for name, digest in bits(folder).items() if name.endswith(".safetensors")}

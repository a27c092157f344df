"""What many tests share: tokenizers trained on our own corpus, small networks of every family, and real models."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, WordPiece
from transformers import PreTrainedTokenizerFast

from families import VOCABULARY
from headatlas.data import load

torch.set_num_threads(1)

ROOT = Path(__file__).parents[1]
SPECIALS = {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}


@cache
def word_tokenizer() -> PreTrainedTokenizerFast:
    """Pieces of words between [CLS] and [SEP], as BERT has them."""
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    _train(tokenizer, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=list(SPECIALS.values())))
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in SPECIALS.items()}
    )


@cache
def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Pieces of bytes without special tokens around them, as GPT-2 has them."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _train(
        tokenizer,
        trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet),
    )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", model_input_names=["input_ids", "attention_mask"]
    )


def _train(tokenizer: Tokenizer, trainer: Any) -> None:
    trainer.show_progress = False
    tokenizer.train_from_iterator([example.text for example in load("sample")], trainer)

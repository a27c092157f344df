"""Tokenizers of the tests, trained once on the packaged corpus: trainers break ties by chance, so two runs differ.

    PYTHONPATH=tests python -m support.trained_tokenizers

trains them again and writes the files from which tests read them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, WordPiece

from support.families import VOCABULARY

WORDS, BYTES = (Path(__file__).with_name(f"tokenizer_{name}.json") for name in ("words", "bytes"))
SPECIALS = {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
END = "<|endoftext|>"


def train_words() -> Tokenizer:
    """Pieces of words between [CLS] and [SEP], as BERT has them."""
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    _train(tokenizer, trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=list(SPECIALS.values())))
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def train_bytes() -> Tokenizer:
    """Pieces of bytes without special tokens around them, as GPT-2 has them."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _train(tokenizer, trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=alphabet))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _train(tokenizer: Tokenizer, trainer: Any) -> None:
    from headatlas import data

    trainer.show_progress = False
    tokenizer.train_from_iterator([example.text for example in data.load("sample")], trainer)


if __name__ == "__main__":
    train_words().save(str(WORDS), pretty=False)
    train_bytes().save(str(BYTES), pretty=False)

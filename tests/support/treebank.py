"""A small treebank of our own sentences."""

from pathlib import Path

SENTENCES = [
    [("The", "DET", 2, "det"), ("unbelievable", "ADJ", 3, "amod"), ("dog", "NOUN", 4, "nsubj"),
     ("chased", "VERB", 0, "root"), ("a", "DET", 6, "det"), ("tabby", "NOUN", 4, "obj"), (".", "PUNCT", 4, "punct")],
    [("She", "PRON", 2, "nsubj"), ("reads", "VERB", 0, "root"), ("old", "ADJ", 4, "amod"),
     ("books", "NOUN", 2, "obj"), (".", "PUNCT", 2, "punct")],
]  # fmt: skip


def write_treebank(path: Path, sentences: int) -> Path:
    """A file in CoNLL-U format that has these sentences in turn."""
    lines = []
    for number in range(sentences):
        lines += [f"# sent_id = {number}"]
        for place, (form, pos, head, relation) in enumerate(SENTENCES[number % 2], 1):
            lines.append(f"{place}\t{form}\t{form}\t{pos}\t_\t_\t{head}\t{relation}\t_\t_")
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path

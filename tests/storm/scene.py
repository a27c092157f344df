"""Where storms take place: a small model, a few texts, an atlas of all stages, and the commands that make it."""

import contextlib
import copy
import hashlib
import io
import os
import shutil
from pathlib import Path

import torch

from headatlas import parallel
from storm import children

WORDS = [
    "cat",
    "dog",
    "cow",
    "hen",
    "pig",
    "ant",
    "bee",
    "fox",
    "owl",
    "rat",
    "elk",
    "yak",
    "cod",
    "eel",
    "emu",
    "gnu",
    "jay",
    "kid",
    "lamb",
    "moth",
    "newt",
    "wren",
]
TEXTS = "".join(f"The {word} sat on the mat{' and slept' * (n % 3)}.,{n % 2}\n" for n, word in enumerate(WORDS))

COLLECT = "collect {model} {texts} -o x.atlas --resolution 8 --qk-tokens 40"
FULL = (  # what makes the atlas of all stages
    COLLECT,
    "features x.atlas --encoder stats",
    "cluster x.atlas --method kmeans --k 4",
    "correlate x.atlas --of kmeans --permutations 19",
    "project x.atlas",
    "null x.atlas --of kmeans --examples 4 --kind shuffled",
    "tsne heads x.atlas 0 --heads L0 --restarts 8",
)
NEW = {  # with nothing there
    "collect": COLLECT,
    "run": "run {model} {texts} -o x.atlas --encoder stats --method kmeans",
}
MORE = {  # with the atlas of all stages; `again` replaces a result and what was made from it
    "features": "features x.atlas --encoder pooled",
    "features again": "features x.atlas --encoder stats --seed 1",
    "cluster": "cluster x.atlas --of stats --method kmeans --k 3 --name other",
    "cluster again": "cluster x.atlas --of stats --method kmeans --k 3",
    "cluster again, five": "cluster x.atlas --of stats --method kmeans --k 5",
    "tree": "cluster x.atlas --of stats --method tree",
    "sweep": "cluster x.atlas --of stats --sweep --method kmeans",
    "project": "project x.atlas --of stats --name other",
    "project again": "project x.atlas --of stats --seed 1",
    "correlate again": "correlate x.atlas --of kmeans --permutations 19 --seed 1",
    "null again": "null x.atlas --of kmeans --examples 3 --kind shuffled",
    "tsne": "tsne heads x.atlas 1 --heads L1 --restarts 8",
    "tsne again": "tsne heads x.atlas 0 --heads L0 --restarts 8 --seed 1",
    "qk": "qk x.atlas --method pca",
    "qk again": "qk x.atlas --method pca --seed 1 --tokens 30",
    "export": "export x.atlas site --full 1",
}
COMMANDS = NEW | MORE


class Scene:
    """A folder with a model and texts, an atlas of all stages, and a place to work in."""

    def __init__(self, folder):
        folder = Path(folder)
        self.full, self.work, self.texts, self.model = (
            folder / name for name in ("full", "work", "texts.csv", "model")
        )
        self.texts.write_text(f"text,label\n{TEXTS}")
        make_model(self.model)
        self.full.mkdir()
        self._warm_up()

    def at(self, folder):
        """The same scene with another place to work in."""
        scene = copy.copy(self)
        scene.work = Path(folder) / "work"
        return scene

    def arguments(self, line):
        """A command as a list of arguments."""
        return line.format(model=self.model, texts=self.texts).split()

    def fresh(self, name):
        """The folder to work in, as it is before a command: empty for one that makes an atlas."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir() if name in NEW else shutil.copytree(self.full, self.work, dirs_exist_ok=True)
        return self.work

    def _warm_up(self):
        """Make the atlas in this process, so that its children need neither import nor compile anything."""
        torch.set_num_threads(1)  # a process that has started threads must not be forked
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        parallel.cores = lambda: 1  # operations always come in the same order
        with contextlib.chdir(self.full):
            for line in (*FULL, "check x.atlas"):
                self._call(line)
        self.fresh("tree")
        with contextlib.chdir(self.work):
            for line in ("tree", "sweep", "features", "export"):
                self._call(MORE[line])

    def _call(self, line):
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            assert children.command(*self.arguments(line)) == 0, quiet.getvalue()


def make_model(folder):
    """A random model of two layers with two heads each."""
    from transformers import AutoModel, AutoTokenizer, BertConfig, utils

    from headatlas.models import packaged

    utils.logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(packaged.folder())
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, initializer_range=0.5, **sizes)
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def content(folder):
    """Every file below a folder by its digest, and every folder."""
    paths = sorted(Path(folder).rglob("*"))
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in paths
    }


def differences(found, expected):
    """What differs between two contents."""
    return sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))[:8]

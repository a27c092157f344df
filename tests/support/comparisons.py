"""Small models that differ in known ways, collected on the same texts."""

import shutil

import torch

import headatlas as ha
from conftest import word_tokenizer
from support.families import FAMILIES
from support.shared import shared_folder

WIDTH = 8  # of a head of the small networks
TEXTS = 24
CHANGED = (1, 2)  # a head of the last layer: what it does changes no other map


def network(seed=None, change=None, spread=0.02, **options):
    """A small BERT; a seed disturbs its queries and keys a little, and `change` turns the queries of one head round."""
    bert = FAMILIES["BERT"].network(**options)
    with torch.no_grad():
        if seed is not None:
            rng = torch.Generator().manual_seed(seed)
            for name, weight in bert.named_parameters():
                if "query.weight" in name or "key.weight" in name:
                    weight += spread * weight.std() * torch.randn(weight.shape, generator=rng)
        if change is not None:
            bert.encoder.layer[change[0]].attention.self.query.weight[rows(change[1])] *= -2
    return bert


def rows(head):
    """The rows of the projections of a head."""
    return slice(head * WIDTH, (head + 1) * WIDTH)


def permuted(order, **options):
    """The same function with the heads of every layer in another order: head h of the new one is head order[h]."""
    bert = network(**options)
    places = torch.cat([torch.arange(WIDTH) + head * WIDTH for head in order])
    with torch.no_grad():
        for layer in bert.encoder.layer:
            for part in (layer.attention.self.query, layer.attention.self.key, layer.attention.self.value):
                part.weight.copy_(part.weight[places].clone())
                part.bias.copy_(part.bias[places].clone())
            output = layer.attention.output.dense
            output.weight.copy_(output.weight[:, places].clone())
    return bert


def collected(path, bert, texts=None, **options):
    """The atlas of a network."""
    model = ha.models.load(bert, tokenizer=word_tokenizer())
    settings = {"resolution": 8, "qk_tokens": 0, "max_tokens": 48} | options
    return ha.collect.maps(model, texts or ha.data.load("sample", limit=TEXTS), path, **settings)


def models_folder(factory):
    """A model, the same with one head changed, and two more seeds of that, to be changed; the first has clusters."""
    return shutil.copytree(shared_folder(factory, "compare", _fill), factory.mktemp("models") / "models")


def _fill(folder):
    first = collected(folder / "base.atlas", network())
    collected(folder / "tuned.atlas", network(seed=1, change=CHANGED))
    for seed in (2, 3):
        collected(folder / f"seed{seed}.atlas", network(seed=seed, change=CHANGED))
    ha.features.image(first)
    ha.cluster.kmeans(first, k=4)

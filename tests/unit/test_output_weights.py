"""What heads write: contributions of all heads add up to the output of the attention block."""

import pytest
import torch

import headatlas as ha
from headatlas.models import capture
from headatlas.models.batch import text_batch
from headatlas.models.encode import encode
from headatlas.models.output_weights import output_weights

TEXT = "The cat sat on the mat, and the dog slept."


def contributions(record, weights, layer):
    """Σ over keys of a · v W for each head, by explicit loops over heads: (head, query, hidden)."""
    maps, values = record.maps[layer.index][0], record.values[layer.index][0]
    per_key = layer.heads // len(values)
    return torch.stack([maps[head] @ values[head // per_key] @ weights.weight[head] for head in range(layer.heads)])


@pytest.mark.parametrize("family", ["BERT", "GPT-2", "Llama", "ViT"])
def test_contributions_of_heads_and_bias_are_the_output_of_the_block(small, family, images):
    network = small(family)
    model = network.model
    if model.modality == "image":
        from headatlas.models.batch import image_batch

        batch = image_batch(model, [images.table("examples")["image"][0].as_py()])
    else:
        batch = text_batch(model, encode(model, ha.data.Example("0", text=TEXT))[:1])
    found = output_weights(model, batch)
    outputs = {}
    hooks = [
        model.network.get_submodule(part.module).register_forward_hook(
            lambda module, inputs, output, name=part.module: outputs.__setitem__(name, output)
        )
        for part in found
    ]
    record = capture.Record(vectors=True)
    capture.run(model, batch.inputs, record)
    for hook in hooks:
        hook.remove()
    assert len({part.module for part in found}) == len(model.layers)
    for layer, part in zip(model.layers, found, strict=True):
        written = contributions(record, part, layer).sum(0) + (0 if part.bias is None else part.bias)
        assert torch.allclose(written, outputs[part.module].reshape(written.shape), atol=1e-5)
        norms = part.value_norms(record.values[layer.index][0])
        head = layer.heads - 1
        value = record.values[layer.index][0][-1, 2]
        assert norms[head, 2].item() == pytest.approx((value @ part.weight[head]).norm().item(), abs=1e-5)

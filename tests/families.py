"""Small random networks of every family: the same shapes of attention as the real ones, in a few kilobytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

VOCABULARY = 400
WINDOW = 4  # of families with sliding windows; shorter than every test text


@dataclass(frozen=True)
class Family:
    config: str
    options: dict[str, Any] = field(default_factory=dict)
    reads: str = "words"  # words: a tokenizer like BERT's; bytes: like GPT-2's; images
    spread: float = 1.5  # of the random projections of queries and keys

    def network(self) -> Any:
        """The network, its weights spread so that maps are far from uniform."""
        torch.manual_seed(0)
        config = getattr(transformers, self.config)(**self.options)
        network = transformers.AutoModel.from_config(config, dtype=torch.float32).eval()
        for name, weight in network.named_parameters():
            if PROJECTION.search(name) and weight.ndim == 2:
                torch.nn.init.normal_(weight, 0, self.spread * min(weight.shape) ** -0.5)
        return network


PROJECTION = re.compile(
    r"(^|\.)(q|k|query|key|q_lin|k_lin|[qk]_proj|query_proj|key_proj|c_attn|query_key_value|Wqkv|qkv_proj|qkv)\.weight$"
)

SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
GROUPED = SMALL | {"num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SLIDING = GROUPED | {
    "sliding_window": WINDOW,
    "num_hidden_layers": 3,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
}
MIXED = {"num_experts": 2, "num_local_experts": 2, "num_experts_per_tok": 1}
IMAGE: dict[str, Any] = {name: SMALL[name] for name in SMALL if name not in ("vocab_size", "max_position_embeddings")}
IMAGE |= {"image_size": 32, "patch_size": 8}
CLIP = {
    "text_config": SMALL | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 40},
    "vision_config": IMAGE,
    "projection_dim": 16,
}
BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 4}
BART |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}

FAMILIES: dict[str, Family] = {
    "BERT": Family("BertConfig", SMALL),
    "DistilBERT": Family(
        "DistilBertConfig",
        {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
    ),
    "ALBERT": Family("AlbertConfig", SMALL | {"embedding_size": 16}),
    "RoBERTa": Family("RobertaConfig", SMALL),
    "XLM-RoBERTa": Family("XLMRobertaConfig", SMALL),
    "ELECTRA": Family("ElectraConfig", SMALL | {"embedding_size": 16}),
    "ModernBERT": Family("ModernBertConfig", SLIDING | {"local_attention": 2 * WINDOW}),
    "GPT-2": Family("GPT2Config", {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4}, "bytes"),
    "GPT-NeoX": Family("GPTNeoXConfig", SMALL, "bytes"),
    "OPT": Family("OPTConfig", SMALL | {"ffn_dim": 48, "word_embed_proj_dim": 32}, "bytes"),
    "Llama": Family("LlamaConfig", GROUPED, "bytes"),
    "Mistral": Family("MistralConfig", GROUPED | {"sliding_window": WINDOW}, "bytes"),
    "Phi-3": Family("Phi3Config", GROUPED, "bytes"),
    "Qwen 3": Family("Qwen3Config", GROUPED, "bytes"),
    "Qwen 3 Next": Family(
        "Qwen3NextConfig",
        GROUPED
        | MIXED
        | {"num_hidden_layers": 4, "layer_types": ["linear_attention"] * 3 + ["full_attention"]}
        | {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 2}
        | {"moe_intermediate_size": 16, "shared_expert_intermediate_size": 16},
        "bytes",
    ),
    "Gemma 2": Family("Gemma2Config", SLIDING | {"query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0}, "bytes"),
    "Gemma 3": Family("Gemma3TextConfig", SLIDING | {"query_pre_attn_scalar": 8}, "bytes"),
    "GPT-OSS": Family("GptOssConfig", SLIDING | MIXED, "bytes"),
    "T5": Family("T5Config", T5 | {"vocab_size": VOCABULARY}, spread=0.8),
    "BART": Family("BartConfig", BART | {"vocab_size": VOCABULARY, "max_position_embeddings": 64}),
    "MPNet": Family("MPNetConfig", SMALL),
    "DeBERTa-v2": Family(
        "DebertaV2Config",
        SMALL | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False},
    ),
    "BLOOM": Family("BloomConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}, "bytes"),
    "GPT-J": Family(
        "GPTJConfig", {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}, "bytes"
    ),
    "XLNet": Family("XLNetConfig", {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}),
    "CLIP text": Family("CLIPConfig", CLIP, "bytes"),
    "CLIP vision": Family("CLIPConfig", CLIP, "images"),
    "ViT": Family("ViTConfig", IMAGE, "images"),
    "DeiT": Family("DeiTConfig", IMAGE, "images"),
    "DINOv2": Family("Dinov2Config", IMAGE, "images"),
    "DINOv2 with registers": Family("Dinov2WithRegistersConfig", IMAGE | {"num_register_tokens": 3}, "images"),
}

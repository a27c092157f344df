"""Small random networks of every family: attention of the same form as in the real ones, in a few kilobytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

VOCABULARY = 400
WINDOW = 4  # of families with sliding windows: shorter than the test texts

# projections of queries and keys, alone or together with those of values
PROJECTION = re.compile(
    r"\b(q|k|query|key|[qk]_lin|[qk]_proj|query_proj|key_proj|c_attn|query_key_value|Wqkv|qkv_proj|q_b_proj|kv_b_proj)"
    r"\.weight$|rel_attn\.[qk]$"
)


@dataclass(frozen=True)
class Family:
    """How to make a small network, and its expected properties."""

    config: str
    options: dict[str, Any] = field(default_factory=dict)
    reads: str = "words"  # words: a tokenizer like BERT's; bytes: one like GPT-2's; images
    windows: tuple[int | None, ...] = ()  # how far each layer can attend, where this is limited
    spread: float = 1.5  # of the random projections of queries and keys, so that maps are far from uniform
    attention: str | None = None  # the attention implementation; None for the default of transformers

    def network(self, **options: Any) -> Any:
        torch.manual_seed(0)
        config = getattr(transformers, self.config)(**(self.options | options))
        implementation = {"attn_implementation": self.attention} if self.attention else {}
        network = transformers.AutoModel.from_config(config, dtype=torch.float32, **implementation).eval()
        for name, weight in network.named_parameters():
            if PROJECTION.search(name):
                torch.nn.init.normal_(weight, 0, self.spread * min(weight.shape[:2]) ** -0.5)
        return network


TOKENS: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
SHAPE: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
SMALL = SHAPE | {"vocab_size": VOCABULARY, "max_position_embeddings": 64}
GROUPED = SMALL | TOKENS | {"num_key_value_heads": 2, "head_dim": 8}
SLIDING = GROUPED | {
    "num_hidden_layers": 3,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
}
SLIDES = (WINDOW, WINDOW, None)
EXPERTS = {"num_experts": 2, "num_local_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 16}
LINEAR = {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 2}
LATENT = {"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 6}
LATENT |= {"n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "n_routed_experts": 2}
GPT = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64} | TOKENS
IMAGE = SHAPE | {"image_size": 32, "patch_size": 8}
CLIP = {
    "text_config": SMALL | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    "vision_config": IMAGE,
    "projection_dim": 16,
}
BART = {"vocab_size": VOCABULARY, "d_model": 32, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48} | TOKENS
BART |= {"encoder_layers": 2, "encoder_attention_heads": 4, "max_position_embeddings": 64}
BART |= {"decoder_layers": 2, "decoder_attention_heads": 2, "decoder_start_token_id": 2}
T5 = {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_heads": 4}
T5 |= {"num_layers": 2, "num_decoder_layers": 3, "decoder_start_token_id": 0}
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
DISTIL = {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48}
NEXT = GROUPED | EXPERTS | LINEAR | {"num_hidden_layers": 4, "shared_expert_intermediate_size": 16}
NEXT |= {"layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"]}
XLNET = {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}

# in the order of the table in docs/models.md
FAMILIES: dict[str, Family] = {
    "BERT": Family("BertConfig", SMALL),
    "DistilBERT": Family("DistilBertConfig", DISTIL),
    "ALBERT": Family("AlbertConfig", SMALL | {"embedding_size": 16}, spread=2),
    "RoBERTa": Family("RobertaConfig", SMALL),
    "XLM-RoBERTa": Family("XLMRobertaConfig", SMALL),
    "ELECTRA": Family("ElectraConfig", SMALL | {"embedding_size": 16}, spread=2),
    "ModernBERT": Family("ModernBertConfig", SLIDING | {"local_attention": 2 * WINDOW}, windows=SLIDES),
    "ESM": Family("EsmConfig", SMALL | {"pad_token_id": 0, "mask_token_id": 4}),
    "MPNet": Family("MPNetConfig", SMALL),
    "DeBERTa-v2": Family("DebertaV2Config", SMALL | RELATIVE, spread=3),
    "XLNet": Family("XLNetConfig", XLNET | TOKENS, spread=0.8),
    "GPT-2": Family("GPT2Config", GPT, "bytes"),
    "GPT-NeoX": Family("GPTNeoXConfig", SMALL | TOKENS, "bytes"),
    "GPT-J": Family("GPTJConfig", GPT | {"rotary_dim": 4}, "bytes"),
    "OPT": Family("OPTConfig", SMALL | TOKENS | {"ffn_dim": 48, "word_embed_proj_dim": 32}, "bytes"),
    "BLOOM": Family(
        "BloomConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4} | TOKENS, "bytes"
    ),
    "Falcon": Family("FalconConfig", SMALL | TOKENS, "bytes", attention="eager"),
    "Llama": Family("LlamaConfig", GROUPED, "bytes"),
    "Mistral": Family("MistralConfig", GROUPED | {"sliding_window": WINDOW}, "bytes", (WINDOW, WINDOW)),
    "Phi-3": Family("Phi3Config", GROUPED, "bytes"),
    "Qwen 3": Family("Qwen3Config", GROUPED, "bytes"),
    "Qwen 3 Next": Family("Qwen3NextConfig", NEXT, "bytes"),
    "DeepSeek-V3": Family("DeepseekV3Config", SMALL | TOKENS | EXPERTS | LATENT | {"num_key_value_heads": 4}, "bytes"),
    "DiffLlama": Family("DiffLlamaConfig", GROUPED, "bytes"),
    "Gemma 2": Family(
        "Gemma2Config", SLIDING | {"query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0}, "bytes", SLIDES
    ),
    "Gemma 3": Family("Gemma3TextConfig", SLIDING | {"query_pre_attn_scalar": 8}, "bytes", SLIDES),
    "Gemma 3 with images": Family(
        "Gemma3Config",
        {"text_config": SLIDING | {"query_pre_attn_scalar": 8}, "vision_config": IMAGE, "mm_tokens_per_image": 4},
        "bytes",
        SLIDES,
    ),
    "GPT-OSS": Family("GptOssConfig", SLIDING | EXPERTS, "bytes", SLIDES),
    "T5": Family("T5Config", T5 | {"pad_token_id": 0, "eos_token_id": 2}, spread=0.8),
    "BART": Family("BartConfig", BART),
    "MVP": Family("MvpConfig", BART),
    "CLIP text": Family("CLIPConfig", CLIP, "bytes"),
    "CLIP vision": Family("CLIPConfig", CLIP, "images"),
    "SigLIP text": Family("SiglipConfig", CLIP),
    "ViT": Family("ViTConfig", IMAGE, "images"),
    "DeiT": Family("DeiTConfig", IMAGE, "images"),
    "DINOv2": Family("Dinov2Config", IMAGE, "images"),
    "DINOv2 with registers": Family("Dinov2WithRegistersConfig", IMAGE | {"num_register_tokens": 3}, "images"),
    "DINOv3": Family("DINOv3ViTConfig", IMAGE | {"num_register_tokens": 2}, "images"),
}

# read in part, with a note
PARTLY: dict[str, Family] = {
    "BigBird": Family("BigBirdConfig", SMALL | {"block_size": 4, "num_random_blocks": 1}),
    "ConvBERT": Family("ConvBertConfig", SMALL | {"embedding_size": 16, "head_ratio": 1}),
    "LED": Family(
        "LEDConfig",
        {**BART, "attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
    ),
}

# not read at all, and why
REFUSED: dict[str, tuple[Family, str]] = {
    "Mamba": (
        Family("MambaConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2}),
        "mamba has no attention to read",
    ),
    "Longformer": (
        Family("LongformerConfig", SMALL | {"attention_window": 4}),
        "the attention of longformer cannot be read. 2 layers attend within windows",
    ),
    "SqueezeBERT": (
        Family("SqueezeBertConfig", SMALL | {"embedding_size": 32}),
        "squeezebert returns scores instead of attention",
    ),
    "BROS": (Family("BrosConfig", SMALL), "bros cannot be run on a text alone .*bbox"),
    "Swin": (
        Family(
            "SwinConfig",
            {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2], "num_heads": [2], "window_size": 4},
            "images",
        ),
        "the attention of swin cannot be read. 2 layers attend within windows .* 16 × 16",
    ),
    "YOLOS": (
        Family("YolosConfig", IMAGE | {"image_size": [32, 32], "num_detection_tokens": 5}, "images"),
        "the tokens of yolos are not special tokens followed by one grid",
    ),
    "ViT-MAE": (
        Family("ViTMAEConfig", IMAGE, "images"),
        "vit_mae merges or drops patches: 5 tokens for a grid of 4 × 4",
    ),
    "Wav2Vec2": (
        Family("Wav2Vec2Config", SHAPE | {"vocab_size": 32, "num_conv_pos_embedding_groups": 4}),
        "reads input_values; only text and images",
    ),
    "Falcon with sdpa": (
        Family("FalconConfig", SMALL | TOKENS, "bytes", attention="sdpa"),
        "falcon was created with sdpa attention. Create it with attn_implementation='eager'",
    ),
}

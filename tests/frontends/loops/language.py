"""Training loops of transformers and peft."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as PyTorch's users write it

from tests.frontends.loops.cases import Loop, loop
from tests.frontends.loops.plain import pictures


def words(samples: int, length: int, vocabulary: int, labels: bool = True) -> dict[str, Any]:
    """Return a batch as a tokenizer and a collator give it."""
    ids = torch.randint(vocabulary, (samples, length))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return batch | ({"labels": ids.clone()} if labels else {})


def usual(model: Any, batch: Any, optimizer: Any = None) -> Loop:
    """Return the loop of the course of transformers: loss of the output, backward, step."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = optimizer or torch.optim.AdamW(trained, lr=5e-5)
    model.train()

    def step(batch: Any) -> None:
        outputs = model(**batch)
        loss = outputs.loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, batch


def llama(**options: Any) -> Any:
    """Return a small Llama."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=4000, hidden_size=128, intermediate_size=344,
                         num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
                         use_cache=False, **options)  # fmt: skip
    return LlamaForCausalLM(config)


@loop("transformers")
def hf_bert_classifier() -> Loop:
    """BERT for sequence classification with a linear schedule."""
    from transformers import BertConfig, BertForSequenceClassification, get_scheduler

    model = BertForSequenceClassification(BertConfig(
        vocab_size=5000, hidden_size=128, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=512, num_labels=2,
    ))  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    scheduler = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=100)
    model.train()

    def step(batch: Any) -> None:
        outputs = model(**batch)
        loss = outputs.loss
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

    batch = words(8, 64, 5000, labels=False) | {"labels": torch.randint(2, (8,))}
    batch["attention_mask"][1:, 40:] = 0
    return step, batch


@loop("transformers")
def hf_gpt2_accumulated() -> Loop:
    """GPT-2 with labels, gradients of four batches, clipped."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=5000, n_embd=128, n_layer=3, n_head=4))
    optimizer = torch.optim.AdamW(model.parameters())
    model.train()

    def step(batches: Any) -> None:
        for batch in batches:
            loss = model(**batch).loss / len(batches)
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step, [words(2, 64, 5000) for _ in range(4)]


@loop("transformers")
def hf_llama_bf16() -> Loop:
    """Llama in bf16."""
    model = llama().to(torch.bfloat16)
    return usual(model, words(2, 128, 4000))


@loop("transformers")
def hf_llama_checkpointed() -> Loop:
    """Llama with gradient_checkpointing_enable."""
    model = llama()
    model.gradient_checkpointing_enable()
    return usual(model, words(4, 128, 4000))


@loop("transformers")
def hf_llama_eager_padded() -> Loop:
    """Llama with eager attention and padded sentences."""
    batch = words(4, 128, 4000)
    batch["attention_mask"][1:, 90:] = 0
    batch["labels"][batch["attention_mask"] == 0] = -100
    return usual(llama(attn_implementation="eager"), batch)


@loop("transformers")
def hf_t5_adafactor() -> Loop:
    """T5 with labels and Adafactor of transformers."""
    from transformers import T5Config, T5ForConditionalGeneration
    from transformers.optimization import Adafactor

    model = T5ForConditionalGeneration(T5Config(
        vocab_size=5000, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_heads=4,
        decoder_start_token_id=0, pad_token_id=0,
    ))  # fmt: skip
    optimizer = Adafactor(model.parameters(), scale_parameter=False, relative_step=False, lr=1e-3)
    batch = words(4, 48, 5000, labels=False) | {"labels": torch.randint(5000, (4, 32))}
    return usual(model, batch, optimizer)


@loop("transformers")
def hf_mixtral() -> Loop:
    """Mixtral, a mixture of experts."""
    from transformers import MixtralConfig, MixtralForCausalLM

    model = MixtralForCausalLM(MixtralConfig(
        vocab_size=2000, hidden_size=96, intermediate_size=192, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, num_local_experts=4, use_cache=False,
        output_router_logits=True,
    ))  # fmt: skip
    return usual(model, words(2, 64, 2000))


@loop("transformers")
def hf_vit() -> Loop:
    """ViT for image classification."""
    from transformers import ViTConfig, ViTForImageClassification

    model = ViTForImageClassification(ViTConfig(
        hidden_size=96, num_hidden_layers=3, num_attention_heads=4, intermediate_size=384,
        image_size=96, patch_size=16, num_labels=10,
    ))  # fmt: skip
    pixels, labels = pictures(8, 96)
    return usual(model, {"pixel_values": pixels, "labels": labels})


@loop("transformers")
def hf_clip_contrastive() -> Loop:
    """CLIP with its contrastive loss (B x B)."""
    from transformers import CLIPConfig, CLIPModel

    text = {"vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128,
            "num_hidden_layers": 2, "num_attention_heads": 4, "eos_token_id": 999,
            "bos_token_id": 998}  # fmt: skip
    picture = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
               "num_attention_heads": 4, "image_size": 48, "patch_size": 16}  # fmt: skip
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=picture, projection_dim=32))
    batch = words(64, 12, 990, labels=False) | {"return_loss": True}
    return usual(model, batch | {"pixel_values": torch.randn(64, 3, 48, 48)})


@loop("transformers")
def hf_distilled() -> Loop:
    """DistilBERT that learns from a BERT in eval mode."""
    from transformers import BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertForMaskedLM

    large = BertConfig(vocab_size=3000, hidden_size=192, num_hidden_layers=4,
                       num_attention_heads=4, intermediate_size=512)  # fmt: skip
    small = DistilBertConfig(vocab_size=3000, dim=96, n_layers=2, n_heads=4, hidden_dim=256)
    teacher, student = BertForMaskedLM(large).eval(), DistilBertForMaskedLM(small).train()
    optimizer = torch.optim.AdamW(student.parameters())

    def step(batch: Any) -> None:
        with torch.no_grad():
            soft = teacher(input_ids=batch["input_ids"]).logits
        outputs = student(**batch)
        logits = F.log_softmax(outputs.logits / 2, dim=-1)
        loss = F.kl_div(logits, F.softmax(soft / 2, dim=-1), reduction="batchmean") * 4
        (0.5 * loss + 0.5 * outputs.loss).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, words(4, 32, 3000)


@loop("transformers")
def hf_preference() -> Loop:
    """Direct preference optimization: a policy and a frozen copy, chosen and rejected answers."""
    policy = llama()
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=5e-7)

    def chances(model: Any, ids: Any) -> Any:
        logits = model(input_ids=ids).logits[:, :-1]
        per_token = torch.gather(logits.log_softmax(-1), 2, ids[:, 1:, None]).squeeze(2)
        return per_token.sum(-1)

    def step(batch: Any) -> None:
        ids = torch.cat([batch["chosen"], batch["rejected"]])
        chosen, rejected = chances(policy, ids).chunk(2)
        with torch.no_grad():
            old_chosen, old_rejected = chances(reference, ids).chunk(2)
        loss = -F.logsigmoid(0.1 * (chosen - old_chosen - rejected + old_rejected)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {name: torch.randint(4000, (2, 64)) for name in ("chosen", "rejected")}


@loop("transformers")
def hf_trainer() -> Loop:
    """training_step of the Trainer of transformers, with its own optimizer and scheduler."""
    import tempfile

    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        tempfile.mkdtemp(), use_cpu=True, report_to=[], per_device_train_batch_size=4
    )
    trainer = Trainer(llama(), arguments, train_dataset=[{}] * 100)
    trainer.create_optimizer_and_scheduler(100)
    trainer.current_gradient_accumulation_steps = 1
    model, optimizer = trainer.accelerator.prepare(trainer.model, trainer.optimizer)
    model.train()

    def step(batch: Any) -> None:
        trainer.training_step(model, batch)
        trainer.accelerator.clip_grad_norm_(model.parameters(), arguments.max_grad_norm)
        optimizer.step()
        trainer.lr_scheduler.step()
        model.zero_grad()

    return step, words(4, 64, 4000)


@loop("accelerate")
def accelerate_bf16() -> Loop:
    """Loop of accelerate with mixed precision, accumulating two batches."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=2)
    model = llama()
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    model.train()

    def step(batches: Any) -> None:
        for batch in batches:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

    return step, [words(2, 64, 4000) for _ in range(2)]


@loop("peft")
def peft_lora() -> Loop:
    """LoRA on the projections of a Llama."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, task_type="CAUSAL_LM",
                        target_modules=["q_proj", "v_proj"])  # fmt: skip
    return usual(get_peft_model(llama(), config), words(4, 128, 4000))


@loop("peft")
def peft_lora_checkpointed() -> Loop:
    """LoRA with gradient_checkpointing_enable and enable_input_require_grads."""
    from peft import LoraConfig, get_peft_model

    base = llama()
    base.gradient_checkpointing_enable()
    base.enable_input_require_grads()
    config = LoraConfig(r=8, task_type="CAUSAL_LM", target_modules="all-linear")
    return usual(get_peft_model(base, config), words(4, 128, 4000))


@loop("peft")
def peft_lora_convolutions() -> Loop:
    """LoRA on the convolutions of a ResNet of timm."""
    import timm
    from peft import LoraConfig, get_peft_model

    base = timm.create_model("resnet18", num_classes=10)
    model: Any = get_peft_model(base, LoraConfig(r=8, target_modules=["conv1", "conv2"],
                                                 modules_to_save=["fc"]))  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()

    def step(batch: Any) -> None:
        x, y = batch
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, pictures(8, 96)


@loop("peft")
def peft_prefix() -> Loop:
    """Prompt tuning of a GPT-2."""
    from peft import PromptTuningConfig, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel

    base = GPT2LMHeadModel(GPT2Config(vocab_size=3000, n_embd=128, n_layer=3, n_head=4))
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=16)
    return usual(get_peft_model(base, config), words(4, 64, 3000))

"""A language model of 40,000 weights that answers sums: what the recorded programs run. It needs no network.

    python tiny_model.py FOLDER    (torch, transformers, tokenizers)

A byte-level BPE tokenizer of a few merges with the markers of ChatML, and a two-layer Qwen2, taught until it ends its answers.
"""

import random
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def sums(count, draw):
    for _ in range(count):
        a, b = draw.randint(0, 9), draw.randint(0, 9)
        yield f"{a}+{b}=", f"{a + b} 😀." if draw.random() < 0.3 else f"{a + b}."


def tokenizer_of(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=CHAT,
        clean_up_tokenization_spaces=False,
    )


def main(folder):
    draw = random.Random(7)
    torch.manual_seed(7)
    torch.set_num_threads(1)
    examples = list(sums(400, draw))
    words = ["user", "assistant", "system", "How much is ", "Answer with a number."]
    tokenizer = tokenizer_of([prompt + answer for prompt, answer in examples] + words * 20)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    model = Qwen2ForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(150):
        chosen = [examples[(17 * step + i) % len(examples)] for i in range(32)]
        texts = [
            prompt + answer + "<|im_end|>"
            if i % 2
            else tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
            )
            + answer
            + "<|im_end|>"
            for i, (prompt, answer) in enumerate(chosen)
        ]
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    print(f"{folder}: {sum(p.numel() for p in model.parameters())} weights, loss {loss.item():.3f}")


if __name__ == "__main__":
    main(sys.argv[1])

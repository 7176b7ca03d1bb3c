"""What TRL's GRPOTrainer writes with log_completions, for test/io/samples: python trl_parquet.py MODEL OUT (trl, pandas, pyarrow).

Two reward functions, of which one abstains; a conversation for a prompt and a column logged beside the rewards; one reward.
"""

import pathlib
import shutil
import sys
import tempfile

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


def length_reward(completions, **_):
    return [-0.1 * len(text_of(completion)) for completion in completions]


def sum_reward(prompts, completions, **_):
    """1 for the right sum; abstains where the answer smiles."""
    texts = [text_of(completion) for completion in completions]
    right = [right_answer(prompt) for prompt in prompts]
    return [None if "😀" in text else float(text.startswith(answer)) for text, answer in zip(texts, right)]


def noted_sum_reward(prompts, completions, log_extra, **_):
    """The same; logs a column of numbers, and one of texts, beside the rewards."""
    log_extra("length", [len(text_of(completion)) for completion in completions])
    log_extra("right", [right_answer(prompt) for prompt in prompts])
    return sum_reward(prompts, completions)


def right_answer(prompt):
    question = (prompt if isinstance(prompt, str) else prompt[-1]["content"]).rstrip("=")
    return str(sum(int(digit) for digit in question.split("+")))


def text_of(completion):
    return completion if isinstance(completion, str) else completion[-1]["content"]


def record(model, prompts, rewards, target):
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=12,
            max_steps=1,
            logging_steps=1,
            log_completions=True,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            seed=3,
            temperature=1.0,
        )
        dataset = Dataset.from_dict({"prompt": prompts})
        GRPOTrainer(model=model, reward_funcs=rewards, args=config, train_dataset=dataset).train()
        (written,) = sorted(pathlib.Path(folder).rglob("completions_*.parquet"))
        shutil.copy(written, target)


def main(model, out):
    sums = [f"{a}+{b}=" for a, b in ((2, 3), (4, 5), (1, 1), (7, 2))]
    chats = [[{"role": "system", "content": "Answer with a number."}, {"role": "user", "content": text}] for text in sums]
    out = pathlib.Path(out)
    record(model, sums, [length_reward, sum_reward], out / "trl-two-rewards.parquet")
    record(model, sums, [length_reward], out / "trl-one-reward.parquet")
    record(model, chats, [length_reward, noted_sum_reward], out / "trl-chat-extras.parquet")


if __name__ == "__main__":
    main(*sys.argv[1:])

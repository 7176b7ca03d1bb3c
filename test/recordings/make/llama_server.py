"""What llama.cpp's server answers over the OpenAI interface: python llama_server.py SERVER MODEL SAMPLES STREAMS

SERVER is the program `llama-server`, MODEL the folder of tiny_model.py. Into SAMPLES come whole answers with log-probs, three choices
each, and a log of them with requests and rewards; into STREAMS the pieces of two answers that were streamed. (gguf, safetensors)
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import gguf
from safetensors.numpy import load_file

SUMS = ((2, 3), (4, 5))
# Log-probs of the model itself, not of what top-k, top-p or min-p leave of it.
SAMPLING = {"n": 3, "max_tokens": 8, "temperature": 1.0, "samplers": ["temperature"], "cache_prompt": False}


def to_gguf(model, target):
    """The same weights in llama.cpp's layout."""
    config = json.loads((model / "config.json").read_text())
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    layers = config["num_hidden_layers"]
    writer = gguf.GGUFWriter(target, "qwen2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(layers)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    special = {entry["id"] for entry in tokenizer["added_tokens"]}
    texts = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(texts)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if i in special else gguf.TokenType.NORMAL for i in range(len(texts))]
    )
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template((model / "chat_template.jinja").read_text())
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, layers)
    for name, weights in load_file(model / "model.safetensors").items():
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def ask(address, path, request):
    body = json.dumps(request).encode()
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address + path, body, headers), timeout=60) as answer:
        return answer.read().decode()


def start(server, model):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    flags = "--host 127.0.0.1 --ctx-size 1024 --parallel 4 --threads 1 --alias tiny --no-warmup".split()
    process = subprocess.Popen([server, "--model", model, "--port", str(port), *flags], stderr=subprocess.DEVNULL)
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()
            return process, f"http://127.0.0.1:{port}"
        except (urllib.error.URLError, ConnectionError):
            if process.poll() is not None:
                break
            time.sleep(0.2)
    process.kill()
    raise SystemExit("the server does not start")


def is_right(choice, a, b):
    text = choice["message"]["content"] if "message" in choice else choice["text"]
    return float(text.startswith(str(a + b)))


def write(path, records):
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def record(address, samples, streams):
    chats, completions = [], []
    for step, (a, b) in enumerate(SUMS):
        messages = [{"role": "user", "content": f"{a}+{b}="}]
        for path, log, request in (
            ("/v1/chat/completions", chats, {"messages": messages, "logprobs": True, "top_logprobs": 3}),
            ("/v1/completions", completions, {"prompt": f"{a}+{b}=", "logprobs": 3}),
        ):
            request = {"model": "tiny", **request, **SAMPLING, "seed": 5 + step}
            answer = json.loads(ask(address, path, request))
            rewards = [is_right(choice, a, b) for choice in answer["choices"]]
            log.append({"step": step, "request": request, "response": answer, "rewards": rewards})
            if step == 0:
                streamed = ask(address, path, {**request, "n": 1, "stream": True})
                (streams / f"llama-{'chat' if log is chats else 'completions'}.sse").write_text(streamed)
    for name, log in (("chat", chats), ("completions", completions)):
        write(samples / f"llama-{name}.jsonl", [entry["response"] for entry in log])
        write(samples / f"llama-{name}-log.jsonl", log)


def main(server, model, samples, streams):
    with tempfile.TemporaryDirectory() as folder:
        target = str(pathlib.Path(folder) / "tiny.gguf")
        to_gguf(pathlib.Path(model), target)
        process, address = start(server, target)
        try:
            record(address, pathlib.Path(samples), pathlib.Path(streams))
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])

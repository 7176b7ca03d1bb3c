// A page without a server: it reads a dropped rollouts file and shows what entropies and advantages its rollouts have.
import { backendInfo, computeAdvantages, configure } from "surprisal";
import { attachResults, entropyBounds, pickEntropies, readAllRollouts, toBatch } from "surprisal/io";
import wasm from "surprisal/surprisal.wasm"; // its bytes: build.ts says so to the bundler

configure({ wasm, backend: "wasm" });

const at = (id) => document.getElementById(id);
const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
const shown = (x) => (Number.isFinite(x) ? x.toFixed(4) : "");

/** Mean entropy of a rollout's tokens: as the file has it, else the middle of its bounds, else NaN. */
function entropyOf({ entropies, topK, samplerLogProbs }, vocab) {
  if (entropies) return mean(entropies);
  return topK ? mean(pickEntropies(entropyBounds(topK, vocab, { sampled: samplerLogProbs }), "middle")) : NaN;
}

/** What an update needs of a rollout, as a line that `readRollouts` reads. */
const lineOf = ({ group, id, reward, tokenIds, tokens, advantages }) =>
  JSON.stringify({
    group,
    id,
    reward,
    token_ids: tokenIds && Array.from(tokenIds),
    tokens,
    advantages: Array.from(advantages),
  });

function addRow(rollout, index, entropy, advantage) {
  const row = at("rows").insertRow();
  const { group, id = index + 1, tokenIds, tokens, reward } = rollout;
  const cells = [group, id, (tokenIds ?? tokens)?.length ?? "", reward ?? "", shown(entropy), shown(advantage)];
  for (const cell of cells) row.insertCell().textContent = cell;
}

async function show(file) {
  at("rows").replaceChildren();
  at("status").textContent = `Reading ${file.name} …`;
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const { rollouts, report } = await readAllRollouts(bytes, { name: file.name });
    if (rollouts.length === 0) throw new Error(`${file.name} has no rollouts`);
    const batch = toBatch(rollouts);
    const { advantages, rowAdvantages } = computeAdvantages("grpo", batch);
    const vocab = Number(at("vocab").value);
    rollouts.forEach((rollout, b) => addRow(rollout, b, entropyOf(rollout, vocab), rowAdvantages[b]));
    const lines = attachResults(rollouts, batch, { advantages }).map((rollout) => `${lineOf(rollout)}\n`);
    URL.revokeObjectURL(at("download").href);
    at("download").href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    at("download").download = `${file.name.replace(/\.gz$/, "").replace(/\.[^.]*$/, "")}.advantages.jsonl`;
    const cut = report.cutOff ? `, cut off in line ${report.cutOff.line}` : "";
    at("status").textContent =
      `${rollouts.length} rollouts${cut}, advantages by GRPO, backend ${backendInfo().selected}`;
    at("download").hidden = at("table").hidden = false;
  } catch (error) {
    at("download").hidden = at("table").hidden = true;
    at("status").textContent = `${error.message}`;
  }
}

const drop = at("drop");
drop.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("over");
});
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const [file] = event.dataTransfer.files;
  if (file) void show(file);
});
at("file").addEventListener("change", () => void show(at("file").files[0]));

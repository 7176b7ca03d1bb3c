// The machine code of kernels as cuobjdump prints it: instructions, basic blocks, loops.

const FUNCTION = /^\s*Function : (\S+)/;
const INSTRUCTION = /^\s*\/\*([0-9a-f]{4,})\*\/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.x]*)\s*([^;]*);/;

/** By symbol: the instructions in their order, {address, op, operands, guarded}. */
export function readSass(text) {
  const functions = new Map();
  let code;
  for (const line of text.split("\n")) {
    const name = FUNCTION.exec(line)?.[1];
    if (name) functions.set(name, (code = []));
    const [, address, guard, op, operands] = (code && INSTRUCTION.exec(line)) ?? [];
    if (op && op !== "NOP")
      code.push({ address: parseInt(address, 16), op, operands: operands.trim(), guarded: guard !== undefined });
  }
  return functions;
}

const isSwitch = ({ op }) => op.startsWith("BRX");
/** On sm_89 a guarded CALL.REL.NOINC is a jump out of a loop; a function is called without a guard. */
const jumps = ({ op, guarded }) => /^(BRA|BRX|JMP|JMX)\b/.test(op) || (guarded && op === "CALL.REL.NOINC");
const ends = ({ op }) => /^(EXIT|RET|KILL|BPT)\b/.test(op);
/** BRA.DIV is taken by a warp whose threads have parted, BRA.CONV by one whose threads are together. */
const conditional = ({ op, guarded, operands }) => guarded || /^!?U?P\d/.test(operands) || /^BRA\.(DIV|CONV)/.test(op);

/**
 * The basic blocks, {code, next: numbers of blocks, back: those of `next` that begin a loop around this block}. The targets of a
 * switch are not in the text: it is taken to lead to every block behind it that nothing else leads to, up to the next switch.
 */
export function blocksOf(code) {
  const places = new Map(code.map(({ address }, i) => [address, i]));
  const target = (one) => (isSwitch(one) ? undefined : places.get(Number(/0x[0-9a-f]+$/.exec(one.operands)?.[0])));
  const leaders = new Set([0]);
  code.forEach((one, i) => {
    if (!jumps(one) && !ends(one)) return;
    leaders.add(i + 1);
    if (jumps(one) && target(one) !== undefined) leaders.add(target(one));
  });
  const firsts = [...leaders].filter((i) => i < code.length).sort((a, b) => a - b);
  const numbers = new Map(firsts.map((first, k) => [first, k]));
  const blocks = firsts.map((first, k) => ({ code: code.slice(first, firsts[k + 1]), next: [], back: [] }));
  blocks.forEach((block, k) => {
    const last = block.code.at(-1);
    const to = jumps(last) ? [numbers.get(target(last))] : [];
    if ((!jumps(last) && !ends(last)) || conditional(last)) to.push(k + 1);
    block.next = [...new Set(to)].filter((number) => blocks[number] !== undefined);
  });
  const reached = new Set(blocks.flatMap(({ next }) => next));
  let nearest;
  blocks.forEach((block, k) => {
    if (nearest && !reached.has(k)) nearest.next.push(k);
    if (isSwitch(block.code.at(-1))) nearest = block;
  });
  const dominated = dominators(blocks);
  blocks.forEach((block, k) => (block.back = block.next.filter((to) => dominated[k].has(to))));
  return blocks;
}

const predecessors = (blocks) => {
  const before = blocks.map(() => []);
  blocks.forEach(({ next }, k) => next.forEach((to) => before[to].push(k)));
  return before;
};

/** By block: the blocks that every way to it passes through, itself included. */
function dominators(blocks) {
  const before = predecessors(blocks);
  const of = blocks.map((_, k) => (k === 0 ? new Set([0]) : undefined));
  for (let changed = true; changed;) {
    changed = false;
    for (let k = 1; k < blocks.length; k++) {
      const sets = before[k].map((from) => of[from]).filter(Boolean);
      if (sets.length === 0) continue;
      const met = new Set([...sets[0]].filter((d) => sets.every((set) => set.has(d)))).add(k);
      changed ||= met.size !== of[k]?.size;
      of[k] = met;
    }
  }
  return of.map((set) => set ?? new Set());
}

/** The loops, {head, body: set of blocks}; the ways back to one head are one loop. */
export function loopsOf(blocks) {
  const before = predecessors(blocks);
  const loops = new Map();
  blocks.forEach(({ back }, latch) => {
    for (const head of back) {
      const loop = loops.get(head) ?? { head, body: new Set([head]) };
      loops.set(head, loop);
      const open = [latch];
      while (open.length > 0) {
        const at = open.pop();
        if (loop.body.has(at)) continue;
        loop.body.add(at);
        open.push(...before[at]);
      }
    }
  });
  return [...loops.values()];
}

import { FLOW, type Instruction } from "../../../../src/code/x64/decode/index.ts";
import { GENERAL_NAMES } from "../../../../src/code/x64/index.ts";

const REGISTERS = new Map<string, { number: number; bytes: number }>();
for (const [number, name] of GENERAL_NAMES.entries()) {
  const short = name.slice(1);
  const isOld = number < 8;
  REGISTERS.set(name, { number, bytes: 8 });
  REGISTERS.set(isOld ? `e${short}` : `${name}d`, { number, bytes: 4 });
  REGISTERS.set(isOld ? short : `${name}w`, { number, bytes: 2 });
  REGISTERS.set(isOld ? short.replace(/x$/, "").concat("l") : `${name}b`, { number, bytes: 1 });
  if (number < 4) REGISTERS.set(`${short[0]}h`, { number, bytes: 1 });
}

/** Instructions that print all operands. The first operand is written; the second group also reads it, or may leave it unchanged. */
const WRITES_FIRST =
  /^(mov|movabs|movzx|movsxd?|movbe|lea|set[a-z]+|[tl]zcnt|popcnt|andn|bextr|bls(i|r|msk)|pdep|pext|rorx|sarx|shlx|shrx)$/;
const CHANGES_FIRST =
  /^(add|sub|and|or|xor|adc|sbb|inc|dec|neg|not|rol|ror|rcl|rcr|shl|shr|sar|shld|shrd|bswap|bt[rsc]|cmov[a-z]+|adcx|adox|bsf|bsr)$/;
const READS_ALL = /^(cmp|test|bt)$/;
const FLOWS: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^call/, [FLOW.call, FLOW.indirectCall]],
  [/^jmp/, [FLOW.jump, FLOW.indirectJump]],
  [/^(j|loop|xbegin)/, [FLOW.branch]],
  [/^ret/, [FLOW.return]],
  [/^(syscall|sysenter|int)$/, [FLOW.systemCall, FLOW.trap]],
  [
    /^(ud[012]|hlt|iret|sysret|sysexit|int1|int3|lcall|ljmp|lret)/,
    [FLOW.trap, FLOW.return, FLOW.indirectJump, FLOW.indirectCall],
  ],
];
const BEHIND_FLAGS = 0xffff;

/** Difference between the decoded registers and the printed ones in a few words; undefined if they are equal. */
export function registerDifference(instruction: Instruction, text: string): string | undefined {
  const [mnemonic, ...rest] = text.split(/ +/);
  const expected = FLOWS.find(([pattern]) => pattern.test(mnemonic))?.[1];
  const isPlain = instruction.flow === FLOW.next || instruction.flow === FLOW.systemCall;
  if (expected === undefined ? !isPlain && mnemonic !== "(bad)" : !expected.includes(instruction.flow))
    return `flow ${instruction.flow}`;
  const operands = rest
    .join(" ")
    .split(",")
    .map((operand) => operand.trim());
  const registers = operands.map((operand) => REGISTERS.get(operand.replace(/\{.*/, "")));
  const reads = instruction.reads & BEHIND_FLAGS;
  const writes = instruction.writes & BEHIND_FLAGS;
  const kills = instruction.kills & BEHIND_FLAGS;
  // `xchg ax, ax` and similar instructions change nothing.
  if (/^(nop|xchg|endbr|prefetch)/.test(mnemonic) && writes === 0) return undefined;
  for (const register of registers) {
    if (register === undefined) continue;
    const bit = 1 << register.number;
    if (((reads | writes) & bit) === 0) return `${GENERAL_NAMES[register.number]} is not reached`;
    const isLarger = registers.some((one) => one?.number === register.number && one.bytes > 2);
    if ((kills & bit) !== 0 && register.bytes < 4 && !isLarger)
      return `all of ${GENERAL_NAMES[register.number]} is replaced`;
  }
  if ((kills & ~writes) !== 0) return "it replaces what it does not write";
  return exactDifference(instruction, mnemonic, operands, registers);
}

/** Difference for instructions that read and write exactly the printed operands. */
function exactDifference(
  { reads, writes, kills }: Instruction,
  mnemonic: string,
  operands: readonly string[],
  registers: readonly ({ number: number; bytes: number } | undefined)[],
): string | undefined {
  const isWritten = WRITES_FIRST.test(mnemonic);
  const isChanged = CHANGES_FIRST.test(mnemonic);
  if (!isWritten && !isChanged && !READS_ALL.test(mnemonic)) return undefined;
  // `mov` of segment, control and debug registers.
  if (operands.some((operand) => /^([c-gs]s|cr\d+|dr\d+)$/.test(operand))) return undefined;
  const inPlaces = operands
    .flatMap((operand) => /\[(.*)\]/.exec(operand)?.[1].split(/[+*-]/) ?? [])
    .map((name) => REGISTERS.get(name));
  const maskOf = (all: typeof registers): number =>
    all.reduce((mask, register) => mask | (register === undefined ? 0 : 1 << register.number), 0);
  const first = maskOf(registers.slice(0, 1));
  const expectedReads = maskOf([...registers.slice(isWritten ? 1 : 0), ...inPlaces]);
  const expectedWrites = isWritten || isChanged ? first : 0;
  const isWhole = (registers[0]?.bytes ?? 0) >= 4;
  if ((writes & BEHIND_FLAGS) !== expectedWrites) return `writes ${namesIn(writes)}`;
  if ((reads & BEHIND_FLAGS) !== expectedReads) return `reads ${namesIn(reads)}`;
  if (isWritten && (kills & BEHIND_FLAGS) !== (isWhole ? first : 0)) return `replaces ${namesIn(kills)}`;
  return undefined;
}

function namesIn(mask: number): string {
  return GENERAL_NAMES.filter((_, number) => (mask & (1 << number)) !== 0).join(" ") || "nothing";
}

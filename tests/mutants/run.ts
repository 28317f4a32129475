/**
 * `npm run mutants -- ROOM --count 50 --seed 1`: makes small mistakes in the files of `src/ROOM`, one at a time, in a
 * copy of the tree, and runs the room's own tests on each: those beside the code, and those that `otherTests` names.
 * Reports the mistakes that no test notices. Those that change nothing stand in `equivalent.ts`, with the reason. Ends
 * with status 1 where fewer than four fifths are noticed.
 */
import { Glob } from 'bun'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { equivalents } from './equivalent.ts'
import { mutated, mutationsOf } from './mutations.ts'
import type { Mutation } from './mutations.ts'

/** Tests of a room that stand elsewhere because they need more than the room, by its name. */
const otherTests: Readonly<Record<string, readonly string[]>> = {}
const killedShareMin = 0.8
/** A mutant that runs longer than this many times what the tests take is caught in a loop. */
const timesLonger = 4
const leastMs = 20_000

interface Mutant extends Mutation {
  readonly file: string
}

const root = join(import.meta.dir, '../..')
const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  options: { count: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
})
const [room] = positionals
/** A folder, or one file. */
const found = room?.endsWith('.ts') ? `src/${room.slice(0, -'.ts'.length)}{,.test}.ts` : `src/${room}/**/*.ts`
const sources = room ? [...new Glob(found).scanSync(root)].sort() : []
const isTest = (file: string): boolean => file.endsWith('.test.ts')
const tests = [
  ...sources.filter(file => isTest(file) && !file.endsWith('.timing.test.ts')),
  ...(otherTests[room!] ?? []),
]
const count = Number(values.count)
if (tests.length === 0 || !(count > 0)) {
  console.error('npm run mutants -- ROOM --count N --seed S: ROOM is a folder or a file of src that has tests')
  process.exit(1)
}

const isKnown = ({ file, code, change }: Mutant): boolean =>
  equivalents.some(one => one.file === file && one.code === code && one.change === change)
const all = sources
  .filter(file => !isTest(file) && !/(-fixture|-child|\.d)\.ts$/.test(file))
  .flatMap(file => mutationsOf(file, readFileSync(join(root, file), 'utf8')).map((one): Mutant => ({ ...one, file })))
const possible = all.filter(one => !isKnown(one))
const chosen = shuffled(possible, Number(values.seed)).slice(0, count)
console.log(
  `src/${room}: ${chosen.length} of ${possible.length} mutants, ${all.length - possible.length} known as equivalent; ` +
    `${tests.length} test files`,
)

const copies = Array.from({ length: Math.min(availableParallelism(), chosen.length) }, copyOfTree)
const survivors: Mutant[] = []
try {
  const fromMs = performance.now()
  if (!(await passes(copies[0]!, 10 * 60_000))) throw new Error('the tests fail without any mutant: mend them first')
  const limitMs = Math.max(leastMs, timesLonger * (performance.now() - fromMs))
  const waiting = [...chosen]
  await Promise.all(
    copies.map(async copy => {
      for (let one = waiting.shift(); one; one = waiting.shift()) if (await survives(one, copy, limitMs)) tell(one)
    }),
  )
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true })
}
const killed = chosen.length - survivors.length
console.log(
  `${killed} of ${chosen.length} killed (${Math.round((killed / chosen.length) * 100)} %), ${survivors.length} survived`,
)
process.exit(killed < killedShareMin * chosen.length ? 1 : 0)

function tell(one: Mutant): void {
  survivors.push(one)
  console.log(`survived: ${one.file}:${one.line}  ${one.change.replace(/\s+/g, ' ')}\n    ${one.code}`)
}

async function survives(one: Mutant, copy: string, limitMs: number): Promise<boolean> {
  const source = readFileSync(join(root, one.file), 'utf8')
  writeFileSync(join(copy, one.file), mutated(source, one))
  const survived = await passes(copy, limitMs)
  writeFileSync(join(copy, one.file), source)
  return survived
}

async function passes(copy: string, limitMs: number): Promise<boolean> {
  const words = ['test', '--bail', '--timeout', '10000', ...tests.map(file => `./${file}`)]
  const child = Bun.spawn([process.execPath, ...words], { cwd: copy, stdout: 'ignore', stderr: 'ignore' })
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const code = await child.exited
  clearTimeout(timer)
  return code === 0
}

/** What git knows of, or would add: the work tree itself is never changed. */
function copyOfTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'modelgate-mutants-'))
  const words = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { stdout, success, stderr } = Bun.spawnSync(['git', ...words], { cwd: root })
  if (!success) throw new Error(`git ls-files: ${stderr.toString()}`)
  for (const file of stdout.toString().split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  for (const folder of ['node_modules', 'tests/node_modules']) symlinkSync(join(root, folder), join(copy, folder))
  return copy
}

/** The same order for the same seed (mulberry32). */
function shuffled<T>(list: readonly T[], seed: number): T[] {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  return list
    .map(value => ({ value, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ value }) => value)
}

/** The fuzzer of `npm run fuzz`, for a short time, and what shows that it finds something. */
import { expect, test } from 'bun:test'
import { fuzz } from './fuzz.ts'
import { httpTargets } from './http-targets.ts'
import { Coverage, instrument } from './instrument.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20261123)
const { targets, coverage } = await httpTargets()
instrument(/maze-fixture\.ts$/, coverage)
const { greedy, lastBytes, maze } = await import('./maze-fixture.ts')

const target = (name: string, run: (pieces: readonly Buffer[]) => string, bytes: string) => ({
  name,
  run,
  seeds: [Buffer.from(bytes)],
  words: ['!'],
})

test(`60,000 inputs to the parsers of HTTP, guided by coverage: whole is any split (seed ${seed})`, () => {
  console.log(`fuzz: seed ${seed} (FUZZ_SEED)`)
  const results = fuzz(targets, coverage, seed, executions => executions > 60_000)
  for (const { executions, corpus, name } of results) {
    expect(executions).toBeGreaterThan(2000)
    // Seeds alone are 3 to 6: coverage has found more to start from.
    expect(`${name} ${corpus > 30}`).toBe(`${name} true`)
  }
  expect(coverage.edges).toBeGreaterThan(350)
}, 60_000)

test('what lies behind five bytes in a row is found with coverage, and not without', () => {
  const found = (guide: Coverage) => () =>
    void fuzz([target('maze', maze, 'start here')], guide, seed, executions => executions > 100_000)
  expect(found(coverage)).toThrow(/seed \d+: maze: "0:x,-.*the exit/)
  expect(found(new Coverage())).not.toThrow()
}, 60_000)

test('a reader that depends on the split, or looks behind the end, is found with its input and seed', () => {
  const run = (name: string, reader: typeof lastBytes) => () =>
    void fuzz([target(name, reader, 'a!b')], coverage, seed, executions => executions > 2000)
  expect(run('split', lastBytes)).toThrow(/seed \d+: split: ".*", cut into [\d ]+: whole .*\nin \d+ pieces /)
  expect(run('greedy', greedy)).toThrow(/seed \d+: greedy: /)
})

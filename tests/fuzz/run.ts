/**
 * `npm run fuzz -- --seconds 60 --seed 7`: fuzzes the parsers of HTTP. Prints the seed first, then executions, corpus
 * and coverage by parser; ends with status 1 and the input where bytes are read in two ways, or something is thrown.
 */
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'
import { httpTargets } from './http-targets.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string' }, seed: { type: 'string' } } })
const seconds = Number(values.seconds ?? 60)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
if (!(seconds > 0) || !Number.isInteger(seed)) throw new Error('--seconds must be above 0, and --seed an integer')

console.log(`seed ${seed}, ${seconds} s`)
const { targets, coverage } = await httpTargets()
const endMs = performance.now() + seconds * 1000
let turns = 0
try {
  const results = fuzz(targets, coverage, seed, () => ++turns % 256 === 0 && performance.now() > endMs)
  for (const { name, executions, corpus } of results)
    console.log(`${name}: ${executions} executions, ${corpus} inputs in the corpus`)
  const total = results.reduce((sum, result) => sum + result.executions, 0)
  console.log(`${total} executions, ${coverage.edges} passages between branches, nothing found`)
} catch (thrown) {
  console.error(thrown instanceof Error ? thrown.message : thrown)
  process.exit(1)
}

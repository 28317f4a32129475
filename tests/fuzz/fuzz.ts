/** A fuzzer that is guided by coverage: inputs that reach something new are mutated further. */
import { mutate, randomFrom, split } from './bytes.ts'
import type { Coverage } from './instrument.ts'

/** Something that reads bytes in pieces. */
export interface Target {
  readonly name: string
  readonly seeds: readonly Buffer[]
  /** Words of the protocol, put in by some mutations. */
  readonly words: readonly string[]
  /** What it makes of the bytes, however they are split. Throws only for a bug. */
  run(pieces: readonly Buffer[]): string
}

/** What was done, by target. */
export interface Result {
  readonly name: string
  executions: number
  corpus: number
  /** Of all targets together, when this one had its last turn. */
  edges: number
}

const inputBytesMax = 1024
/** An input that reaches something new is cut in two at so many places at most. */
const cutsMax = 300
const turnsInARow = 200

interface Run {
  readonly target: Target
  readonly corpus: Buffer[]
  readonly result: Result
}

/**
 * Until `isOver`, which is given the executions so far. The same seed and the same end give the same run. Throws what a
 * target throws, or for two readings of the same bytes; the message has the seed, the target and the input.
 */
export function fuzz(
  targets: readonly Target[],
  coverage: Coverage,
  seed: number,
  isOver: (executions: number) => boolean,
): Result[] {
  const random = randomFrom(seed)
  let executions = 0
  const runs = targets.map((target): Run => {
    const result = { name: target.name, executions: 0, corpus: 0, edges: 0 }
    return { target, corpus: [...target.seeds], result }
  })
  const tryOne = ({ target, corpus, result }: Run, input: Buffer): void => {
    const isNew = differs(target, coverage, input, random)
    const cuts = isNew ? Math.min(cutsMax, input.length) : 0
    for (let at = 1; at < cuts; at++) compare(target, input, [input.subarray(0, at), input.subarray(at)])
    if (isNew) corpus.push(input)
    result.executions += 2 + Math.max(cuts - 1, 0)
    executions += 2 + Math.max(cuts - 1, 0)
    result.corpus = corpus.length
    result.edges = coverage.edges
  }
  try {
    for (const run of runs) for (const input of run.target.seeds) tryOne(run, input)
    for (let turn = 0; !isOver(executions); turn++) {
      const run = runs[Math.floor(turn / turnsInARow) % runs.length]!
      tryOne(run, mutated(run, random))
    }
  } catch (thrown) {
    throw new Error(`seed ${seed}: ${thrown instanceof Error ? thrown.message : String(thrown)}`, { cause: thrown })
  }
  return runs.map(run => run.result)
}

/** Reads the input whole and split. true = whole it reached something new. */
function differs(target: Target, coverage: Coverage, input: Buffer, random: () => number): boolean {
  coverage.reset()
  compare(target, input, [input])
  const isNew = coverage.takeNew()
  compare(target, input, split(input, random, random() < 0.5 ? 3 : 60))
  return isNew
}

const expected = { input: Buffer.alloc(0), outcome: '', target: '' }

/** Throws where the pieces are read in another way than the whole. */
function compare(target: Target, input: Buffer, pieces: readonly Buffer[]): void {
  try {
    if (expected.input !== input || expected.target !== target.name) {
      Object.assign(expected, {
        input,
        target: target.name,
        outcome: target.run([guarded(input, '\r\n\r\n0\r\n\r\n')]),
      })
      if (pieces.length === 1) return
    }
    const outcome = target.run(pieces.map(piece => guarded(piece, 'HTTP/1.1 7')))
    if (outcome !== expected.outcome)
      throw new Error(`whole ${expected.outcome}\nin ${pieces.length} pieces ${outcome}`)
  } catch (thrown) {
    const shown = JSON.stringify(input.toString('latin1'))
    const lengths = pieces.map(piece => piece.length).join(' ')
    throw new Error(`${target.name}: ${shown}, cut into ${lengths}: ${(thrown as Error).message}`, { cause: thrown })
  }
}

/** Inside of a larger buffer: a reader that goes past the end finds other bytes in each of two readings. */
function guarded(piece: Buffer, around: string): Buffer {
  const whole = Buffer.alloc(piece.length + 2 * around.length, around, 'latin1')
  piece.copy(whole, around.length)
  return whole.subarray(around.length, around.length + piece.length)
}

function mutated({ target, corpus }: Run, random: () => number): Buffer {
  // Half of the time one of the newest, which reached something that has not been looked at much.
  const newest = corpus.length - 1 - Math.floor(random() * Math.min(corpus.length, 16))
  const from = corpus[random() < 0.5 ? newest : Math.floor(random() * corpus.length)]!
  let out = mutate(from.length === 0 ? Buffer.from(' ') : from, random)
  const at = Math.floor(random() * (out.length + 1))
  const how = random()
  if (how < 0.2) {
    const word = Buffer.from(target.words[Math.floor(random() * target.words.length)] ?? '', 'latin1')
    out = Buffer.concat([out.subarray(0, at), word, out.subarray(random() < 0.5 ? at : at + word.length)])
  } else if (how < 0.35) {
    const other = corpus[Math.floor(random() * corpus.length)]!
    out = Buffer.concat([out.subarray(0, at), other.subarray(Math.floor(random() * other.length))])
  }
  return out.subarray(0, inputBytesMax)
}

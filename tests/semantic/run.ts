/**
 * `npm run semantic-pairs -- [--python PATH]`: writes docs/semantic-cache.md, how often prompts that mean different
 * things would share an answer by the cosine of their embeddings alone, and how often with the check of facts. The
 * embeddings are those of all-MiniLM-L6-v2, in a virtual environment that it makes (gigabytes); `--python` uses
 * another.
 */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { factsOf } from '../../src/cache/prompt-facts.ts'
import { pythonEnvironment } from '../support/python-environment.ts'
import { differentPairs, samePairs } from './pairs.ts'
import type { PromptPair } from './pairs.ts'

const thresholds = [0.8, 0.9, 0.95]

interface Compared extends PromptPair {
  readonly cosine: number
  readonly hasSameFacts: boolean
}

const { values } = parseArgs({ options: { python: { type: 'string' } } })
const python = values.python ?? (await pythonEnvironment(join(import.meta.dir, 'requirements.txt')))
if (!python) {
  console.log('skipped: there is no python3 on this machine')
  process.exit(0)
}

async function embedded(texts: readonly string[]): Promise<Map<string, number[]>> {
  const child = Bun.spawn([python!, join(import.meta.dir, 'embed.py')], {
    stdin: Buffer.from(JSON.stringify(texts)),
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const vectors = JSON.parse(await new Response(child.stdout).text()) as number[][]
  return new Map(texts.map((text, at) => [text, vectors[at]!]))
}

function haveSameFacts({ one, other }: PromptPair): boolean {
  const facts = factsOf(one)
  return facts !== undefined && facts === factsOf(other)
}

async function compared(pairs: readonly PromptPair[]): Promise<Compared[]> {
  const vectors = await embedded([...new Set(pairs.flatMap(({ one, other }) => [one, other]))])
  return pairs.map(pair => {
    const [a, b] = [vectors.get(pair.one)!, vectors.get(pair.other)!]
    const cosine = a.reduce((sum, one, at) => sum + one * b[at]!, 0)
    return { ...pair, cosine, hasSameFacts: haveSameFacts(pair) }
  })
}

function rowOf(kind: string, pairs: readonly Compared[]): string {
  const counts = thresholds.flatMap(least => {
    const hits = pairs.filter(one => one.cosine >= least)
    return [hits.length, hits.filter(one => one.hasSameFacts).length]
  })
  return `| ${[kind, pairs.length, ...counts].join(' | ')} |`
}

const all = await compared([...differentPairs(), ...samePairs()])
const different = all.filter(one => one.kind !== 'same')
const same = all.filter(one => one.kind === 'same')
const kinds = [...new Set(different.map(one => one.kind))]
const left = different.filter(one => one.hasSameFacts && one.cosine >= 0.9).sort((a, b) => b.cosine - a.cosine)
const lost = same.filter(one => !one.hasSameFacts)
const columns = thresholds.flatMap(one => [`>= ${one}`, 'and facts'])
const page = `# How safe answers by meaning are

Written by \`npm run semantic-pairs\`: ${different.length} pairs of prompts that are alike in words and ask for different things, and ${same.length} pairs that ask for
the same, made of frames and values (\`tests/semantic/pairs.ts\`), compared by the embeddings of all-MiniLM-L6-v2. A column "\`>= 0.9\`" counts the pairs that would
share an answer by that threshold alone, "and facts" those that still do with the check that cannot be turned off: numbers,
signs, quotations, names, words of negation and direction, and words that are not common have to be the same, and the prompt has
to be English (\`src/cache/prompt-facts.ts\`).

| what differs | pairs | ${columns.join(' | ')} |
|---|---|${columns.map(() => '---|').join('')}
${kinds
  .map(kind =>
    rowOf(
      kind,
      different.filter(one => one.kind === kind),
    ),
  )
  .join('\n')}
${rowOf('**all**', different)}

Each of these is a wrong answer. The same for pairs that mean the same, where a hit is right:

| | pairs | ${columns.join(' | ')} |
|---|---|${columns.map(() => '---|').join('')}
${rowOf('same question, other words', same)}

What is left at 0.9 with the check: ${
  left.length === 0
    ? 'nothing.'
    : `${left
        .slice(0, 8)
        .map(({ one, other, cosine }) => `"${one}" / "${other}" (${cosine.toFixed(3)})`)
        .join('; ')}.`
}
Which common word names another thing, and who does what to whom, is in no list: this is why the cache by meaning is off by default, and why a threshold of 0.95 (the default) or
more is right. Frames and lists have the same author: on prompts of strangers more will be left. What the check costs: ${
  lost.length === 0
    ? 'nothing here.'
    : `${lost
        .slice(0, 4)
        .map(({ one, other }) => `"${one}" / "${other}"`)
        .join('; ')}.`
}
`
writeFileSync(resolve(import.meta.dir, '../../docs/semantic-cache.md'), page)
console.log(page)

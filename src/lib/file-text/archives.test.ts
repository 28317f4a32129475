/** What is read of an archive is what another reader finds in it, or it is said that it cannot be read. */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import { xmlText, zipMembers } from './archives.ts'
import { ReadingBudget } from './reading-budget.ts'

const folder = join(import.meta.dir, '../../../tests/data/files')
const archives = ['readable', 'unreadable'].flatMap(kind =>
  readdirSync(join(folder, kind))
    .filter(name => /\.(?:docx|xlsx|pptx|odt|ods|zip)$/.test(name))
    .map(name => [`${kind}/${name}`, readFileSync(join(folder, kind, name))] as const),
)

/** Every member with its bytes; undefined = something cannot be read. */
function readByUs(bytes: Uint8Array): Record<string, string> | undefined {
  const members = [...(zipMembers(bytes, new ReadingBudget({ ms: 60_000 })) ?? [{ name: '', bytes: undefined }])]
  if (members.some(one => !one.bytes)) return undefined
  return Object.fromEntries(members.map(({ name, bytes }) => [name, Buffer.from(bytes!).toString('latin1')]))
}

/** By fflate; undefined = it refuses. */
function readByOthers(bytes: Uint8Array): Record<string, string> | undefined {
  try {
    const members = Object.entries(unzipSync(new Uint8Array(bytes)))
    return Object.fromEntries(members.map(([name, one]) => [name, Buffer.from(one).toString('latin1')]))
  } catch {
    return undefined
  }
}

test.each(archives)('%s: all members as fflate reads them, or none', (name, bytes) => {
  const read = readByUs(bytes)
  if (name.startsWith('readable')) expect(read).toEqual(readByOthers(bytes)!)
  else if (!name.includes('entities')) expect(read).toBeUndefined()
})

/** A fixed series of numbers below `max` (a linear congruential generator). */
function series(seed: number): (max: number) => number {
  let state = seed
  return max => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % max
  }
}

test('2,000 damaged or edited archives: never other members, or fewer, than fflate reads', () => {
  const next = series(7)
  let [read, refused] = [0, 0]
  const bases = archives.filter(([name, bytes]) => name.startsWith('readable') && bytes.length < 30_000)
  for (let round = 0; round < 2000; round++) {
    const [name, base] = bases[next(bases.length)]!
    const at = next(3) === 0 ? base.length - 1 - next(300) : next(base.length)
    const piece = Buffer.from(Array.from({ length: next(8) }, () => next(256)))
    const copied = base.subarray(at, at + next(200))
    const edits = [
      [base.subarray(0, at), Buffer.from([next(256)]), base.subarray(at + 1)],
      [base.subarray(0, at), piece, base.subarray(at)],
      [base.subarray(0, at), base.subarray(at + 1 + next(40))],
      [base.subarray(0, at), copied, base.subarray(at)],
    ]
    const edited = Buffer.concat(edits[next(edits.length)]!)
    const ours = readByUs(edited)
    if (!ours) {
      refused++
      continue
    }
    read++
    const others = readByOthers(edited)
    if (others && !Bun.deepEquals(ours, others))
      throw new Error(`round ${round} of ${name}: fflate reads something else`)
  }
  console.log(`${read} read alike, ${refused} refused`)
  expect(read).toBeGreaterThan(20)
})

test('the text of XML: what formatting splits is together, sections of characters are texts', () => {
  expect(xmlText('<w:p><w:t>zan</w:t><w:b/><w:t>zibar</w:t></w:p>').trim()).toBe('zanzibar')
  expect(xmlText('<p>zan<![CDATA[zi]]>bar &#x41;&amp;</p>').trim()).toBe('zanzibar A&')
})

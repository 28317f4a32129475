/** The short form of `npm run attack`: memory, places and health hold; latency is for a machine that is quiet. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { connectionPhases } from '../support/network/connection-phases.ts'
import { attacks, openPaths } from './attacks.ts'

setDefaultTimeout(200_000)

async function run(...words: string[]): Promise<{ code: number; out: string; error: string }> {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/run.ts`, ...words], { stdout: 'pipe', stderr: 'pipe' })
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, error }
}

test('there is an attack for each phase that a client can hold, and for each route without a key', () => {
  const all = attacks('key', ['a.js'])
  const attacked = new Set<string>(all.map(({ phase }) => phase))
  // Not by attackers: the database decides, or a client with a key harms only its own call.
  for (const phase of ['lookup', 'owing', 'unread', 'work']) attacked.add(phase)
  expect([...attacked].sort()).toEqual(Object.keys(connectionPhases).sort())
  expect(openPaths(['a.js'])).toContain('/docs/a.js')
  for (const path of openPaths(['a.js'])) expect(all.map(({ name }) => name)).toContain(`GET ${path}`)
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
})

test('memory, places and health checks hold', async () => {
  // Longer than a refused client may hold its place.
  const { code, out } = await run('--seconds', '6', '--no-p99', '--only', 'owes a small|not read')
  expect([code, out]).toEqual([0, expect.stringContaining('every attack was held off')])
  expect(out.split('\n').filter(line => /owes a small|not read/.test(line)).length).toBe(2)
})

test.each([
  [['--nonsense'], "Unknown option '--nonsense'"],
  [['--seconds', '0'], "--seconds must be a whole number from 1 to 999; got '0'"],
])('%p is a mistake in the call', async (words, message) => {
  const { code, out, error } = await run(...words)
  expect([code, out]).toEqual([2, ''])
  expect(error).toStartWith(message)
})

import { expect, test } from 'bun:test'
import { join } from 'node:path'

test.skipIf(process.platform !== 'linux')('what starting touched is given back, and the program goes on', async () => {
  const child = Bun.spawn([
    process.execPath,
    '-e',
    `
    const { releaseProgramPages } = await import(${JSON.stringify(join(import.meta.dir, 'program-pages.ts'))})
    const { readFileSync } = await import('node:fs')
    const file = () => Number(/RssFile:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
    const before = file()
    const released = releaseProgramPages()
    const after = file()
    // Parts of the runtime that were not in use before: their pages have to come back whole.
    const { Database } = await import('bun:sqlite')
    const database = new Database(':memory:')
    const sum = database.query('select sum(value) as sum from json_each(?)').get(JSON.stringify(Array.from({ length: 1000 }, (_, at) => at))).sum
    const sorted = new Intl.Collator('de').compare('ä', 'z')
    const hash = new Bun.CryptoHasher('sha256').update('modelgate').digest('hex')
    const again = releaseProgramPages()
    console.log(JSON.stringify({ before, released, after, sum, sorted, hash, again }))
  `,
  ])
  const found = JSON.parse(await new Response(child.stdout).text()) as Record<string, number>
  expect(await child.exited).toBe(0)
  expect(found.released).toBeGreaterThan(4 << 20)
  expect(found.before! - found.after!).toBeGreaterThan(4 << 10)
  expect(found).toMatchObject({
    sum: 499_500,
    sorted: -1,
    hash: new Bun.CryptoHasher('sha256').update('modelgate').digest('hex'),
  })
  expect(found.again).toBeGreaterThan(1 << 20)
})

/** `npm test` on a machine without Postgres, Redis and a browser: what needs them is skipped, and says so. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { runTestFiles } from './bun-test.ts'
import { hideServers, namesServers } from './without-servers.ts'

const root = join(import.meta.dir, '../..')
const timeoutMs = 300_000

/** Of each kind one or two, also such as run no test at all then. */
const files = [
  'src/store/database/postgres.test.ts',
  'src/store/limits/budget-table.test.ts',
  'src/store/limits/generations.test.ts',
  'src/store/limits/budget-losses.test.ts',
  'tests/e2e/audio.test.ts',
  'tests/e2e/embedding-cache.test.ts',
  'tests/faults/faults.load.test.ts',
  'tests/web/models.test.ts',
  'tests/web/days.test.ts',
]

test(
  'files that name servers pass without them, and say what they skip',
  async () => {
    const servers = hideServers()
    try {
      const { results, skipped } = await runTestFiles(files, { root, environment: servers.environment, atOnce: 2 })
      expect(results.flatMap(({ file, failures }) => failures.map(failure => `${file}: ${failure}`))).toEqual([])
      for (const words of ['TEST_DATABASE_URL', 'TEST_REDIS_URL', 'redis-server', 'chromium', 'espeak-ng'])
        expect(skipped).toContainEqual(expect.stringContaining(words))
    } finally {
      servers.remove()
    }
  },
  timeoutMs,
)

test('nothing of what is hidden is found, and other programs are', () => {
  const servers = hideServers()
  const find = (name: string) => Bun.which(name, { PATH: servers.environment.PATH! })
  expect(['redis-server', 'psql', 'chromium', 'chromium-headless-shell', 'espeak-ng'].map(find)).toEqual(
    Array.from({ length: 5 }, () => null),
  )
  expect(find('node')).not.toBeNull()
  expect(servers.environment.TEST_DATABASE_URL).toBeUndefined()
  servers.remove()
})

test('files that use servers are told by what they name', () => {
  expect(namesServers('src/a.test.ts', 'const url = process.env.TEST_REDIS_URL')).toBe(true)
  expect(namesServers('tests/web/a.test.ts', '')).toBe(true)
  expect(namesServers('src/a.test.ts', "import { test } from 'bun:test'")).toBe(false)
})

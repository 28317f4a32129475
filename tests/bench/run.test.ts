/** The benchmark called wrongly: what it says instead of what it measures. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'

async function run(...words: string[]): Promise<{ code: number; out: string; error: string }> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'run.ts'), ...words], {
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, error }
}

test('--help is the usage', async () => {
  const { code, out, error } = await run('--help')
  expect([code, error]).toEqual([0, ''])
  expect(out).toStartWith('npm run bench -- [flags]\n')
})

test.each([
  [['--nonsense'], "Unknown option '--nonsense'"],
  [['calls'], "Unexpected argument 'calls'"],
  [['--rounds'], "Option '--rounds <value>' argument missing"],
  [['--rounds', '0'], "--rounds must be a whole number from 1; got '0'"],
  [['--seconds', '1.5'], '--seconds must be a whole number from 1'],
  [
    ['--only', 'calls,stream'],
    "--only takes calls, alone, streams, translate, bodies, cache, guardrails, budgets; got 'stream'",
  ],
  [['--peer', 'localhost'], '--peer must be a URL'],
  [['--peer', 'http://127.0.0.1:1', '--peer-pid', 'x'], '--peer-pid must be a whole number from 1'],
])('%p is a mistake in the call', async (words, message) => {
  const { code, out, error } = await run(...words)
  expect([code, out]).toEqual([2, ''])
  expect(error).toStartWith(message)
  expect(error).toContain('npm run bench -- [flags]')
  expect(error).not.toContain('    at ')
})

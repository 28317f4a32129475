/** The short form of `npm run panels`: it opens the pages and follows the calls. Its bars are for a quiet machine. */
import { expect, setDefaultTimeout, test } from 'bun:test'

setDefaultTimeout(200_000)

test('pages of operators open, and panels see each call beside which they are open', async () => {
  const small = '--rows 2000 --keys 100 --opened 1 --rounds 1 --seconds 1 --rate 20 --panels 2'.split(' ')
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/run.ts`, ...small], { stdout: 'pipe', stderr: 'pipe' })
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  // 1 = a bar was missed, which says nothing on a machine that tests.
  expect([[0, 1].includes(await child.exited), error.includes('error:')]).toEqual([true, false])
  for (const said of [/^Logs +p50/m, /^Usage by model +p50/m, /^Keys +p50/m, /panels: \d\d+ rows/, /p99 beside panels/])
    expect(out).toMatch(said)
})

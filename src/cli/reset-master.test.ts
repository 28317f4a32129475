/** A lost master key: the way back is named where its loss shows, and works beside a running gateway. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { gatewayProgram } from '../../tests/support/gateway-process.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-reset-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const pepper = 'a-pepper-of-more-than-thirty-two-characters'

function spawn(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { DATABASE_URL: _, MODELGATE_MASTER_KEY: __, ...own } = process.env
  return Bun.spawn([process.execPath, gatewayProgram, ...words], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...own, MODELGATE_DATA_DIR: folder, MODELGATE_DISCOVER: '0', MODELGATE_DRAIN_DELAY_MS: '0', ...environment },
  })
}

async function run(words: readonly string[], environment?: Readonly<Record<string, string>>) {
  const child = spawn(words, environment)
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, error }
}

/** Reads until `found` matches. */
async function textUntil(stream: ReadableStream<Uint8Array>, found: RegExp): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of stream) {
    text += decoder.decode(piece, { stream: true })
    if (found.test(text)) break
  }
  return text
}

async function serving(environment?: Readonly<Record<string, string>>) {
  const child = spawn(['serve', '--port', '0'], environment)
  const [banner, said] = await Promise.all([
    textUntil(child.stdout, /-d '.*'\n/),
    textUntil(child.stderr, /on (http:\S+) /),
  ])
  const url = / on (http:\S+) /.exec(said)![1]!
  const ask = (key: string) => fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  return {
    banner,
    ask,
    key: /^ {2}(sk-\S+)$/m.exec(banner)![1]!,
    async stop() {
      child.kill('SIGTERM')
      await child.exited
    },
  }
}

test('a running gateway takes the new master key and refuses the one before', async () => {
  const gateway = await serving()
  expect(gateway.banner).toContain('modelgate keys reset-master')
  expect((await gateway.ask(gateway.key)).status).toBe(200)
  const unknown = await gateway.ask('sk-lost')
  expect([unknown.status, await unknown.text()]).toEqual([401, expect.stringContaining('modelgate keys reset-master')])
  const reset = await run(['keys', 'reset-master'])
  expect([reset.code, reset.out]).toEqual([0, expect.stringMatching(/^sk-[A-Za-z0-9_-]{43}\n$/)])
  expect(reset.error).not.toContain(reset.out.trim())
  while ((await gateway.ask(reset.out.trim())).status !== 200) await Bun.sleep(20)
  expect((await gateway.ask(gateway.key)).status).toBe(401)
  await gateway.stop()
  expect((await run(['keys'])).out).toContain('modelgate keys reset-master')
}, 60_000)

test('nothing is changed where the key is given at each start, where no database is, and under a missing pepper', async () => {
  const gateway = await serving({ MODELGATE_KEY_PEPPER: pepper })
  const refused: [string, Record<string, string>][] = [
    ['the master key is the one in MODELGATE_MASTER_KEY', { MODELGATE_MASTER_KEY: 'sk-any' }],
    ['set the MODELGATE_KEY_PEPPER of the gateway', {}],
    ['it holds no database', { MODELGATE_DATA_DIR: join(folder, 'typo') }],
  ]
  const stored = async () => {
    const sql = new SQL(`sqlite:${join(folder, 'modelgate.sqlite')}`)
    const rows = (await sql`select name, value from installation order by name`) as unknown[]
    await sql.close()
    return rows
  }
  // The key is shown before it is stored.
  while (!JSON.stringify(await stored()).includes('master_key_hash')) await Bun.sleep(20)
  await gateway.stop()
  const before = await stored()
  for (const [message, environment] of refused) {
    const { code, out, error } = await run(['keys', 'reset-master'], environment)
    expect([code, out]).toEqual([1, ''])
    expect(error).toContain(message)
  }
  expect(await stored()).toEqual(before)
  const reset = await run(['keys', 'reset-master'], { MODELGATE_KEY_PEPPER: pepper })
  expect([reset.code, (await stored()).length]).toEqual([0, before.length])
  expect(await stored()).not.toEqual(before)
}, 60_000)

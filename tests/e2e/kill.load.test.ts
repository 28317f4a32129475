/** kill -9 under load, again and again: what a client saw complete is in the ledger, once. `ROUNDS=n` for more. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSimulator } from '../../simulator/index.ts'
import { masterKey } from './harness.ts'
import { gatewayProgram } from '../support/gateway-process.ts'

const rounds = Number(process.env.ROUNDS ?? 12)

async function start(folder: string, port: number) {
  const child = Bun.spawn(
    [
      process.execPath,
      gatewayProgram,
      'serve',
      '--config',
      join(folder, 'config.yaml'),
      '--port',
      String(port),
      '--data-dir',
      join(folder, 'data'),
    ],
    {
      stdout: 'ignore',
      stderr: 'inherit',
      env: { ...process.env, MODELGATE_MASTER_KEY: masterKey, DATABASE_URL: '', REDIS_URL: '' },
    },
  )
  const until = performance.now() + 60_000
  for (;;) {
    try {
      await fetch(`http://127.0.0.1:${port}/health/liveliness`)
      return child
    } catch (error) {
      if (performance.now() > until) throw error
      await Bun.sleep(10)
    }
  }
}

/** The id of every row that the ledger shows, page by page. */
async function allIds(port: number): Promise<string[]> {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const response = await fetch(`http://127.0.0.1:${port}/spend/logs/v2?page_size=1000${cursor}`, {
      headers: { authorization: `Bearer ${masterKey}` },
    })
    const page = (await response.json()) as { data: { request_id: string }[]; next_cursor: string | null }
    ids.push(...page.data.map(row => row.request_id))
    if (!page.next_cursor) return ids
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
}

test(`${rounds} rounds of kill -9 under load lose and double nothing`, async () => {
  const simulator = await startSimulator({ seed: 3 })
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-kill-'))
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = probe
  probe.stop(true)
  writeFileSync(
    join(folder, 'config.yaml'),
    `model_list:
  - model_name: chat-model
    proxy_params:
      { model: custom_openai/sim-chat, api_base: "${simulator.url.replace(/\/$/, '')}/v1", api_key: k,
        input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
`,
  )
  const complete = new Set<string>()
  try {
    for (let round = 0; round < rounds; round++) {
      const child = await start(folder, port)
      let running = true
      const client = async (stream: boolean) => {
        while (running)
          try {
            const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
              method: 'POST',
              headers: { authorization: `Bearer ${masterKey}` },
              body: JSON.stringify({ model: 'chat-model', stream, messages: [{ role: 'user', content: 'tokens: 6' }] }),
            })
            const text = await response.text()
            if (response.status === 200 && (!stream || text.includes('[DONE]')))
              complete.add(response.headers.get('x-request-id')!)
          } catch {
            // Killed in the middle: not complete.
          }
      }
      const wanted = complete.size + 21 + round * 10
      const clients = Promise.all(Array.from({ length: 16 }, (_, at) => client(at % 2 === 0)))
      // By what was done, not by time: on a loaded machine nothing may be complete after 150 ms.
      while (complete.size < wanted) await Bun.sleep(1 + Math.random() * 10)
      child.kill('SIGKILL')
      await child.exited
      running = false
      await clients
    }
    const child = await start(folder, port)
    // A gateway that has just started is still storing the journals of those that were killed.
    let ids = await allIds(port)
    const until = performance.now() + 60_000
    while (complete.difference(new Set(ids)).size > 0 && performance.now() < until) ids = await allIds(port)
    child.kill('SIGTERM')
    await child.exited
    const known = new Set(ids)
    const lost = [...complete].filter(id => !known.has(id))
    console.log(
      `kill -9: ${rounds} rounds, ${complete.size} calls seen complete, ${ids.length} rows, ${lost.length} lost`,
    )
    expect(complete.size).toBeGreaterThan(rounds * 20)
    expect(lost).toEqual([])
    expect(known.size).toBe(ids.length)
  } finally {
    await simulator.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}, 240_000)

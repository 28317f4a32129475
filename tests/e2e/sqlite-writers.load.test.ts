/**
 * A gateway on SQLite under load, where no other program uses the file: requests that write to the database
 * (`Idempotency-Key`, background responses, new keys) get their turn beside the ledger's writer. `CALLS=n` for more.
 */
import { expect, test } from 'bun:test'
import { startSimulator } from '../../simulator/index.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'

const calls = Number(process.env.CALLS ?? 150)
const loadClients = 24

test('requests that write to the database are not refused for the lock of the ledger', async () => {
  const simulator = await startSimulator({ seed: 5 })
  const gateway = await startGatewayProcess(`
model_list:
  - model_name: chat-model
    proxy_params: { model: custom_openai/sim-chat, api_base: "${simulator.url.replace(/\/$/, '')}/v1", api_key: k, input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 }
settings: { max_budget: 1000 }
`)
  let isRunning = true
  try {
    const keys = await Promise.all(Array.from({ length: 20 }, () => gateway.key({ max_budget: 100 })))
    const post = async (path: string, body: object, headers: object = {}) => {
      const key = keys[Math.floor(Math.random() * keys.length)]!
      const answer = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body: JSON.stringify(body),
      })
      return `${answer.status} ${answer.ok ? '' : await answer.text()}`.trim()
    }
    const messages = [{ role: 'user', content: 'tokens: 4' }]
    let served = 0
    const load = Array.from({ length: loadClients }, async () => {
      while (isRunning) {
        await post('/v1/chat/completions', { model: 'chat-model', messages })
        served++
      }
    })
    const statuses = new Map<string, number>()
    const note = (status: string) => void statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const writers = Array.from({ length: 8 }, async () => {
      for (let call = 0; call < calls / 8; call++) {
        const id = crypto.randomUUID()
        note(await post('/v1/chat/completions', { model: 'chat-model', messages }, { 'idempotency-key': id }))
        note(await post('/v1/responses', { model: 'chat-model', input: 'tokens: 4', background: true }))
        if (call % 4 === 0) note(`${(await gateway.admin('/key/generate', {})).status}`)
      }
    })
    await Promise.all(writers)
    isRunning = false
    await Promise.all(load)
    console.log(`SQLite's writers: ${[...statuses].flat().join(' ')} beside ${served} calls`)
    expect([...statuses.keys()]).toEqual(['200'])
  } finally {
    isRunning = false
    await gateway.stop()
    await simulator.stop()
  }
}, 240_000)

/**
 * `npm run login-flood`: what 10,000 wrong passwords in a minute cost a gateway's small calls, and whether the right
 * password from elsewhere still signs in. Calm and flooded seconds take turns, so that a change of the machine counts for
 * both; the gateway, the flood and the calls have a process or thread of their own.
 *
 *   npm run login-flood [-- --seconds 60 --per-second 167]
 */
import { parseArgs } from 'node:util'
import { startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess } from '../gateway-process.ts'

const ratioMax = 1.2
const rounds = 6
const callsPerSecond = 100
const password = 'correct horse battery'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    'per-second': { type: 'string', default: String(Math.ceil(10_000 / 60)) },
  },
})
const phaseMs = (Number(values.seconds) * 1000) / rounds
const perSecond = Number(values['per-second'])

const config = `
model_list: []
general_settings: { trusted_proxies: [127.0.0.0/8] }
`

/** Calls at a steady rate, each timed from when it was due: one that waits for another counts its wait. */
async function calls(gateway: GatewayProcess, key: string, forMs: number): Promise<number[]> {
  const tookMs: number[] = []
  const startedMs = performance.now()
  const call = async (dueMs: number) => {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local/simulated-chat', messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.arrayBuffer()
    if (answer.status !== 200) throw new Error(`a call was answered with ${answer.status}`)
    tookMs.push(performance.now() - dueMs)
  }
  const pending: Promise<void>[] = []
  for (let at = 0; performance.now() - startedMs < forMs; at++) {
    const dueMs = startedMs + (at * 1000) / callsPerSecond
    while (performance.now() < dueMs) await Bun.sleep(1)
    pending.push(call(dueMs))
  }
  await Promise.all(pending)
  return tookMs
}

/** Ann, from an address that has not failed, and without a cookie of before. */
async function rightPassword(gateway: GatewayProcess, at: number): Promise<number> {
  const answer = await fetch(`${gateway.url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': `192.0.2.${at}` },
    body: JSON.stringify({ username: 'ann', password }),
  })
  await answer.arrayBuffer()
  return answer.status
}

const quantile = (all: readonly number[], part: number): number =>
  all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * part))]!

const gateway = await startGatewayProcess(config)
const flooder = new Worker(new URL('flooder.ts', import.meta.url))
try {
  await gateway.admin('/user/new', { user_id: 'ann', auto_create_key: false })
  await gateway.admin('/sign-in/password', { user_id: 'ann', new_password: password })
  const key = await gateway.key()
  await calls(gateway, key, 2000)
  const [calm, flooded]: [number[], number[]] = [[], []]
  const statuses: number[] = []
  const stop = () =>
    new Promise<{ sent: number; counts: object }>(resolve => {
      flooder.onmessage = ({ data }: MessageEvent<{ sent: number; counts: object }>) => resolve(data)
      flooder.postMessage('stop')
    })
  for (let round = 0; round < rounds; round++) {
    calm.push(...(await calls(gateway, key, phaseMs / 2)))
    flooder.postMessage({ url: gateway.url, perSecond })
    const during = calls(gateway, key, phaseMs)
    await Bun.sleep(phaseMs / 2)
    statuses.push(await rightPassword(gateway, round + 1))
    flooded.push(...(await during))
    await stop()
    await Bun.sleep(6000)
  }
  const { sent, counts } = await stop()
  const [calmMs, floodMs] = [quantile(calm, 0.99), quantile(flooded, 0.99)]
  const ratio = floodMs / calmMs
  console.log(`${sent} wrong passwords in ${Number(values.seconds)} s: ${JSON.stringify(counts)}`)
  console.log(`p50 ${quantile(calm, 0.5).toFixed(2)} -> ${quantile(flooded, 0.5).toFixed(2)} ms`)
  console.log(`p99 ${calmMs.toFixed(2)} -> ${floodMs.toFixed(2)} ms, ${ratio.toFixed(2)} times (bar ${ratioMax})`)
  console.log(`the right password from elsewhere, once a round: ${statuses.join(' ')}`)
  process.exitCode = ratio <= ratioMax && statuses.every(status => status === 200) ? 0 : 1
} finally {
  flooder.terminate()
  await gateway.stop()
}

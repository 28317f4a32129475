/**
 * Many requests with an `Idempotency-Key`, each sent several times, at a gateway that is killed with kill -9 and
 * started again: does the upstream get each of them at most once?
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, gatewayProgram } from '../support/gateway-process.ts'

/** What is sent. */
export interface DuplicatesOptions {
  readonly requests: number
  /** How often each request is sent. */
  readonly copies: number
  readonly kills: number
}

/** What became of it. */
export interface DuplicatesResult {
  /** Requests that the upstream got more than once; must be 0. */
  readonly askedTwice: number
  /** Requests whose copies got different answers; must be 0. */
  readonly different: number
  /** Rows of the ledger with a cost, for each request at most one. */
  readonly billedTwice: number
  readonly answered: number
  /** Requests that were under way when the gateway was killed: 409. */
  readonly lost: number
  readonly kills: number
}

const masterKey = `sk-${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`
const upstreamMs = 20
const clients = 16

/** Takes seconds for 60 requests and 3 kills. */
export async function runRepeatedRequests({ requests, copies, kills }: DuplicatesOptions): Promise<DuplicatesResult> {
  const asked = new Map<string, number>()
  const upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { messages } = (await request.json()) as { messages: { content: string }[] }
      const name = messages[0]!.content
      asked.set(name, (asked.get(name) ?? 0) + 1)
      await Bun.sleep(upstreamMs)
      return Response.json(answerOf(name))
    },
  })
  const gateway = new KilledGateway(`http://127.0.0.1:${upstream.port}/v1`)
  try {
    await gateway.start()
    const answers = await sendAll(gateway, { requests, copies, kills })
    const rows = await billedRows(gateway)
    const statuses = [...answers.values()]
    return {
      askedTwice: [...asked.values()].filter(count => count > 1).length,
      different: statuses.filter(all => new Set(all).size > 1).length,
      billedTwice: [...rows.values()].filter(count => count > 1).length,
      answered: statuses.filter(([first]) => first !== 'lost').length,
      lost: statuses.filter(([first]) => first === 'lost').length,
      kills: gateway.kills,
    }
  } finally {
    await gateway.stop()
    await upstream.stop(true)
  }
}

const answerOf = (name: string): object => ({
  id: `chatcmpl-${name}`,
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content: name }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

/** The answers to all copies of each request. The gateway is killed evenly over them. */
async function sendAll(
  gateway: KilledGateway,
  { requests, copies, kills }: DuplicatesOptions,
): Promise<Map<string, string[]>> {
  const key = await gateway.key()
  const answers = new Map<string, string[]>()
  let next = 0
  let done = 0
  const total = requests * copies
  const client = async (): Promise<void> => {
    while (next < total) {
      const name = `request-${Math.floor(next++ / copies)}`
      const got = await sendUntilAnswered(gateway, key, name)
      answers.set(name, [...(answers.get(name) ?? []), got])
      done++
      if (gateway.kills < kills && done >= ((gateway.kills + 1) * total) / (kills + 1)) await gateway.kill()
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return answers
}

/** The text of the answer, or `lost`. Sent again while the gateway is away. */
async function sendUntilAnswered(gateway: KilledGateway, key: string, name: string): Promise<string> {
  for (;;) {
    try {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': name, connection: 'close' },
        body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: name }], user: name }),
      })
      const body = await response.text()
      if (response.status === 200) return body
      if (response.status === 409) return 'lost'
      throw new Error(`unexpected ${response.status}: ${body}`)
    } catch (error) {
      if ((error as Error).message.startsWith('unexpected')) throw error
      await gateway.served()
    }
  }
}

/** Rows with a cost by the request's name, once all are there. */
async function billedRows(gateway: KilledGateway): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  let cursor = ''
  do {
    const page = (await (await gateway.admin(`/spend/logs/v2?page_size=1000${cursor}`)).json()) as {
      data: { end_user: string | null; cost_nano_usd: string | null }[]
      next_cursor: string | null
    }
    for (const { end_user: user, cost_nano_usd: cost } of page.data)
      if (user !== null && cost !== null && cost !== '0') counts.set(user, (counts.get(user) ?? 0) + 1)
    cursor = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : ''
  } while (cursor)
  return counts
}

/** A gateway on one data directory, over several processes. */
class KilledGateway {
  kills = 0
  readonly #folder = mkdtempSync(join(tmpdir(), 'modelgate-idempotency-'))
  readonly #port = freePort()
  #child: ReturnType<typeof Bun.spawn> | undefined
  #starting: Promise<void> | undefined

  constructor(upstream: string) {
    writeFileSync(
      join(this.#folder, 'config.yaml'),
      `model_list:
  - model_name: chat
    proxy_params: { model: custom_openai/up, api_base: "${upstream}", api_key: k, input_cost_per_token: 1, output_cost_per_token: 1 }
general_settings: { max_stored_objects_per_key: null }
router_settings: { num_retries: 0 }
`,
    )
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  start(): Promise<void> {
    return (this.#starting ??= this.#start())
  }

  async #start(): Promise<void> {
    this.#child = Bun.spawn(
      [process.execPath, gatewayProgram, 'serve', '--host', '127.0.0.1'].concat(
        ['--port', String(this.#port), '--config', join(this.#folder, 'config.yaml')],
        ['--data-dir', join(this.#folder, 'data')],
      ),
      {
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'ignore',
        env: {
          PATH: process.env.PATH,
          HOME: this.#folder,
          MODELGATE_MASTER_KEY: masterKey,
          MODELGATE_LOG_LEVEL: 'off',
          MODELGATE_DISCOVER: '0',
        },
      },
    )
    for (;;) {
      if (this.#child.exitCode !== null) throw new Error(`the gateway ended with ${this.#child.exitCode}`)
      const answer = await fetch(`${this.url}/health/readiness`).catch(() => undefined)
      if (answer?.ok) return
      await Bun.sleep(20)
    }
  }

  /** Resolves when a process serves. */
  async served(): Promise<void> {
    await Bun.sleep(20)
    await this.start()
  }

  async kill(): Promise<void> {
    this.kills++
    this.#child!.kill('SIGKILL')
    await this.#child!.exited
    this.#starting = undefined
    await this.start()
  }

  async stop(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#child?.exited
    rmSync(this.#folder, { recursive: true, force: true })
  }

  admin(path: string, body?: unknown): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${masterKey}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  async key(): Promise<string> {
    return ((await (await this.admin('/key/generate', {})).json()) as { key: string }).key
  }
}

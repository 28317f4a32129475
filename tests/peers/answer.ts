/** One gateway under comparison: what it is asked, and what of its answers is looked at. */
import { systemClock } from '../../src/lib/clock.ts'

/** A request; `key` undefined = that of the administrator, null = none. */
export interface Ask {
  readonly path: string
  /** GET without a body, else POST. */
  readonly method?: string
  /** Sent as JSON; a text and a form as they are. */
  readonly body?: unknown
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** What came back. A stream's body is the list of its events: JSON, else the text. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly isStream: boolean
}

/** A gateway with its master key. */
export class Gateway {
  readonly name: string
  readonly #url: string
  readonly #masterKey: string
  readonly #hasDatabase: boolean

  constructor(name: string, url: string, masterKey: string, hasDatabase: boolean) {
    this.name = name
    this.#url = url
    this.#masterKey = masterKey
    this.#hasDatabase = hasDatabase
  }

  /** Rejects when there is no answer within two minutes. */
  async ask(ask: Ask): Promise<Answer> {
    const { path, body, key = this.#masterKey } = ask
    const isRaw = typeof body === 'string' || body instanceof FormData
    const response = await fetch(`${this.#url}${path}`, {
      method: ask.method ?? (body === undefined ? 'GET' : 'POST'),
      signal: AbortSignal.timeout(120_000),
      redirect: 'manual',
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
        ...ask.headers,
      },
      ...(body !== undefined && { body: isRaw ? body : JSON.stringify(body) }),
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    // A stream that is cut has said what it said.
    const text = await response.text().catch(() => '')
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: isStream ? eventsOf(text) : parsed(text),
      isStream,
    }
  }

  /** As `ask`, for a step before what is looked at. Throws when it is refused. */
  async step(ask: Ask): Promise<Record<string, unknown>> {
    const { status, body } = await this.ask(ask)
    if (status >= 300) throw new Error(`${this.name} answered ${ask.path} with ${status}: ${JSON.stringify(body)}`)
    return body as Record<string, unknown>
  }

  /** A new virtual key; without a database the master key. */
  async key(fields: object = {}): Promise<string> {
    if (!this.#hasDatabase) return this.#masterKey
    return String((await this.step({ path: '/key/generate', body: fields })).key)
  }

  /** Asks until `isThere` holds, for what is written behind an answer; the last answer after 30 seconds. */
  async until(ask: Ask, isThere: (answer: Answer) => boolean): Promise<Answer> {
    const untilMs = systemClock.monotonicMs() + 30_000
    for (;;) {
      const answer = await this.ask(ask)
      if (isThere(answer) || systemClock.monotonicMs() > untilMs) return answer
      await Bun.sleep(500)
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function eventsOf(text: string): unknown[] {
  return text.split(/\r?\n\r?\n/).flatMap(event => {
    const data = event
      .split(/\r?\n/)
      .filter(line => line.startsWith('data:'))
      .map(line => line.slice(5).trim())
    return data.length === 0 ? [] : [parsed(data.join('\n'))]
  })
}

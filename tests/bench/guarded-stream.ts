/**
 * How much later the words of a stream arrive for its guardrails: 50 tokens a second, each with the time it was sent.
 */
import { percentile } from './machine.ts'

/** What one token took from the upstream to the client. */
export interface StreamDelays {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly tokens: number
}

/** An upstream of numbered tokens, and what clients of a gateway before it see. */
export class PacedTokens {
  readonly #gapMs: number
  readonly #count: number
  /** By the number of the stream and of the token. */
  readonly #sentMs = new Map<string, number>()
  #streams = 0
  readonly #server: ReturnType<typeof Bun.serve>

  /** `count` tokens a stream, one every `gapMs`. `port` 0 = any that is free. */
  constructor({ count, gapMs, port = 0 }: { readonly count: number; readonly gapMs: number; readonly port?: number }) {
    this.#gapMs = gapMs
    this.#count = count
    this.#server = Bun.serve({ port, hostname: '127.0.0.1', idleTimeout: 0, fetch: () => this.#answer() })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  stop(): Promise<void> {
    return this.#server.stop(true)
  }

  #answer(): Response {
    const stream = this.#streams++
    const chunk = (delta: object, reason: string | null = null) =>
      Buffer.from(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`,
      )
    const body = new ReadableStream<Uint8Array>({
      start: async controller => {
        const beganMs = performance.now()
        for (let at = 0; at < this.#count; at++) {
          const text = tokenText(at)
          this.#sentMs.set(`${stream} ${at}`, performance.now())
          controller.enqueue(chunk({ content: at === 0 ? `<${stream}>${text}` : text }))
          await Bun.sleep(Math.max(beganMs + (at + 1) * this.#gapMs - performance.now(), 0))
        }
        controller.enqueue(chunk({}, 'stop'))
        controller.enqueue(Buffer.from('data: [DONE]\n\n'))
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  /** Reads so many streams at once. A token has arrived when all of its letters have. */
  async measure(open: () => Promise<Response>, streams: number): Promise<StreamDelays> {
    const all = (await Promise.all(Array.from({ length: streams }, () => this.#read(open))))
      .flat()
      .sort((a, b) => a - b)
    return { p50Ms: percentile(all, 0.5), p99Ms: percentile(all, 0.99), tokens: all.length }
  }

  async #read(open: () => Promise<Response>): Promise<number[]> {
    const response = await open()
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    const delays: number[] = []
    let text = ''
    let pending = ''
    let stream: string | undefined
    /** Letters of the answer up to the end of each token. */
    let due = 0
    let at = 0
    const decoder = new TextDecoder()
    for await (const piece of response.body!) {
      pending += decoder.decode(piece as Uint8Array, { stream: true })
      const lines = pending.split('\n')
      pending = lines.pop()!
      for (const line of lines) {
        if (!line.startsWith('data: {')) continue
        text += (JSON.parse(line.slice(6)) as Chunk).choices[0]?.delta?.content ?? ''
      }
      const nowMs = performance.now()
      stream ??= /^<(\d+)>/.exec(text)?.[1]
      if (stream === undefined) continue
      if (due === 0) due = stream.length + 2 + tokenText(0).length
      while (at < this.#count && text.length >= due) {
        delays.push(nowMs - this.#sentMs.get(`${stream} ${at}`)!)
        due += tokenText(++at).length
      }
    }
    if (at < this.#count) throw new Error(`a stream ended after ${at} of ${this.#count} tokens`)
    return delays
  }
}

interface Chunk {
  readonly choices: readonly { readonly delta?: { readonly content?: string } }[]
}

const words = 'the ships of 1848 wait in harbours near 12 Long-Street, and write to no.body at half past four;'.split(
  ' ',
)

/** As models cut texts: most tokens begin with the space before their word, long words are two tokens. */
function tokenText(at: number): string {
  const word = words[Math.floor(at / 2) % words.length]!
  const half = Math.ceil(word.length / 2)
  return at % 2 === 0 ? ` ${word.slice(0, half)}` : word.slice(half)
}

/** Rules that look into a stream as it comes, in a configuration file. */
export const windowedRules = `guardrails:
  - { guardrail_name: pii, litellm_params: { guardrail: personal_data, mode: post_call } }
  - { guardrail_name: names, litellm_params: { guardrail: words, mode: post_call, words: [nightingale, project falcon], action: mask } }
  - guardrail_name: tickets
    litellm_params: { guardrail: regex, mode: post_call, patterns: [{ name: TICKET, pattern: "\\\\bTCK-[0-9]{6}\\\\b" }] }
`

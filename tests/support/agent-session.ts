/** A scripted coding agent: each turn sends the whole conversation so far, a tool call and its result longer. */
import { masterKey } from '../e2e/harness.ts'

/** Who the agent is, and what it asks. */
export interface AgentOptions {
  readonly model: string
  /** Sent with every turn. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sets sessions apart, and the texts in them. */
  readonly name: string
  readonly key?: string
  /** Fields of every body. */
  readonly fields?: object
  /** Each request has a trace of its own. */
  readonly isTraced?: boolean
}

/** The prompt that all turns begin with: about 3,000 tokens. */
const instructions =
  'You are a coding agent. You read files, change them and run tests until the task is done. '.repeat(130)

const tools = ['read_file', 'write_file', 'run_tests'].map(name => ({
  type: 'function',
  function: {
    name,
    description: `The tool ${name} works in the working directory of the task. `.repeat(4),
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
}))

/** One session by Chat Completions. */
export class Agent {
  readonly #options: AgentOptions
  readonly #messages: object[]
  turns = 0

  constructor(options: AgentOptions) {
    this.#options = options
    this.#messages = [
      { role: 'system', content: instructions },
      { role: 'user', content: `Task of ${options.name}: mend the failing test of the parser.` },
    ]
  }

  /** Sends the next turn to a gateway and returns what it says of it. */
  async turn(url: string) {
    const { model, headers, key = masterKey, fields, name, isTraced } = this.#options
    const trace = isTraced && { traceparent: `00-${crypto.randomUUID().replaceAll('-', '')}-00f067aa0ba902b7-01` }
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...trace, ...headers },
      body: JSON.stringify({ model, messages: this.#messages, tools, ...fields }),
    })
    const body = (await answer.json()) as {
      usage?: { prompt_tokens: number; prompt_tokens_details?: { cached_tokens?: number } }
    }
    const id = `call_${++this.turns}`
    const call = { name: 'read_file', arguments: JSON.stringify({ path: `src/${name}/${this.turns}.ts` }) }
    this.#messages.push(
      { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
      { role: 'tool', tool_call_id: id, content: `line ${this.turns} of ${name}\n`.repeat(20) },
    )
    return {
      status: answer.status,
      by: answer.headers.get('x-proxy-model-id'),
      cached: body.usage?.prompt_tokens_details?.cached_tokens ?? 0,
      input: body.usage?.prompt_tokens ?? 0,
    }
  }
}
